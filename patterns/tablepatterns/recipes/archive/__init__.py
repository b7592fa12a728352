"""The archive pattern."""
