"""Explain what a query costs before it is sent, and review a whole design.

What explains and reviews is imported on first use, so that commands start fast.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from tablepatterns.extras import importing

with importing("a review needs", extra="review"):
    from .design.model import Access, ArchivePolicy, DeclaredSet, Design, Field, Query, Retention, Shape, Write

if TYPE_CHECKING:
    from .capacity.price import BadPriceTable, PriceTable
    from .design_file.reader import BadDesignFile, read_design
    from .kinds.recipes import declare_set
    from .plans.explain import Plans, explain
    from .plans.query_plan import Better, QueryPlan
    from .result import Finding, Reviewed, Severity
    from .reviewer import review

__all__ = [
    "Access",
    "ArchivePolicy",
    "BadDesignFile",
    "BadPriceTable",
    "Better",
    "DeclaredSet",
    "Design",
    "Field",
    "Finding",
    "Plans",
    "PriceTable",
    "Query",
    "QueryPlan",
    "Retention",
    "Reviewed",
    "Severity",
    "Shape",
    "Write",
    "declare_set",
    "explain",
    "read_design",
    "review",
]

_HOMES = {
    "declare_set": "kinds.recipes",
    "BadDesignFile": "design_file.reader",
    "Better": "plans.query_plan",
    "BadPriceTable": "capacity.price",
    "Finding": "result",
    "Plans": "plans.explain",
    "PriceTable": "capacity.price",
    "QueryPlan": "plans.query_plan",
    "Reviewed": "result",
    "Severity": "result",
    "explain": "plans.explain",
    "read_design": "design_file.reader",
    "review": "reviewer",
}
"""The modules of names that are imported on first use; type checkers see the imports above."""

if not TYPE_CHECKING:
    # Otherwise type checkers would assume that every name exists
    def __getattr__(name: str) -> Any:
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name, obj=sys.modules[__name__])
        found = getattr(import_module(f".{_HOMES[name]}", __name__), name)
        # The next access finds it without this function
        globals()[name] = found
        return found
