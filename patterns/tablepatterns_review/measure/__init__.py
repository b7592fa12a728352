"""Measure a design's access patterns on the engine."""
