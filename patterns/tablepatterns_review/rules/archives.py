"""Find archives that contradict a retention or the rates, or from which no query benefits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tablepatterns.figures import number, plural
from tablepatterns.filters import QueryClass

from ..design.archives import archive_set, is_of_archive
from ..design.model import DAY, YEAR, YEAR_DAYS, ArchivePolicy, DeclaredSet
from ..model import Finding, Severity
from .context import MeasuredQuery, RuleContext
from .rule import Rule, entities, part_of

_GUIDE: Final = "Eventually consistent transactions pattern"
_FOUR_TIMES: Final = 4.0
_TEN_THOUSANDS: Final = 10_000
_LONGEST_CLASSES: Final = (QueryClass.PARTITION_SCAN, QueryClass.TABLE_SCAN)
ARCHIVE_OR_RETENTION: Final = Rule(
    name="archive-or-retention",
    finds="a set has both an archive and a retention, and one of them leaves nothing to the other",
    severity="a warning",
    why="An entity leaves the active set once: a worker moves it to the archive, or it is deleted.",
    guide=f"{_GUIDE}; high volume delete pattern",
    pattern="archive",
    why_not_automatic="which entities are kept, and how long, is a decision of the business",
)
ARCHIVE_BACKLOG: Final = Rule(
    name="archive-backlog",
    finds="far more entities are old enough for the archive than are added within its days",
    severity=f"a note from {number(_TEN_THOUSANDS)} more than {number(_FOUR_TIMES)} times as many",
    why="A worker moves entities one by one, so an archive that is new to a large set has a long first run.",
    guide=_GUIDE,
    why_not_automatic="either the count or the rates are wrong, or the first run must be planned",
)
ARCHIVE_EMPTIES_SET: Final = Rule(
    name="archive-empties-set",
    finds="an archive takes more entities than are added, until none is left",
    severity="a warning if that is within the years of the design",
    why="Estimate both capacity and transactions when you evaluate a design.",
    guide="Cost considerations",
    why_not_automatic="either the rate of the archive or the growth is wrong",
)
ARCHIVE_WITHOUT_BENEFIT: Final = Rule(
    name="archive-without-benefit",
    finds="entities are moved to another table, although no query of the set takes longer because of them",
    severity="a note",
    why="A point query or a short range costs the same in a large table; only scans read all entities.",
    guide="Designing for querying; cost considerations",
    why_not_automatic="there may be other reasons, such as who may read the active entities",
    about="write",
)
RULES: Final = (ARCHIVE_OR_RETENTION, ARCHIVE_BACKLOG, ARCHIVE_EMPTIES_SET, ARCHIVE_WITHOUT_BENEFIT)


def find_problems(context: RuleContext) -> Iterator[Finding]:
    """Yield what is wrong with the archive of each set."""
    for declared_set in context.design.sets:
        if declared_set.archive is not None:
            yield from _with_retention(declared_set, declared_set.archive)
            yield from _backlog(context, declared_set, declared_set.archive)
            yield from _emptied(context, declared_set, declared_set.archive)
            yield from _without_benefit(context, declared_set)


def _with_retention(declared_set: DeclaredSet, policy: ArchivePolicy) -> Iterator[Finding]:
    retention, days = declared_set.retention, policy.after_days
    if retention is None or days is None or policy.rate is not None:
        return
    if policy.is_late(retention):
        says = (
            f"Entities of {declared_set.name} are deleted after {plural(retention.days, 'day')}, before they "
            "are archived "
            f"after {plural(days, 'day')}."
        )
        better = f"Archive them earlier, and declare how long {policy.place} keeps them instead."
    else:
        says = (
            f"Entities of {declared_set.name} are archived after {plural(days, 'day')}, so the retention of "
            f"{plural(retention.days, 'day')} never deletes one."
        )
        better = f"Declare how long {policy.place} keeps them instead."
    yield ARCHIVE_OR_RETENTION.finding(Severity.WARNING, declared_set.name, says, better)


def _backlog(context: RuleContext, declared_set: DeclaredSet, policy: ArchivePolicy) -> Iterator[Finding]:
    """Yield a finding if most entities are older than the archive's days."""
    shape, days = declared_set.shape, policy.after_days or 0.0
    added = max(shape.growth / YEAR_DAYS, _rate(context, declared_set) * DAY) * days
    if policy.is_late(declared_set.retention) or not added or shape.count <= _FOUR_TIMES * added + _TEN_THOUSANDS:
        return
    move = next((write for write in context.writes_of(declared_set) if is_of_archive(declared_set, write.write)), None)
    cost = "" if move is None else f", {number((shape.count - added) * move.measured.transactions)} transactions"
    says = (
        f"{declared_set.name} has {entities(shape.count)}, and {number(added)} are added within the "
        f"{plural(days, 'day')} after which they are archived: the first run moves the others{cost}."
    )
    better = "Declare the count that is left after the first run, and run that at a limited rate in quiet hours."
    yield ARCHIVE_BACKLOG.finding(Severity.NOTE, declared_set.name, says, better)


def _rate(context: RuleContext, declared_set: DeclaredSet) -> float:
    writes = [write.write for write in context.writes_of(declared_set) if not write.measured.is_implied]
    signs = {"insert": 1.0, "delete": -1.0, "update": 0.0}
    return sum(signs[write.operation] * write.rate for write in writes) + declared_set.shape.moves.received_rate


def _emptied(context: RuleContext, declared_set: DeclaredSet, policy: ArchivePolicy) -> Iterator[Finding]:
    shape = declared_set.shape
    if policy.rate is None or not shape.count or context.entities_then(declared_set) > 0:
        return
    rate = entities(policy.rate * YEAR)
    says = (
        f"The archive takes {rate} a year from {declared_set.name}, which has {number(shape.count)}: "
        f"after {plural(round(-shape.count / shape.net_growth, 1), 'year')}, none is left."
    )
    better = "Declare after_days instead of the rate, or the growth that the inserts lead to."
    yield ARCHIVE_EMPTIES_SET.finding(Severity.WARNING, declared_set.name, says, better)


def _without_benefit(context: RuleContext, declared_set: DeclaredSet) -> Iterator[Finding]:
    target = archive_set(context.design, declared_set)
    queries = [query for query in context.queries_of(declared_set) if not query.query.archived]
    move = next((write for write in context.writes_of(declared_set) if is_of_archive(declared_set, write.write)), None)
    if target is None or move is None or not queries or any(map(_reads_more, queries)):
        return
    says = (
        f"Every query of {declared_set.name} reads the same with or without old entities, and a table costs the same: "
        f"each move to {target.name} takes {plural(move.measured.transactions, 'transaction')} and saves none."
    )
    better = "Keep the entities where they are, or archive them to blobs, where a GB costs less."
    subject = part_of(declared_set.name, move.write.name)
    yield ARCHIVE_WITHOUT_BENEFIT.finding(Severity.NOTE, subject, says, better)


def _reads_more(query: MeasuredQuery) -> bool:
    """Whether a query reads more if there are more entities."""
    found = query.measured.query_class
    return found in _LONGEST_CLASSES or (found is QueryClass.RANGE and query.query.take is None)
