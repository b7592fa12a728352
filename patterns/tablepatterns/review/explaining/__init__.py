"""Explaining: the plan of a query before it is sent."""
