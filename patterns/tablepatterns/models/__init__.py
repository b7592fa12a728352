"""Declared classes, whose instances are stored as entities."""
