"""How texts state costs: in the spelling of `Cost`, so that they can be compared with what is measured."""

from __future__ import annotations

import re

_KINDS = r"(?:table|queue|blob read|blob write|blob list|other blob|blob delete)"
_ONE = rf"[\d,]+ {_KINDS}"
STATED = rf"{_ONE}(?: \+ {_ONE})* transactions?(?:, as much as [\d,]+ table operations?)?"
"""A cost by service, as `str(Cost)` writes it."""
COST = re.compile(STATED)


def costs_in(text: str) -> list[str]:
    """Return each cost by service that a text states, wherever its lines end."""
    return COST.findall(" ".join(text.split()))
