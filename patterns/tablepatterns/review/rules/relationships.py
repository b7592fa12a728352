"""Relationships: entities that are read one by one for the results of another query."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ...figures import number, often
from ...filters import QueryClass
from ..model import Finding, Severity
from .asked import terms_of
from .known import Asked, Known
from .rule import Rule
from .words import entities, part_of

_SEVERAL: Final = 5.0
_NEAR: Final = 2.0
_BUSY: Final = 100.0
_LITTLE: Final = 1.0
_SMALL: Final = 1000
JOIN_ONE_BY_ONE: Final = Rule(
    name="join-one-by-one",
    finds="each result of a query is followed by a read of the entity that it names",
    severity=f"a warning from {number(_BUSY)} such reads a second on, else a note",
    why="Copies of related data in the same entity save the requests that fetch it, and those are what is paid for.",
    guide="Denormalization pattern; join in the client",
    pattern="denormalize",
)
RULES: Final = (JOIN_ONE_BY_ONE,)


def found(known: Known) -> Iterator[Finding]:
    """Hand out the point queries that are asked as often as another query has results."""
    for one in known.queries():
        named = next((many for many in known.queries() if _follows(many, one)), None)
        if named is not None and one.query.rate >= _LITTLE:
            yield _joined(known, named, one)


def _follows(many: Asked, one: Asked) -> bool:
    """Whether a point query asks for what the results of another name, once for each of them."""
    if many.of.name == one.of.name or one.measured.query_class is not QueryClass.POINT:
        return False
    terms = terms_of(one.query, one.of.key)
    named = all(name in many.of.shape.fields and name not in many.query.known for name in terms.equal)
    results = many.measured.returned * many.query.rate
    near = results / _NEAR <= one.query.rate <= results * _NEAR
    return bool(terms.equal) and named and many.measured.returned >= _SEVERAL and near


def _joined(known: Known, many: Asked, one: Asked) -> Finding:
    says = (
        f"{many.query.name!r} returns {number(many.measured.returned)} of {many.of.name}, "
        f"{often(many.query.rate)}, and "
        f"{one.query.name!r} is asked {often(one.query.rate)}: each result is followed by a read of {one.of.name}."
    )
    subject = part_of(one.of.name, one.query.name)
    severity = Severity.WARNING if one.query.busiest >= _BUSY else Severity.NOTE
    changes = sum(each.write.rate for each in known.writes_of(one.of))
    if one.of.shape.count <= _SMALL and changes < 1:
        better = (
            f"Keep the {entities(one.of.shape.count)} of {one.of.name} in each reader for a while: they seldom change."
        )
        return JOIN_ONE_BY_ONE.finding(severity, subject, says, better, pattern="lookup")
    better = f"Copy what is shown of {one.of.name} into {many.of.name}; it changes {often(changes)}, and follows then."
    return JOIN_ONE_BY_ONE.finding(severity, subject, says, better)
