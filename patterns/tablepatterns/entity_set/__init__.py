"""`EntitySet`, and how the derived data of a set is kept consistent."""
