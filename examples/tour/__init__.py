"""A tour of the patterns with real flights: see `design` for the keys and `questions` for the queries."""
