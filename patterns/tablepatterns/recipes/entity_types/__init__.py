"""Heterogeneous entity types."""
