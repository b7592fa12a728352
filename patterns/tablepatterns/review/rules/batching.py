"""Batching: many writes of one partition, each a transaction of its own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ...figures import number, often, plural
from ...limits import MAX_TRANSACTION_OPERATIONS
from ..measure.sample import values_of
from ..model import Finding, Severity
from .known import Done, Known
from .rule import Rule
from .words import part_of

_WRITERS: Final = 4
_TOGETHER: Final = 10.0
_SAVED: Final = 50.0
SINGLE_WRITES: Final = Rule(
    name="single-writes",
    finds="a few writers write to one partition often, one entity at a time",
    severity=f"a warning where {number(_SAVED)} transactions a second would be saved, else a note",
    why="Up to 100 entities of one partition are written by one transaction, which is billed as one.",
    guide="Entity group transactions; cost considerations",
    pattern="bulk_load",
)
RULES: Final = (SINGLE_WRITES,)


def found(known: Known) -> Iterator[Finding]:
    """Hand out the writes that could be made together."""
    for done in known.writes():
        yield from _single(done)


def _single(done: Done) -> Iterator[Finding]:
    write = done.write
    if write.together or write.writers > _WRITERS or write.deed == "update":
        return
    each = write.rate / write.writers * _busiest(done)
    if each < _TOGETHER:
        return
    rows = max(1.0, done.measured.written)
    at_once = min(MAX_TRANSACTION_OPERATIONS / rows, each)
    saved = write.rate * (1 - 1 / at_once)
    severity = Severity.WARNING if saved >= _SAVED else Severity.NOTE
    says = (
        f"{write.name!r} writes {often(write.rate)}, by {plural(write.writers, 'writer')}: each "
        f"makes {number(each)} transactions a second in one partition."
    )
    better = (
        f"Gather what comes in a second and write it in entity group transactions of up to {number(at_once)} entities: "
        f"{number(saved)} transactions a second less."
    )
    yield SINGLE_WRITES.finding(severity, part_of(done.of.name, write.name), says, better)


def _busiest(done: Done) -> float:
    """Return the share of the writes that comes to the busiest partition."""
    share = 1.0
    for name in done.of.key.partition_fields:
        share *= values_of(done.of.shape, name).share(1)
    buckets = done.of.settings.get("buckets", 1)
    return share / (buckets if isinstance(buckets, int) else 1)
