"""Measure what recipes add to their requests, and compare recipes with each other."""
