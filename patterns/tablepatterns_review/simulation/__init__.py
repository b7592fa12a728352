"""Carry out each access pattern of a design on a small sample, and record what every request read and changed."""
