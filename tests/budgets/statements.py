"""Costs in texts, in the format of `Cost`, to compare them with measured costs."""

from __future__ import annotations

import re

_KINDS = r"(?:table|queue|blob read|blob write|blob list|other blob|blob delete)"
_ONE = rf"[\d,]+ {_KINDS}"
STATED = rf"{_ONE}(?: \+ {_ONE})* transactions?(?:, equivalent to [\d,]+ table operations?)?"
"""A cost by service, as `str(Cost)` writes it."""
COST = re.compile(STATED)


def costs_in(text: str) -> list[str]:
    """Return all costs by service in a text, even across line breaks."""
    return COST.findall(" ".join(text.split()))
