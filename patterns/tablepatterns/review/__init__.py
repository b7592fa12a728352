"""Review: what a query costs before it is sent, and what a reviewer would say of a whole design.

What a review is carried out with is imported when it is first asked for: to explain a query takes much less.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from .declaring.declared import DeclaredSet, Design, Field, Query, Retention, Shape, Write
from .explaining.explain import Plans, explain
from .explaining.query_plan import Better, QueryPlan

if TYPE_CHECKING:
    from .declaring.design_file import BadDesignFile, read_design
    from .outcome import Finding, Reviewed, Severity
    from .pricing.price_table import BadPriceTable, PriceTable
    from .reviewing import review

__all__ = [
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
    "explain",
    "read_design",
    "review",
]

_HOMES = {
    "BadDesignFile": "declaring.design_file",
    "BadPriceTable": "pricing.price_table",
    "Finding": "outcome",
    "PriceTable": "pricing.price_table",
    "Reviewed": "outcome",
    "Severity": "outcome",
    "read_design": "declaring.design_file",
    "review": "reviewing",
}
"""Where names are defined that are imported later, as the imports above say it for type checkers."""

if not TYPE_CHECKING:
    # Type checkers would take it for a promise that every name is there
    def __getattr__(name: str) -> Any:
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name, obj=sys.modules[__name__])
        found = getattr(import_module(f".{_HOMES[name]}", __name__), name)
        # Found here from now on
        globals()[name] = found
        return found
