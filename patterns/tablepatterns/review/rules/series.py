"""Series: the points of a series as entities of their own, which are read together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ...figures import number, often
from ...filters import QueryClass
from ...limits import MAX_CUSTOM_PROPERTIES, PARTITION_ENTITIES_PER_SECOND
from ..design.model import DeclaredSet, Field
from ..model import Finding, Severity
from .asked import terms_of
from .known import Asked, Known
from .rule import Rule
from .words import entities

_FEWEST: Final = 10
_PROPERTIES: Final = 3
_NOTICEABLE: Final = 0.1 * PARTITION_ENTITIES_PER_SECOND
_NUMBERS: Final = ("int32", "int64", "double", "boolean")
SLOTS_AS_ENTITIES: Final = Rule(
    name="slots-as-entities",
    finds="the points of a series are small entities, and all of a series are read together",
    severity=f"a warning where {number(_NOTICEABLE)} entities a second are read so, else a note",
    why="A series that is read all at once is better one entity: one request for one entity gets the chart.",
    guide="Data series pattern",
    pattern="data_series",
)
RULES: Final = (SLOTS_AS_ENTITIES,)


def found(known: Known) -> Iterator[Finding]:
    """Hand out the sets whose entities are points of a series."""
    for declared in known.design.sets:
        slot = _slot(declared)
        asked = next((each for each in known.queries_of(declared) if slot and _reads_all(each, slot)), None)
        if slot and asked:
            yield _finding(declared, slot, asked)


def _slot(declared: DeclaredSet) -> str | None:
    """Return the last field of the key if it numbers the points of a series of numbers."""
    fields = declared.shape.fields
    rest = [field for name, field in fields.items() if name not in declared.key.fields]
    if not declared.key.row_fields or len(rest) > _PROPERTIES or any(each.type not in _NUMBERS for each in rest):
        return None
    name = declared.key.row_fields[-1]
    field = fields.get(name, Field())
    is_number = field.type in ("int32", "int64") and field.distinct is not None
    return name if is_number and _FEWEST <= (field.distinct or 0) <= MAX_CUSTOM_PROPERTIES else None


def _reads_all(asked: Asked, slot: str) -> bool:
    """Whether a query knows all of the key but the slot, and reads a range of them."""
    terms = terms_of(asked.query, asked.of.key)
    rest = [name for name in asked.of.key.fields if name != slot]
    scans_only_them = asked.measured.query_class in (QueryClass.RANGE, QueryClass.PARTITION_SCAN)
    known = all(name in terms.equal for name in rest) and slot not in terms.equal
    return known and scans_only_them and asked.measured.returned >= _FEWEST


def _finding(declared: DeclaredSet, slot: str, asked: Asked) -> Finding:
    read = asked.measured.returned * asked.query.busiest
    severity = Severity.WARNING if read >= _NOTICEABLE else Severity.NOTE
    says = (
        f"{asked.query.name!r} reads {entities(asked.measured.returned)} of {declared.name}, one for each {slot}, "
        f"{often(asked.query.busiest)}: {number(read)} a second."
    )
    better = (
        f"Keep them as {number(declared.shape.fields[slot].distinct or 0)} properties of one entity: a merge sets one."
    )
    return SLOTS_AS_ENTITIES.finding(severity, declared.name, says, better)
