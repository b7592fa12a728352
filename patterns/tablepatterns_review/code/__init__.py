"""Write a design as Python: the sets, and tests that hold the costs of its access patterns."""
