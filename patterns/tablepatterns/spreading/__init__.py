"""Spreading: how work falls on partitions, and how it is spread over more of them."""
