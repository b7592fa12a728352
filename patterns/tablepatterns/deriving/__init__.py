"""Deriving: what is kept right along with each entity, and where its rows lie."""
