"""The blob log pattern."""
