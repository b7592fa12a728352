"""Spread the writes of a hot partition."""
