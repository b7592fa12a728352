"""Write the tests of a design: each simple call costs no more storage transactions than the review says."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tablepatterns.entity_set.derived import Derived
from tablepatterns.key.ranges import Between
from tablepatterns.storage import connect
from tablepatterns_engine import Clock, Engine

from ..design.archives import is_of_archive
from ..design.model import DeclaredLog, DeclaredSet, Query, Write
from ..kinds.kind import SampleCall, once
from ..measure.account import SampleAccount, sample_design, set_up
from ..measure.measure import atomic_writes, calls_of, is_of_retention, sample_questions
from ..measure.questions import sample_call
from ..measure.sample import NOW, Sample, holds_copies
from ..measure.writes import Source
from ..model import Measured
from ..planner import best_way
from . import logs
from .layout import Brackets, Expression, Names, call, entries, lines_of, literal, snake, text
from .module import PLAIN_CALLS, Module, comment, import_lines

_FEW = 3
"""How many entities of each set the tests store."""


@dataclass
class Tests:
    """The module with the tests of a design.

    :param module: the module that declares the design
    :param imported: its name
    """

    module: Module
    imported: str

    @cached_property
    def account(self) -> SampleAccount:
        """The sample entities."""
        with connect(Engine(clock=Clock(NOW))) as storage:
            return set_up(sample_design(self.module.design, _FEW), storage)

    def text(self) -> str:
        """Return the text of the module."""
        design, account = self.module.design, self.account
        names, skipped, body = Names(), list[str](), list[str]()
        for measured_set in calls_of(design):
            if is_of_retention(measured_set.of, measured_set.access):
                continue
            lines, most = self._call(account, measured_set), max(1, math.ceil(measured_set.transactions - 1e-9))
            if isinstance(measured_set.of, DeclaredLog) and measured_set.rejected is None:
                lines, most = logs.test_of(
                    measured_set.of, measured_set.access, self.module.parts.sets[measured_set.of.name]
                )
            if lines is None:
                skipped.append(text(f"{measured_set.of.name}: {measured_set.access.name}"))
                continue
            name = names.new(f"test_{snake(measured_set.of.name)}_{snake(measured_set.access.name)}")
            arguments = Brackets(f"def {name}(", [("storage: ", "Storage"), ("sets: ", "Sets")], ") -> None:")
            body += ["", "", *lines_of("", arguments), *lines]
            body.append(f"    traffic.assert_transactions(at_most={most})")
        head = ['"""Each call costs no more storage transactions than `tablepatterns review` says."""', ""]
        notes = [f"Not tested, since it takes more than one simple call: {text}" for text in skipped]
        head += [*comment(notes), *([""] if notes else []), "from __future__ import annotations", ""]
        body = [*self._fixtures(account), *body]
        parts = self.module.parts
        own_names = ["Sets", "declare", *parts.models.values(), *parts.derived.values()]
        return "\n".join([*head, *import_lines(body, (self.imported, own_names)), "", *body]) + "\n"

    # -- Entities

    def _fixtures(self, account: SampleAccount) -> list[str]:
        lines = [*lines_of("NOW = ", literal(NOW)), "", "", "@pytest.fixture", "def storage() -> Iterator[Storage]:"]
        lines += ["    with connect(Engine(clock=Clock(NOW))) as storage:", "        yield storage", "", ""]
        key = ""
        if self.module.encrypts:
            key = ', LocalKey("test", bytes(32))'
        lines += ["@pytest.fixture", "def sets(storage: Storage) -> Sets:", f"    sets = declare(storage{key})"]
        for declared_set in sorted(self.module.design.sets, key=holds_copies):
            if declared_set.name in account.rejected:
                continue
            how = "insert_or_merge" if self._shares_rows(declared_set) else "insert"
            for fields in once(declared_set.key, account.samples[declared_set.name].stored):
                lines += lines_of("", self._insert(declared_set, fields, how), indent=4)
            if _has_messages(declared_set):
                lines.append(f"    {self._of(declared_set)}.process_intents()")
        for log in self.module.design.logs:
            lines += logs.stored(self.module.parts.sets[log.name])
        return [*lines, "    return sets"]

    def _bare(self, declared_set: DeclaredSet) -> str:
        return f"sets.{self.module.parts.sets[declared_set.name]}"

    def _named(self, declared_set: DeclaredSet) -> str:
        """Return the set, without its model if that does not fit the sample."""
        has_other = declared_set.name in self.module.parts.models and self._model(declared_set) is None
        return f"{self._bare(declared_set)}.without_model()" if has_other else self._bare(declared_set)

    def _model(self, declared_set: DeclaredSet) -> str | None:
        """Return the model; None if the sample has only some of its fields, as of an entity too large for a row."""
        made = self.account.samples[declared_set.name].spare[0]
        return self.module.parts.models.get(declared_set.name) if set(made) == set(declared_set.shape.fields) else None

    def _of(self, declared_set: DeclaredSet) -> str:
        name = self._bare(declared_set)
        return f"{name}.entity_set" if declared_set.pattern == "partition_spread" else name

    def _shares_rows(self, declared_set: DeclaredSet) -> bool:
        """Whether other sets write the same entities, such as their totals."""
        return declared_set.pattern in PLAIN_CALLS and any(
            via.table(each.table).lower() == declared_set.table.lower()
            and profile.key
            and profile.key.overlaps(declared_set.key)
            for each in self.module.design.sets
            for via, profile in each.profiles()
            if each is not declared_set and not profile.filled_from
        )

    def _insert(self, declared_set: DeclaredSet, fields: Mapping[str, Any], how: str = "insert") -> Brackets:
        name, model = self._named(declared_set), self._model(declared_set)
        if declared_set.pattern == "data_series":
            one = {"int": "1", "Int64": "Int64(1)", "float": "1.0", "bool": "True"}[str(declared_set.settings["of"])]
            return call(f"{name}.set", "0", one, entries(_part(fields, declared_set.key.fields)))
        if model is None:
            return call(f"{name}.{how}", entries(fields))
        return call(f"{name}.{how}", Brackets(f"{model}(", [(f"{name}=", literal(fields[name])) for name in fields]))

    # -- Calls

    def _call(self, account: SampleAccount, measured_set: Measured) -> list[str] | None:
        """Return the lines that make a call; None if it takes more than one."""
        if (
            isinstance(measured_set.of, DeclaredLog)
            or measured_set.rejected is not None
            or not account.samples[measured_set.of.name].stored
            or account.rejected
        ):
            return None
        if is_of_archive(measured_set.of, measured_set.access):
            return self._move(account, measured_set.of)
        if isinstance(measured_set.access, Write):
            return self._write(account, measured_set.of, measured_set.access)
        return self._query(account, measured_set.of, measured_set.access)

    def _move(self, account: SampleAccount, declared_set: DeclaredSet) -> list[str]:
        """Return the lines that archive an entity, after one for which the queue and the archive are created."""
        archive, stored = (
            f"sets.{self.module.parts.archives[declared_set.name]}",
            account.samples[declared_set.name].stored,
        )
        lines = [f"    worker = Worker(storage, [{archive}])"]
        for fields, indent in ((stored[0], 4), (stored[-1], 8)):
            if indent > 4:
                lines.append("    with Traffic(storage) as traffic:")
            key = entries(_part(fields, declared_set.key.fields))
            lines += lines_of("", call(f"{archive}.archive", key), indent=indent)
            lines.append(f"{' ' * indent}assert worker.run_once().handled == 1")
        return lines

    def _archived(self, account: SampleAccount, declared_set: DeclaredSet) -> list[str]:
        """Return the lines that read an entity from the archive."""
        archive = f"sets.{self.module.parts.archives[declared_set.name]}"
        key = entries(_part(account.samples[declared_set.name].stored[0], declared_set.key.fields))
        lines = lines_of("", call(f"{archive}.archive", key), indent=4)
        lines += [f"    Worker(storage, [{archive}]).run_once()", "    with Traffic(storage) as traffic:"]
        lines += lines_of("found = ", call(f"{archive}.get", key), indent=8)
        return [*lines, "    assert found is not None"]

    def _query(self, account: SampleAccount, declared_set: DeclaredSet, query: Query) -> list[str] | None:
        if query.archived:
            return self._archived(account, declared_set)
        way, shape = best_way(declared_set, query), account.made.shapes[declared_set.name]
        if way.completes or query.region == "secondary":
            return None
        one = sample_questions(account, declared_set, way, 1)[0]
        ask = sample_call(declared_set, way, account.samples[declared_set.name], one, shape)
        made = self._asked(declared_set, ask)
        if made is None:
            return None
        is_one = ask.way in ("get", "find") and declared_set.pattern != "data_series"
        result = made if isinstance(made, Brackets) and ask.way in ("get", "find", "find_all", "totals") else None
        if result is None and ask.take is None:
            result = call("list", made)
        lines = ["    with Traffic(storage) as traffic:"]
        lines += lines_of("found = ", made if result is None else result, indent=8)
        return [*lines, f"    assert found{' is not None' if is_one else ''}"]

    def _asked(self, declared_set: DeclaredSet, ask: SampleCall) -> Brackets | None:
        name, brackets = self._named(declared_set), entries(ask.given)
        if ask.way == "filter":
            return self._filter(declared_set, ask)
        match declared_set.pattern:
            case "data_series":
                ways = {"get": f"{name}.read", "range": f"{name}.range"}
                return call(ways[ask.way], brackets) if ask.way in ways and ask.where is None else None
            case "wide_entity":
                return call(f"{name}.get", brackets) if ask.way == "get" else None
            case "period_tables":
                return self._of_period(declared_set, ask)
            case "partition_spread" if ask.way not in ("get", "range"):
                return None
            case _:
                return self._plain(declared_set, ask, brackets)

    def _plain(self, declared_set: DeclaredSet, ask: SampleCall, given: Expression) -> Brackets | None:
        name, via = self._named(declared_set), self._via(declared_set, ask.via)
        layout = declared_set.profile(ask.via).layout if ask.via is not None else None
        if layout is not None and not layout.is_complete and self._model(declared_set):
            # Its rows have only some of the fields of the model
            name += ".without_model()"
        if ask.way in ("get", "find", "find_all", "totals"):
            return call(f"{name}.{ask.way}", *via, given)
        options = self._options(ask)
        if ask.way == "range" and ask.take is not None:
            return call(f"{name}.take", str(ask.take), *via, given, **options)
        if ask.way == "range":
            return call(f"{name}.range", *via, given, **options)
        if ask.take is not None:
            return None
        return call(f"{name}.query", options.pop("where"), **options) if "where" in options else call(f"{name}.scan")

    def _of_period(self, declared_set: DeclaredSet, ask: SampleCall) -> Brackets | None:
        name, at = self._named(declared_set), str(declared_set.settings.get("at", "At"))
        when = ask.given.get(at)
        if ask.way == "get" and at in ask.given and not isinstance(when, Between):
            return call(f"{name}.get", entries(ask.given))
        if ask.way != "range" or ask.via is not None or ask.take is not None or not isinstance(when, Between):
            return None
        low, high = literal(when.low), literal(when.high)
        brackets = entries({text: value for text, value in ask.given.items() if text != at})
        return call(f"{name}.range", low, high, brackets, **self._options(ask))

    def _filter(self, declared_set: DeclaredSet, ask: SampleCall) -> Brackets | None:
        if declared_set.pattern not in PLAIN_CALLS:
            return None
        options = self._options(ask)
        name = self._named(declared_set)
        return call(f"{name}.query", options.pop("where"), **options) if "where" in options else None

    def _options(self, ask: SampleCall) -> dict[str, Expression]:
        if ask.where is None:
            return {}
        return {"where": call("parse", text(str(ask.where))), "allow": "QueryClass.TABLE_SCAN"}

    def _via(self, declared_set: DeclaredSet, via: Derived | None) -> Sequence[str]:
        if via is None:
            return ()
        number = next(at for at, derived in enumerate(declared_set.derived) if derived.name == via.name)
        constant = self.module.parts.derived[declared_set.name, number]
        return (constant,)

    def _write(self, account: SampleAccount, declared_set: DeclaredSet, write: Write) -> list[str] | None:
        atomic = atomic_writes(self.module.design, declared_set, write)
        sample = account.samples[declared_set.name]
        if atomic or (write.operation != "insert" and declared_set.pattern not in (*PLAIN_CALLS, "data_series")):
            return None
        head = ["    with Traffic(storage) as traffic:"]
        if write.operation == "insert" or (declared_set.pattern == "data_series" and write.operation == "update"):
            fields = _new(declared_set, sample) if write.operation == "insert" else sample.stored[0]
            if fields is None:
                return None
            return [*head, *lines_of("", self._insert(declared_set, fields), indent=8)]
        name, stored = f"{self._bare(declared_set)}.without_model()", sample.stored[0]
        key = entries(_part(stored, declared_set.key.fields))
        if declared_set.pattern == "data_series":
            return None
        if write.operation == "delete":
            brackets = call(f"{name}.delete", key, force="True")
            return [*head, *lines_of("", brackets, indent=8)]
        names = write.changes or [name for name in stored if name not in declared_set.key.fields]
        changes = Source(sample).other(stored, names)
        if not changes or not set(changes).isdisjoint(declared_set.key.fields) or holds_copies(declared_set):
            return None
        if write.overwrite:
            brackets = call(f"{name}.insert_or_merge", entries({**_part(stored, declared_set.key.fields), **changes}))
            return [*head, *lines_of("", brackets, indent=8)]
        change = ["    def change(entity: Entity) -> None:"]
        change += [*lines_of("", call("entity.update", entries(changes)), indent=8), ""]
        brackets = call(f"{name}.update", "change", key)
        return [*change, *head, *lines_of("", brackets, indent=8)]


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


def _has_messages(declared_set: DeclaredSet) -> bool:
    """Whether derived data is updated by messages."""
    return declared_set.pattern in (*PLAIN_CALLS, "partition_spread") and any(
        derived.is_eventual for derived in declared_set.derived
    )
