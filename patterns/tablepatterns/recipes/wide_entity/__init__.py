"""The wide entities pattern."""
