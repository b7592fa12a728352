"""Find blob logs whose flushes, reads or growth cost more than they have to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tablepatterns.figures import counted, money, number, often, plural, span
from tablepatterns.recipes.blob_log.blob_log import PIECE_BYTES

from ..design.model import DeclaredLog, LogRead, LogWrite, Query
from ..kinds.log import line_bytes, pace_of
from ..model import Finding, Measured, Severity
from .context import ONCE_AN_HOUR, RuleContext
from .rule import Rule, part_of

_WORTH: Final = 10.0
_MUCH: Final = 100.0
_MANY: Final = 100.0
_TOO_MANY: Final = 1_000.0
_SEVERAL: Final = 2.0
"""How many times the pieces that have the entries of a span may be read, without a finding."""
SMALL_FLUSHES: Final = Rule(
    name="small-flushes",
    finds="flushes of a blob log hold so few entries that an entry costs more than an insert into a table",
    severity=f"a warning from {number(_MUCH)} a month, a note from {number(_WORTH)}",
    why="A blob write costs as much as 139 operations of a table, whether it has one entry or thousands.",
    guide="Log data anti-pattern",
    pattern="blob_log",
    about="write",
)
MANY_BLOBS: Final = Rule(
    name="many-log-blobs",
    finds="a read of a blob log opens many blobs that hold little of its time span",
    severity=f"a warning from {number(_TOO_MANY)} requests, a note from {number(_MANY)}, once an hour or more",
    why="Each writer has a blob of its own in each hour, and a read opens all that may hold entries of its span.",
    guide="Log data anti-pattern",
    pattern="blob_log",
    why_not_automatic="how many processes log, and which spans are read, is a decision of the program",
    about="query",
)


def find_problems(context: RuleContext) -> Iterator[Finding]:
    for measured_set in context.measured:
        if not isinstance(measured_set.of, DeclaredLog) or measured_set.rejected is not None:
            continue
        if isinstance(measured_set.access, Query):
            yield from _read(measured_set, measured_set.of, measured_set.of.read(measured_set.access))
        elif measured_set.access.operation == "insert":
            yield from _flushed(context, measured_set, measured_set.of, measured_set.of.write(measured_set.access))


def _flushed(context: RuleContext, measured_set: Measured, log: DeclaredLog, write: LogWrite) -> Iterator[Finding]:
    as_much, amount = measured_set.cost.table_operations(), measured_set.cost_a_month or 0.0
    if as_much <= 1 or amount < _WORTH:
        return
    pace = pace_of(log, write)
    flush_text = f"{counted(pace.buffered, 'entry')} each {span(pace.seconds)}"
    how = "is written by itself" if log.write_through else f"is flushed by {write.name!r} with few others: {flush_text}"
    if not log.write_through and write.writers > 1:
        how += f" from each of {number(write.writers)} writers"
    says = (
        f"An entry of {log.name} {how}. It costs as much as {number(as_much)} inserts into a table, "
        f"{money(amount, context.bill.currency)} a month."
    )
    better = "Flush later, with more entries, if a crash may lose as many; or log through fewer processes."
    severity = Severity.WARNING if amount >= _MUCH else Severity.NOTE
    yield SMALL_FLUSHES.finding(severity, part_of(log.name, write.name), says, better)


def _read(measured_set: Measured, log: DeclaredLog, read: LogRead) -> Iterator[Finding]:
    needed = log.rate * read.seconds * line_bytes(log) / PIECE_BYTES + measured_set.blob_writes
    if measured_set.requests < max(_MANY, _SEVERAL * needed) or read.rate < ONCE_AN_HOUR:
        return
    severity = Severity.WARNING if measured_set.requests >= _TOO_MANY else Severity.NOTE
    says = (
        f"{read.name!r} of {log.name} reads {span(read.seconds)} with {number(measured_set.requests)} requests, "
        f"{often(read.rate)}: {plural(measured_set.blob_reads, 'read')} of blobs, "
        f"{plural(measured_set.blob_writes, 'list')}."
    )
    better = "Log through fewer processes, give what is read alone a log of its own, or keep a summary of each hour."
    yield MANY_BLOBS.finding(severity, part_of(log.name, read.name), says, better)
