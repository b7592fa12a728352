"""Draft designs from what exists: a table's entities, and the logged requests of an application."""
