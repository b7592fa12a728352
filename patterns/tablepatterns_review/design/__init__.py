"""Designs: their model, the distribution of their values, and what their writes and archives change."""
