"""Pricing: what a month costs, by a table of prices."""
