"""Move a live table to new keys, to another table or to another account."""
