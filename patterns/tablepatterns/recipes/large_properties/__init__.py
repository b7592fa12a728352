"""The large entities pattern."""
