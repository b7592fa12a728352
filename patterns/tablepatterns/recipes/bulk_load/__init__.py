"""Bulk load."""
