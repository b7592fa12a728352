"""A tour of the patterns on real flights: read `design` for the keys, `questions` for what is asked."""
