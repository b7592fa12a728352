"""The Blob service of the engine."""
