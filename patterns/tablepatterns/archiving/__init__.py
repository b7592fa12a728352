"""Archiving: where entities can be moved to, and how one is moved so that it is never in neither place."""
