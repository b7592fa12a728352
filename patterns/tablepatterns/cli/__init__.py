"""The `tablepatterns` command."""
