"""Tested advice: changes of a design that remove findings, simulated before they are given."""
