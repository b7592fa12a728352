"""Find archives that contradict a retention or the rates, or from which no query benefits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tablepatterns.figures import number, plural
from tablepatterns.filters import QueryClass

from ..design.archives import archive_set, is_of_archive
from ..design.model import DAY, YEAR, YEAR_DAYS, ArchivePolicy, DeclaredSet
from ..model import Finding, Severity
from .context import MeasuredQuery, MeasuredWrite, RuleContext
from .rule import Rule, entities

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
    says=("Entities of {set} are archived after {after}, so the retention of {retention} never deletes one."),
    better="Declare how long {place} keeps them instead.",
    pattern="archive",
    why_not_automatic="which entities are kept, and how long, is a decision of the business",
)
ARCHIVE_BACKLOG: Final = Rule(
    name="archive-backlog",
    finds="far more entities are old enough for the archive than are added within its days",
    severity=f"a note from {number(_TEN_THOUSANDS)} more than {number(_FOUR_TIMES)} times as many",
    why="A worker moves entities one by one, so an archive that is new to a large set has a long first run.",
    guide=_GUIDE,
    says=(
        "{set} has {count}, and {added} are added within the {after} after which they are archived: the first run "
        "moves the others{cost}."
    ),
    better="Declare the count that is left after the first run, and run that at a limited rate in quiet hours.",
    why_not_automatic="either the count or the rates are wrong, or the first run must be planned",
)
ARCHIVE_EMPTIES_SET: Final = Rule(
    name="archive-empties-set",
    finds="an archive takes more entities than are added, until none is left",
    severity="a warning if that is within the years of the design",
    why="Estimate both capacity and transactions when you evaluate a design.",
    guide="Cost considerations",
    says="The archive takes {rate} a year from {set}, which has {count}: after {years}, none is left.",
    better="Declare after_days instead of the rate, or the growth that the inserts lead to.",
    why_not_automatic="either the rate of the archive or the growth is wrong",
)
ARCHIVE_WITHOUT_BENEFIT: Final = Rule(
    name="archive-without-benefit",
    finds="entities are moved to another table, although no query of the set takes longer because of them",
    severity="a note",
    why="A point query or a short range costs the same in a large table; only scans read all entities.",
    guide="Designing for querying; cost considerations",
    says=(
        "Every query of {set} reads the same with or without old entities, and a table costs the same: each move to "
        "{target} takes {transactions} and saves none."
    ),
    better="Keep the entities where they are, or archive them to blobs, where a GB costs less.",
    why_not_automatic="there may be other reasons, such as who may read the active entities",
    about="write",
)


def find_problems(context: RuleContext) -> Iterator[Finding]:
    """Yield what is wrong with the archive of each set."""
    for declared_set in context.design.sets:
        if declared_set.archive is not None:
            writes = context.writes_of(declared_set)
            move = next((write for write in writes if is_of_archive(declared_set, write.write)), None)
            yield from _with_retention(declared_set, declared_set.archive)
            yield from _backlog(context, declared_set, declared_set.archive, move)
            yield from _emptied(context, declared_set, declared_set.archive)
            yield from _without_benefit(context, declared_set, move)


def _with_retention(declared_set: DeclaredSet, policy: ArchivePolicy) -> Iterator[Finding]:
    retention, days = declared_set.retention, policy.after_days
    if retention is None or days is None or policy.rate is not None:
        return
    after, retained = plural(days, "day"), plural(retention.days, "day")
    says = better = None
    if policy.is_late(retention):
        says = f"Entities of {declared_set.name} are deleted after {retained}, before they are archived after {after}."
        better = f"Archive them earlier, and declare how long {policy.place} keeps them instead."
    words = {"after": after, "retention": retained, "place": policy.place}
    yield ARCHIVE_OR_RETENTION.finding(Severity.WARNING, declared_set, says, better, **words)


def _backlog(
    context: RuleContext, declared_set: DeclaredSet, policy: ArchivePolicy, move: MeasuredWrite | None
) -> Iterator[Finding]:
    """Yield a finding if most entities are older than the archive's days."""
    shape, days = declared_set.shape, policy.after_days or 0.0
    added = max(shape.growth / YEAR_DAYS, _rate(context, declared_set) * DAY) * days
    if policy.is_late(declared_set.retention) or not added or shape.count <= _FOUR_TIMES * added + _TEN_THOUSANDS:
        return
    cost = "" if move is None else f", {number((shape.count - added) * move.measured.transactions)} transactions"
    words = {"count": entities(shape.count), "added": number(added), "after": plural(days, "day"), "cost": cost}
    yield ARCHIVE_BACKLOG.finding(Severity.NOTE, declared_set, **words)


def _rate(context: RuleContext, declared_set: DeclaredSet) -> float:
    writes = [write.write for write in context.writes_of(declared_set) if not write.measured.is_implied]
    signs = {"insert": 1.0, "delete": -1.0, "update": 0.0}
    return sum(signs[write.operation] * write.rate for write in writes) + declared_set.shape.moves.received_rate


def _emptied(context: RuleContext, declared_set: DeclaredSet, policy: ArchivePolicy) -> Iterator[Finding]:
    shape = declared_set.shape
    if policy.rate is not None and shape.count and context.entities_then(declared_set) <= 0:
        years = plural(round(-shape.count / shape.net_growth, 1), "year")
        words = {"rate": entities(policy.rate * YEAR), "count": number(shape.count), "years": years}
        yield ARCHIVE_EMPTIES_SET.finding(Severity.WARNING, declared_set, **words)


def _without_benefit(context: RuleContext, declared_set: DeclaredSet, move: MeasuredWrite | None) -> Iterator[Finding]:
    target = archive_set(context.design, declared_set)
    queries = [query for query in context.queries_of(declared_set) if not query.query.archived]
    if target is not None and move is not None and queries and not any(map(_reads_more, queries)):
        transactions = plural(move.measured.transactions, "transaction")
        yield ARCHIVE_WITHOUT_BENEFIT.finding(Severity.NOTE, move, target=target.name, transactions=transactions)


def _reads_more(query: MeasuredQuery) -> bool:
    """Whether a query reads more if there are more entities."""
    found = query.measured.query_class
    return found in _LONGEST_CLASSES or (found is QueryClass.RANGE and query.query.take is None)
