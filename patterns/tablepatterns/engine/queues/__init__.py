"""The Queue service of the engine."""
