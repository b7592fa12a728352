"""Pending: combine two writes of one row into one with the same effect."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.employees import rows_of
from tablepatterns import Entity, Int64, Ticks
from tablepatterns.entity_set.shared_rows import Pending, combine_operations
from tablepatterns.sdk.operation import ANY, Operation

KEYS = {"PartitionKey": "p", "RowKey": "r"}
ETAG = "an ETag"
Row = dict[str, Any] | None

properties = st.dictionaries(st.sampled_from(["A", "B", "C"]), st.integers(0, 3))
existing = st.none() | properties


@st.composite
def write_on(draw: Any, row: Row, etag: str) -> Operation:
    """Draw a write that a row allows, conditional on that ETag."""
    if row is None:
        return Operation.insert({**KEYS, **draw(properties)})
    kind = draw(st.sampled_from(["replace", "merge", "delete"]))
    if kind == "delete":
        return Operation.delete("p", "r", etag)
    return getattr(Operation, kind)({**KEYS, **draw(properties)}, etag)


def after(row: Row, operation: Operation) -> Row:
    """Return the row after a write, which it must allow."""
    assert (row is None) == (operation.kind == "insert")
    if operation.kind == "delete":
        return None
    held = {name: value for name, value in operation.entity.items() if name not in KEYS}
    return {**(row or {}), **held} if operation.kind == "merge" else held


@st.composite
def two_writes(draw: Any) -> tuple[Row, Operation, Operation]:
    row = draw(existing)
    first = draw(write_on(row, draw(st.sampled_from([ETAG, ANY]))))
    # Whoever sees the row as the first leaves it sees the ETag that it was read under, or knows none
    second = draw(write_on(after(row, first), draw(st.sampled_from([ETAG, ANY]))))
    return row, first, second


@given(writes=two_writes())
def test_one_write_does_what_two_do_one_after_the_other(writes: Any) -> None:
    row, first, second = writes
    both = combine_operations(first, second)
    wanted = after(after(row, first), second)
    assert (row if both is None else after(row, both)) == wanted


@given(writes=two_writes())
def test_one_write_is_conditional_if_one_of_the_two_is(writes: Any) -> None:
    _, first, second = writes
    both = combine_operations(first, second)
    if both is not None and both.kind != "insert":
        assert both.etag == (ETAG if ETAG in (first.etag, second.etag) else ANY)


@given(writes=two_writes())
async def test_a_row_is_seen_as_the_writes_before_leave_it(writes: Any) -> None:
    row, first, second = writes

    class Stored:
        async def get(self, partition_key: str, row_key: str) -> Entity | None:
            return None if row is None else Entity({**KEYS, **row})

    pending = Pending(Stored())
    await pending.get("p", "r")
    for operation in (first, second):
        pending.take(operation)
    seen = await pending.get("p", "r")
    wanted = after(after(row, first), second)
    assert (seen if seen is None else dict(seen)) == (wanted if wanted is None else {**KEYS, **wanted})


async def test_a_row_is_read_once_and_not_written(storage: Any, table_name: str) -> None:
    table = storage.table(table_name)
    await table.submit(Operation.insert({**KEYS, "A": 1}))
    pending = Pending(table)
    first = await pending.get("p", "r")
    assert first is not None
    first["A"] = 5
    pending.take(Operation.merge({**KEYS, "B": 2}, first.etag or ANY))
    seen = await pending.get("p", "r")
    assert seen is not None
    assert (dict(seen), seen.etag) == ({**KEYS, "A": 1, "B": 2}, first.etag)
    assert await rows_of(storage, table_name) == {("p", "r"): {"A": 1}}


@pytest.mark.parametrize("value", [Int64(5), 2**40, Ticks.parse("2014-08-22T00:50:32.1234567Z"), 5, "text", 1.5, b"b"])
def test_what_the_sdk_is_sent_reads_back_as_it_was_given(value: Any) -> None:
    sent = Operation.insert({**KEYS, "Value": value}).entity
    assert sent["Value"] == value
    assert Operation.insert({**KEYS, **sent}).entity == sent
