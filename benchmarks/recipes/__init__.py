"""What recipes add to the requests that they make, and how they fare beside one another."""
