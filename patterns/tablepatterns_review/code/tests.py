"""Write the tests of a design: each simple call costs no more storage transactions than the review says."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from tablepatterns.entity_set.derived import Derived
from tablepatterns.storage import connect
from tablepatterns_engine import Clock, Engine

from ..design.archives import is_of_archive
from ..design.model import DeclaredSet, Query, Write
from ..kinds import kind_of
from ..kinds.kind import once
from ..measure.account import SampleAccount, sample_design, set_up
from ..measure.measure import atomic_writes, calls_of, is_of_retention, sample_questions
from ..measure.questions import sample_call
from ..measure.sample import NOW, Sample, holds_copies
from ..measure.writes import Source
from ..model import Measured
from ..planner import best_way
from ..python_source import Names, call, literal, snake, text
from .module import Module, comment, render

_FEW = 3
"""How many entities of each set the tests store."""


@dataclass(frozen=True)
class CostTest:
    """The test of an access pattern.

    :param calls: the lines whose transactions are counted
    :param most: how many transactions these may take
    :param check: what is asserted about the result; empty for nothing
    """

    calls: Sequence[str]
    before: Sequence[str] = ()
    check: str = ""
    most: int = 1
    name: str = ""


@dataclass
class Tests:
    """The module with the tests of a design, whose own module is imported as `imported`."""

    module: Module
    imported: str

    @cached_property
    def account(self) -> SampleAccount:
        with connect(Engine(clock=Clock(NOW))) as storage:
            return set_up(sample_design(self.module.design, _FEW), storage)

    def text(self) -> str:
        names, module, tests, skipped = Names(), self.module, list[CostTest](), list[str]()
        for measured in calls_of(self.module.design):
            if is_of_retention(measured.of, measured.access):
                continue
            set_name, name = measured.of.name, measured.access.name
            test = self._test(measured)
            if test is None:
                skipped.append(text(f"{set_name}: {name}"))
            else:
                tests.append(replace(test, name=names.new(f"test_{snake(set_name)}_{snake(name)}")))
        return render(
            "tests.py.jinja",
            (self.imported, ["Sets", "declare", *module.models.values(), *module.derived.values()]),
            notes=comment(f"Not tested, since it takes more than one simple call: {name}" for name in skipped),
            now=literal(NOW),
            encrypts=self.module.encrypts,
            stored=list(self._stored()),
            tests=tests,
        )

    # -- Entities

    def _stored(self) -> Iterator[str]:
        for declared_set in sorted(self.module.design.sets, key=holds_copies):
            if declared_set.name in self.account.rejected:
                continue
            method = "insert_or_merge" if self._shares_rows(declared_set) else "insert"
            for fields in once(declared_set.key, self.account.samples[declared_set.name].stored):
                yield self._insert(declared_set, fields, method)
            messages = kind_of(declared_set).messages_code(self._bare(declared_set))
            if messages is not None and any(derived.is_eventual for derived in declared_set.derived):
                yield messages

    def _bare(self, declared_set: DeclaredSet) -> str:
        return f"sets.{self.module.sets[declared_set.name]}"

    def _named(self, declared_set: DeclaredSet) -> str:
        """Return the set, without its model if that does not fit the sample."""
        has_other = declared_set.name in self.module.models and self._model(declared_set) is None
        return f"{self._bare(declared_set)}.without_model()" if has_other else self._bare(declared_set)

    def _model(self, declared_set: DeclaredSet) -> str | None:
        """Return the model; None if the sample has only some of its fields, as of an entity too large for a row."""
        entity = self.account.samples[declared_set.name].spare[0]
        is_whole = set(entity) == set(declared_set.shape.fields)
        return self.module.models.get(declared_set.name) if is_whole else None

    def _shares_rows(self, declared_set: DeclaredSet) -> bool:
        """Whether other sets write the same entities, such as their totals."""
        return kind_of(declared_set).groups_writes and any(
            via.table(other_set.table).lower() == declared_set.table.lower()
            and profile.key
            and profile.key.overlaps(declared_set.key)
            for other_set in self.module.design.sets
            for via, profile in other_set.profiles()
            if other_set is not declared_set and not profile.filled_from
        )

    def _insert(self, declared_set: DeclaredSet, fields: Mapping[str, Any], method: str = "insert") -> str:
        name, model = self._named(declared_set), self._model(declared_set)
        return kind_of(declared_set).insert_code(name, declared_set, fields, model, method)

    # -- Calls

    def _test(self, measured: Measured) -> CostTest | None:
        """Return the test of an access pattern; None if it takes more than one call."""
        if measured.rejected is not None:
            return None
        if self.account.rejected or not self.account.samples[measured.of.name].stored:
            return None
        if is_of_archive(measured.of, measured.access):
            test: CostTest | None = self._move(measured.of)
        elif isinstance(measured.access, Write):
            test = self._write(measured.of, measured.access)
        else:
            test = self._query(measured.of, measured.access)
        return None if test is None else replace(test, most=max(1, math.ceil(measured.transactions - 1e-9)))

    def _move(self, declared_set: DeclaredSet) -> CostTest:
        """Return the test that archives an entity, after one for which the queue and the archive are created."""
        archive = f"sets.{self.module.archives[declared_set.name]}"
        stored = self.account.samples[declared_set.name].stored
        before, calls = (
            [
                call(f"{archive}.archive", literal(_part(fields, declared_set.key.fields))),
                "assert worker.run_once().handled == 1",
            ]
            for fields in (stored[0], stored[-1])
        )
        return CostTest(calls, [f"worker = Worker(storage, [{archive}])", *before])

    def _archived(self, declared_set: DeclaredSet) -> CostTest:
        archive = f"sets.{self.module.archives[declared_set.name]}"
        key = literal(_part(self.account.samples[declared_set.name].stored[0], declared_set.key.fields))
        before = [call(f"{archive}.archive", key), f"Worker(storage, [{archive}]).run_once()"]
        return CostTest([f"found = {call(f'{archive}.get', key)}"], before, "found is not None")

    def _query(self, declared_set: DeclaredSet, query: Query) -> CostTest | None:
        if query.archived:
            return self._archived(declared_set)
        way, account, kind = best_way(declared_set, query), self.account, kind_of(declared_set)
        if way.completes or query.region == "secondary":
            return None
        question = sample_questions(account, declared_set, way, 1)[0]
        shape = account.made.shapes[declared_set.name]
        ask = sample_call(declared_set, way, account.samples[declared_set.name], question, shape)
        if ask.way == "filter" and not kind.groups_writes:
            return None
        name, layout = self._named(declared_set), None if ask.via is None else declared_set.profile(ask.via).layout
        if layout is not None and not layout.is_complete and self._model(declared_set):
            # Its rows have only some of the fields of the model
            name += ".without_model()"
        code = kind.ask_code(name, declared_set, ask, self._constant(declared_set, ask.via))
        if code is None:
            return None
        is_one = ask.way in ("get", "find") and kind.points(declared_set) is None
        return CostTest([f"found = {code}"], check="found is not None" if is_one else "found")

    def _constant(self, declared_set: DeclaredSet, via: Derived | None) -> str | None:
        if via is None:
            return None
        number = next(at for at, derived in enumerate(declared_set.derived) if derived.name == via.name)
        return self.module.derived[declared_set.name, number]

    def _write(self, declared_set: DeclaredSet, write: Write) -> CostTest | None:
        sample, kind = self.account.samples[declared_set.name], kind_of(declared_set)
        sets_points = kind.points(declared_set) is not None and write.operation == "update"
        if atomic_writes(self.module.design, declared_set, write):
            return None
        if write.operation == "insert" or sets_points:
            fields = _new(declared_set, sample) if write.operation == "insert" else sample.stored[0]
            return None if fields is None else CostTest([self._insert(declared_set, fields)])
        if not kind.groups_writes:
            return None
        name, stored = f"{self._bare(declared_set)}.without_model()", sample.stored[0]
        key = _part(stored, declared_set.key.fields)
        if write.operation == "delete":
            return CostTest([call(f"{name}.delete", literal(key), force="True")])
        names = write.changes or [name for name in stored if name not in declared_set.key.fields]
        changes = Source(sample).other(stored, names)
        if not changes or not set(changes).isdisjoint(declared_set.key.fields) or holds_copies(declared_set):
            return None
        if write.overwrite:
            return CostTest([call(f"{name}.insert_or_merge", literal({**key, **changes}))])
        change = ["def change(entity: Entity) -> None:", f"    {call('entity.update', literal(changes))}", ""]
        return CostTest([call(f"{name}.update", "change", literal(key))], change)


def _part(fields: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    return {name: fields[name] for name in names}


def _new(declared_set: DeclaredSet, sample: Sample) -> Mapping[str, Any] | None:
    """Return an entity whose keys no stored one has."""
    keys = [
        declared_set.key,
        *(declared_set.profile(derived).key for derived in declared_set.derived if declared_set.is_unique(derived)),
    ]
    names = [key.fields for key in keys if key is not None]
    taken = {tuple(row[name] for name in key) for row in sample.stored for key in names}
    free = (row for row in sample.spare if all(tuple(row[name] for name in key) not in taken for key in names))
    return next(free, None)
