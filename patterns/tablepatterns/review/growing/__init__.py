"""Growing: what a design takes now and later, and which limits come into sight."""
