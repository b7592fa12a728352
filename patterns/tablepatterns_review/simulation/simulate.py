"""Carry out one call of each access pattern on a small sample, and show what a crash after each request leaves."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any, Final

from tablepatterns.edm import Ticks, ordinal
from tablepatterns.errors import EntityAlreadyExists, EntityNotFound
from tablepatterns.figures import count, counted
from tablepatterns.key import Key
from tablepatterns_engine.account import Engine
from tablepatterns_engine.ledger import Record
from tablepatterns_explore.choice import Chance
from tablepatterns_explore.digest import Stamps
from tablepatterns_explore.snapshot import Saved, Snapshots

from ..design.distribution import scaled_results
from ..design.key_parts import pieces_of, pieces_of_key
from ..design.model import DAY, DeclaredSet, Design, Query, Write
from ..kinds import kind_of
from ..kinds.kind import SampleSet
from ..kinds.periods import Periods
from ..kinds.recipes import rejection
from ..measure.account import SampleAccount, SampleDesign, sample_design, set_up
from ..measure.measure import (
    atomic_writes,
    independent,
    is_of_retention,
    parts_of,
    read_of_archive,
    sample_questions,
    with_implied_writes,
)
from ..measure.questions import sample_call
from ..measure.sample import NOW
from ..measure.scaling import MAKING
from ..measure.writes import Part, Source, execute, recover
from ..plans.estimate import PAGE_READS
from ..plans.planner import best_way
from ..result import RowKind, Simulation, Step, StoredRow, StoredTable, Walkthrough
from .recorder import Contents, InTurn, Recorder, RowKeys, Sent, contents_of

_ENTITIES: Final = 12
"""The number of entities of each set, so that a page can show all rows."""
_VALUES: Final = 4
_PARTITIONS: Final = 2
"""The number of values of each field of the PartitionKey."""
_TABLES: Final = 2
"""The number of period tables."""
_WORKER_RUNS: Final = 4
LEASE: Final = 60
"""The default lease of a set: the seconds after which a worker receives the message of a crashed writer."""
COMPLETED: Final = "A worker completes the call"
UNCHANGED: Final = "No row has changed."


@dataclass(frozen=True)
class _Recorded:
    """What one call of an access pattern sent, and what a crash after each request leaves."""

    declared: DeclaredSet
    access: Query | Write
    before: Contents
    sent: Sequence[Sent]
    rejected: str | None
    crashes: Mapping[int, tuple[str, str | None]]


def simulate(design: Design) -> Simulation:
    """Return a small sample of a design as it is stored, and one call of each access pattern."""
    design = with_implied_writes(design)
    # Outside of the chance, which also names the blobs of the sample
    crowded = replace(design, sets=tuple(map(_with_large_partitions, design.sets)))
    sample = sample_design(crowded, _ENTITIES, fewest_values=_VALUES, most_tables=_TABLES)
    rows, calls = dict[RowKeys, Mapping[str, Any]](), dict[tuple[str, str], _Recorded]()
    sample_sets, counts = dict[str, SampleSet](), dict[str, int]()
    with Chance() as chance:
        # Each call restores a whole account, so sets that share nothing have accounts of their own
        for names in independent(design):
            chance.turn_to("sample")
            simulator = _Simulator(design.part(names), sample.part(names), chance)
            calls |= {(call.declared.name, call.access.name): call for call in simulator.record()}
            rows |= simulator.before.rows
            sample_sets |= simulator.stand.kept
            counts |= {name: len(of.stored) for name, of in simulator.stand.samples.items()}
    recorded = [calls[declared_set.name, access.name] for declared_set, access in design.accesses()]
    stored = set(rows)
    for sent in (sent for call in recorded for sent in call.sent):
        rows = {**sent.after.rows, **rows}
    tables = stored_tables(design, sample_sets, rows, stored)
    numbers = {(table.name, row.partition, row.key): row.number for table in tables for row in table.rows}
    entities = {declared_set.name: counts[declared_set.name] for declared_set in design.sets}
    return Simulation(entities, tables, tuple(_walkthrough(call, numbers) for call in recorded))


def _with_large_partitions(declared_set: DeclaredSet) -> DeclaredSet:
    """Return a set with few partitions, so that a scan of one in the sample reads more than it returns."""
    fields = dict(declared_set.shape.fields)
    for name in declared_set.key.partition_fields:
        if (distinct := fields[name].distinct) is not None:
            fields[name] = replace(fields[name], distinct=min(distinct, _PARTITIONS), skew=0.0)
    return replace(declared_set, shape=replace(declared_set.shape, fields=fields))


class _Simulator:
    """The sample of sets that share something, which is restored before each call."""

    def __init__(self, design: Design, sample: SampleDesign, chance: Chance) -> None:
        self._design = design
        self._chance = chance
        stamps = Stamps(NOW)
        self._engine = Engine(clock=stamps, page_examines=PAGE_READS)
        self._recorder = Recorder(self._engine)
        self._storage = InTurn(self._engine, self._recorder)
        self._snapshots = Snapshots(self._engine, stamps)
        self.stand: SampleAccount = set_up(sample, self._storage, readable=True)
        self._start: Saved = self._snapshots.save()
        self.before: Contents = contents_of(self._engine)

    def record(self) -> list[_Recorded]:
        """Record each call. Writes come first: they create tables of periods, which queries read."""
        accesses = sorted(self._design.accesses(), key=lambda pair: isinstance(pair[1], Query))
        return [self._record(declared_set, access) for declared_set, access in accesses]

    def _create_resources(self, records: Iterable[Record]) -> bool:
        """Create what only first calls create, so that no call includes it; return whether there was anything."""
        created = {(record.service, record.table) for record in records if record.operation in MAKING and record.table}
        if not created:
            return False
        self._restore()
        tables, queues, containers = self._engine.tables, self._engine.queues, self._engine.blobs.containers
        stores: Mapping[str, tuple[Callable[[str], object], set[str]]] = {
            "table": (tables.create, {name.lower() for name in tables.names()[0]}),
            "queue": (queues.create, {queue.name for queue in queues.page()[0]}),
            "blob": (containers.create, {container.name for container in containers.page()[0]}),
        }
        new = [(service, name) for service, name in sorted(created) if name.lower() not in stores[service][1]]
        for service, name in new:
            stores[service][0](name)
        if new:
            self._start, self.before = self._snapshots.save(), contents_of(self._engine)
        return bool(new)

    def _restore(self, to: Saved | None = None) -> None:
        self._snapshots.note_changes()
        self._snapshots.go_to(to or self._start)
        self._snapshots.fill()
        self._recorder.end()

    def _call(self, declared_set: DeclaredSet, access: Query | Write) -> tuple[Callable[[], object], Sequence[Part]]:
        self._chance.turn_to(f"{declared_set.name}: {access.name}")
        if isinstance(access, Query):
            return self._question(declared_set, access), ()
        sample_set = self.stand.kept[declared_set.name]
        if is_of_retention(declared_set, access) and isinstance(sample_set, Periods):
            oldest = min(sample_set.tables.periods(), default=self._storage.now())
            age = (self._storage.now() - oldest).total_seconds() / DAY
            kept_days = kind_of(declared_set).period_days(declared_set) or 0.0
            kept_days += declared_set.retention.days if declared_set.retention else 0
            # The oldest table has just expired
            self._engine.clock.advance(max(0.0, kept_days - age) * DAY)
            return sample_set.tables.drop_expired, ()
        writes = [(declared_set, access), *atomic_writes(self._design, declared_set, access)]
        sources = {name: Source(sample) for name, sample in self.stand.samples.items()}
        parts = parts_of(self.stand, writes, sources)
        return partial(execute, self._storage, parts), parts

    def _question(self, declared_set: DeclaredSet, query: Query) -> Callable[[], object]:
        stand, shape = self.stand, self.stand.made.shapes[declared_set.name]
        if query.archived:
            return read_of_archive(stand, declared_set)
        way = best_way(declared_set, query)
        number, _ = sample_questions(stand, declared_set, way, 1)[0]
        way = replace(way, query=scaled_results(query, declared_set.shape, shape))
        ask = sample_call(declared_set, way, stand.samples[declared_set.name], number, shape)
        return partial(stand.kept[declared_set.name].ask, ask)

    def _record(self, declared_set: DeclaredSet, access: Query | Write) -> _Recorded:
        self._restore()
        call, parts = self._call(declared_set, access)
        self._recorder.begin(self.before, self._snapshots.save if isinstance(access, Write) else None)
        try:
            rejected = rejection(call)
        except (EntityAlreadyExists, EntityNotFound) as error:
            rejected = error.message
        if self._create_resources(request.record for request in self._recorder.sent):
            return self._record(declared_set, access)
        rejected = rejected or self.stand.rejected.get(declared_set.name)
        sent, crashes = tuple(self._recorder.sent), dict[int, tuple[str, str | None]]()
        if isinstance(access, Write) and rejected is None:
            # After a request that changes nothing, a crash leaves the same
            known = dict[Saved, tuple[str, str | None]]()
            for number, request in enumerate(sent[:-1]):
                if request.saved is None or request.after == self.before:
                    continue
                if request.saved not in known:
                    self._restore(request.saved)
                    known[request.saved] = self._crash(declared_set, access, parts, request.after, sent[-1].after)
                crashes[number] = known[request.saved]
        return _Recorded(declared_set, access, self.before, sent, rejected, crashes)

    def _crash(
        self,
        declared_set: DeclaredSet,
        write: Write,
        parts: Sequence[Part],
        remaining_contents: Contents,
        contents: Contents,
    ) -> tuple[str, str | None]:
        """Describe what a crash after a request leaves, which is in the account, before and after workers have run."""
        # Other names than those that the process chose
        self._chance.turn_to(f"{declared_set.name}: {write.name}, after a crash")
        state = _state_after_crash(self.before, remaining_contents, contents)
        if not sum(remaining_contents.messages.values()):
            return state, None
        for _ in range(_WORKER_RUNS):
            self._engine.clock.advance(2 * LEASE)
            recover(self._storage, parts)
            if not sum(contents_of(self._engine).messages.values()):
                break
        return state, _state_after_recovery(self.before, contents_of(self._engine), contents)


def _state_after_crash(before: Contents, remaining_contents: Contents, contents: Contents) -> str:
    all_rows, changed_rows = contents.changed_since(before), remaining_contents.changed_since(before)
    finished = sum(remaining_contents.has_same(keys, contents) for keys in all_rows)
    between = sum(not remaining_contents.has_same(keys, contents) for keys in changed_rows)
    if not changed_rows:
        sentences = [UNCHANGED]
    elif finished == len(all_rows) and not between:
        sentences = ["All rows have changed." if finished > 1 else "The row has changed."]
    else:
        sentences = [f"{finished} of {counted(len(all_rows), 'row')} {'has' if finished == 1 else 'have'} changed."]
    there = [(between, "row", "in an intermediate state")]
    there += [(count, "message", f"in the queue {name}") for name, count in remaining_contents.messages.items()]
    there.append((len(remaining_contents.blobs - before.blobs), "blob", "stored"))
    sentences += [f"{counted(n, thing)} {'is' if n == 1 else 'are'} {state}." for n, thing, state in there if n]
    return " ".join(sentences)


def _state_after_recovery(before: Contents, remaining_contents: Contents, contents: Contents) -> str:
    changed_rows = remaining_contents.changed_since(contents)
    different = sum(not remaining_contents.has_same(keys, contents) for keys in changed_rows)
    if not different:
        sentence = COMPLETED
    elif not remaining_contents.changed_since(before):
        sentence = "A worker finds that the call wrote nothing, and deletes the message"
    else:
        sentence = f"Workers leave {counted(different, 'row')} different from a completed call"
    orphans = len(remaining_contents.blobs) - len(before.blobs if different else contents.blobs)
    if orphans <= 0:
        return f"{sentence}."
    return f"{sentence}; {counted(orphans, 'blob')} {'stays' if orphans == 1 else 'stay'} without an entity."


def _walkthrough(recorded: _Recorded, numbers: Mapping[RowKeys, int]) -> Walkthrough:
    steps, before = list[Step](), recorded.before
    for at, request in enumerate(recorded.sent):
        row_keys = {"read": request.read, "returned": request.returned, "written": request.after.written_since(before)}
        rows = {name: tuple(numbers[keys] for keys in all_keys) for name, all_keys in row_keys.items()}
        crash, recovery = recorded.crashes.get(at, (None, None))
        record, before = request.record, request.after
        steps.append(Step(request.request, record.service, record.query_class, **rows, crash=crash, recovery=recovery))
    return Walkthrough(recorded.declared, recorded.access, tuple(steps), recorded.rejected)


_LONGEST_VALUE: Final = 24
_LONGEST_ROW: Final = 160
_CALLED: Final[Mapping[str, RowKind]] = {"copies": "copy", "lists": "list", "totals": "summary"}


@dataclass(frozen=True)
class _Family:
    """The rows of one key template; `table` is in lower case, and only its beginning if each period has one."""

    kind: RowKind
    of: str
    derived: str | None
    table: str
    key: Key
    is_prefix: bool

    def has(self, keys: RowKeys) -> bool:
        table, partition, row = keys
        pairs = ((self.key.partition_template, partition), (self.key.row_template, row))
        return self.has_table(table) and all(_pattern(template).fullmatch(key) for template, key in pairs)

    def has_table(self, name: str) -> bool:
        return name.lower() == self.table or (self.is_prefix and name.lower().startswith(self.table))

    @property
    def fixed(self) -> int:
        """The number of literal characters in the key template; more make a match more certain."""
        return sum(len(piece.literal) + (piece.width or 0) for piece in pieces_of_key(self.key))


@lru_cache(maxsize=1024)
def _pattern(template: str) -> re.Pattern[str]:
    parts = (
        re.escape(piece.literal) + (f".{{{piece.width}}}" if piece.width else ".*" if piece.name else "")
        for piece in pieces_of(template)
    )
    return re.compile("".join(parts), re.DOTALL)


def stored_tables(
    design: Design,
    sample_sets: Mapping[str, SampleSet],
    rows: Mapping[RowKeys, Mapping[str, Any]],
    stored: Collection[RowKeys],
) -> tuple[StoredTable, ...]:
    """Return tables with their rows in key order; `rows` also has those that only a write inserts."""
    families = [family for of in design.sets for family in _families(of, sample_sets[of.name])]
    order = sorted(rows, key=lambda keys: (keys[0], ordinal(keys[1]), ordinal(keys[2])))
    by_table: dict[str, list[StoredRow]] = {}
    for number, keys in enumerate(order):
        row = _row(number, keys, families, rows[keys], stored=keys in stored)
        by_table.setdefault(keys[0], []).append(row)
    return tuple(StoredTable(name, tuple(rows)) for name, rows in by_table.items())


def _families(declared_set: DeclaredSet, sample_set: SampleSet) -> Iterator[_Family]:
    periods = kind_of(declared_set).time_field(declared_set) is not None
    yield _Family("primary", declared_set.name, None, declared_set.table.lower(), sample_set.row_key, periods)
    for via, profile in declared_set.profiles():
        if profile.table_key is not None:
            kind = _CALLED[profile.called]
            table = via.table(declared_set.table).lower()
            yield _Family(kind, declared_set.name, via.name, table, profile.table_key, periods)


def _row(
    number: int, keys: RowKeys, families: Collection[_Family], properties: Mapping[str, Any], *, stored: bool
) -> StoredRow:
    _, partition, row = keys
    text = _shortened(", ".join(f"{name}={_value(value)}" for name, value in properties.items()), _LONGEST_ROW)
    # A summary may be stored in an entity of a set of its own
    certain = sorted(families, key=lambda family: (family.fixed, family.kind == "primary"), reverse=True)
    family = next((family for family in certain if family.has(keys)), None)
    if family is None:
        # A further row of a wide entity or a long series: its key starts like that of the entity
        of = next((family.of for family in families if family.has_table(keys[0])), "")
        return StoredRow(number, partition, row, "part", of, None, "", text, stored)
    template = f"{family.key.partition_template} | {family.key.row_template}"
    return StoredRow(number, partition, row, family.kind, family.of, family.derived, template, text, stored)


def _value(value: Any) -> str:
    if isinstance(value, bytes):
        return f"({count(len(value))} bytes)"
    text = f"{value:g}" if isinstance(value, float) else value.iso() if isinstance(value, Ticks) else str(value)
    return _shortened(text, _LONGEST_VALUE)


def _shortened(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
