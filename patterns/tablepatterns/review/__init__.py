"""Review: what a query costs before it is sent, and what would be better."""

from .explaining.explain import Plans, explain
from .explaining.query_plan import Better, QueryPlan

__all__ = ["Better", "Plans", "QueryPlan", "explain"]
