"""The engine over loopback HTTP."""
