"""The high volume delete pattern: one table per period."""
