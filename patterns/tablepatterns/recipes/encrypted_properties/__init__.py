"""Client-side encryption."""
