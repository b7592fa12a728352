"""Growth, load, hot partitions and cost of a design."""
