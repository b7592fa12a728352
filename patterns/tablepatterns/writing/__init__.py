"""Writing: what the caller asks for, as one entity group transaction."""
