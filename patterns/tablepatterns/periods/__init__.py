"""Periods: stretches of time that have a table each."""
