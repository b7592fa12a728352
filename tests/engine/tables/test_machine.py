"""Random operations on tables, compared with a simple model: a dict per table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import hypothesis.strategies as st
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from filters.strategies import key_filters
from support.examples import examples
from support.soundness import check_tables
from support.table_states import all_entities, service_error_of
from tablepatterns.filters import Filter, matcher
from tablepatterns_engine.clock import Clock
from tablepatterns_engine.errors import TransactionError
from tablepatterns_engine.key_range import KeyScope
from tablepatterns_engine.tables.entities import Entity, Value
from tablepatterns_engine.tables.service import Operation, Tables

NAMES = st.sampled_from(["People", "people", "Logs"])
KEYS = st.sampled_from(["", "a", "b", "b\U0001f6eb", "b\uffee"])
BOUNDS = st.none() | KEYS
PROPERTIES = st.dictionaries(st.sampled_from(["Age", "Name"]), st.integers(0, 2) | st.just("x"), max_size=2)
CHANGES = ("replace", "merge", "delete")
KINDS = st.sampled_from(["insert", "insert_or_replace", "insert_or_merge", *CHANGES])
CONDITIONS = st.sampled_from(["*", "current", "stale"])
STEPS = st.tuples(KINDS, KEYS, PROPERTIES, CONDITIONS)

Key = tuple[str, str]


def after(operation: Operation, before: Entity | None) -> dict[str, Value] | str | None:
    """Return the properties after a write, None for no entity, or the code of what is wrong."""
    kind, changes = operation.kind, operation.kind in CHANGES
    if before is None and changes:
        return "ResourceNotFound"
    if before is not None and kind == "insert":
        return "EntityAlreadyExists"
    if before is not None and changes and operation.etag not in ("*", before.etag):
        return "UpdateConditionNotSatisfied"
    if kind == "delete":
        return None
    kept = before.properties if before is not None and kind.endswith("merge") else {}
    return {**kept, **operation.properties}


def in_order(key: Key) -> tuple[bytes, bytes]:
    return key[0].encode("utf-16-be"), key[1].encode("utf-16-be")


class TablesMachine(RuleBasedStateMachine):
    """The engine's tables beside a model that maps table, then keys, to the version that was written last."""

    def __init__(self) -> None:
        super().__init__()
        self.tables = Tables(Clock(), page_examines=3)
        self.model: dict[str, dict[Key, Entity]] = {}

    def operation(self, name: str, partition: str, step: tuple[Any, ...]) -> Operation:
        kind, row, properties, condition = step
        current = self.model.get(name.lower(), {}).get((partition, row))
        etags = {"*": "*", "current": current.etag if current else "*", "stale": "W/\"datetime'2001-01-01'\""}
        etag = etags[condition] if kind in CHANGES else None
        return Operation(kind, partition, row, {} if kind == "delete" else properties, etag)

    def expected(self, name: str, operation: Operation) -> dict[str, Value] | str | None:
        known = self.model.get(name.lower())
        key = (operation.partition_key, operation.row_key)
        return "TableNotFound" if known is None else after(operation, known.get(key))

    def note(
        self, name: str, operation: Operation, made: Entity | None, expected: dict[str, Value] | str | None
    ) -> None:
        key = (operation.partition_key, operation.row_key)
        if made is None:
            assert expected is None
            del self.model[name.lower()][key]
        else:
            assert ((made.partition_key, made.row_key), made.properties) == (key, expected)
            self.model[name.lower()][key] = made

    @rule(name=NAMES)
    def create_or_drop(self, name: str) -> None:
        if name.lower() in self.model:
            self.tables.delete(name)
            del self.model[name.lower()]
        else:
            self.tables.create(name)
            self.model[name.lower()] = {}

    @rule(name=NAMES, partition=KEYS, step=STEPS)
    def write(self, name: str, partition: str, step: tuple[Any, ...]) -> None:
        operation = self.operation(name, partition, step)
        expected = self.expected(name, operation)
        if isinstance(expected, str):
            assert self.code_of(lambda: self.tables.apply(name, operation)) == expected
        else:
            self.note(name, operation, self.tables.apply(name, operation), expected)

    @rule(name=NAMES, partition=KEYS, steps=st.lists(STEPS, min_size=1, max_size=5, unique_by=lambda step: step[1]))
    def transact(self, name: str, partition: str, steps: list[tuple[Any, ...]]) -> None:
        operations = [self.operation(name, partition, step) for step in steps]
        expected = [self.expected(name, operation) for operation in operations]
        wrong = [(code, index) for index, code in enumerate(expected) if isinstance(code, str)]
        if wrong:
            error = service_error_of(lambda: self.tables.transact(name, operations))
            assert isinstance(error, TransactionError)
            assert (error.code, error.index) == wrong[0]
        else:
            for each in zip(operations, self.tables.transact(name, operations), expected, strict=True):
                self.note(name, *each)

    @rule(name=NAMES, partition=KEYS, row=KEYS)
    def get(self, name: str, partition: str, row: str) -> None:
        known = self.model.get(name.lower(), {}).get((partition, row))
        if known is None:
            code = "ResourceNotFound" if name.lower() in self.model else "TableNotFound"
            assert self.code_of(lambda: self.tables.get(name, partition, row)) == code
        else:
            assert self.tables.get(name, partition, row) is known

    @rule(
        name=NAMES,
        wanted=st.none() | key_filters,
        limit=st.integers(1, 4),
        scope=st.none() | st.builds(KeyScope, BOUNDS, BOUNDS, BOUNDS, BOUNDS),
        start=st.none() | st.tuples(KEYS, KEYS),
    )
    def query(self, name: str, wanted: Filter | None, limit: int, scope: KeyScope | None, start: Key | None) -> None:
        if name.lower() not in self.model:
            return
        known = self.model[name.lower()]
        matches = (lambda get: True) if wanted is None else matcher(wanted)
        keys = [key for key in sorted(known, key=in_order) if matches(known[key].get)]
        keys = [key for key in keys if start is None or in_order(key) >= in_order(start)]
        keys = [key for key in keys if scope is None or scope.contains(*key)]
        found = list(all_entities(self.tables, name, wanted, limit=limit, scope=scope, start=start))
        assert found == [known[key] for key in keys]

    @invariant()
    def holds_what_the_model_holds_and_is_sound(self) -> None:
        check_tables(self.tables)
        assert [name.lower() for name in self.tables.names()[0]] == sorted(self.model)
        for name, known in self.model.items():
            assert list(all_entities(self.tables, name)) == [known[key] for key in sorted(known, key=in_order)]

    @staticmethod
    def code_of(call: Callable[[], object]) -> str | None:
        error = service_error_of(call)
        return error and error.code


TestTablesMachine = TablesMachine.TestCase
TestTablesMachine.settings = settings(examples(100), stateful_step_count=40)
