"""Projection: large values that are read with an entity by queries that do not want them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ...figures import number
from ...recipes.large_properties.large_properties import LargeProperties
from ..design.model import DeclaredSet
from ..model import Finding, Severity
from .known import Asked, Known
from .rule import Rule
from .words import listed, part_of

_READS: Final = 10.0
_BLOBS: Final = 0.5
BLOB_WITH_EVERY_READ: Final = Rule(
    name="blob-with-every-read",
    finds="a query reads large values from blobs that it does not want, since they belong to the entity",
    severity=f"a warning from {number(_READS)} such reads a second on, else a note",
    why="A complete entity costs one transaction for the entity and one for the blob: fetch only what is needed.",
    guide="Large entities pattern; one-to-one relationships (large entities)",
    pattern="one_to_one",
)
RULES: Final = (BLOB_WITH_EVERY_READ,)


def found(known: Known) -> Iterator[Finding]:
    """Hand out the queries that read blobs in vain."""
    for asked in known.queries():
        large = _large(asked.of)
        unwanted = bool(asked.query.select) and not large.intersection(asked.query.select)
        # Beyond what is read from tables, each result takes a blob
        blobs = asked.measured.transactions - 1 >= _BLOBS * asked.measured.returned
        if large and unwanted and blobs:
            yield _finding(asked, sorted(large))


def _large(declared: DeclaredSet) -> set[str]:
    return {name for each in declared.mappings if isinstance(each, LargeProperties) for name in each.fields}


def _finding(asked: Asked, large: list[str]) -> Finding:
    reads = asked.measured.returned * asked.query.busiest
    severity = Severity.WARNING if reads >= _READS else Severity.NOTE
    wanted = listed(list(asked.query.select), most=3)
    says = (
        f"{asked.query.name!r} wants {wanted}, and reads {listed(large)} from a blob for each of {asked.of.name}: "
        f"{number(reads)} reads a second in vain."
    )
    better = (
        f"Keep {listed(large)} in an entity of its own beside the other (OneToOne), in the same partition, and read it "
        "when it is wanted."
    )
    return BLOB_WITH_EVERY_READ.finding(severity, part_of(asked.of.name, asked.query.name), says, better)
