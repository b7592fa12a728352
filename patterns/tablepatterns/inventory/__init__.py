"""Take stock of tables that exist: what rows they have, from a sample that a bounded number of queries reads."""
