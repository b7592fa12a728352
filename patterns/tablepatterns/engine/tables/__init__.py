"""The Table service of the engine."""
