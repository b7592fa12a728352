"""Strategies for operations on tables: few names and keys, so that operations interact, and boundary values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from differential.draws import mostly
from differential.tables.operations import (
    Condition,
    CreateTable,
    DeleteTable,
    Get,
    Kind,
    Level,
    ListTables,
    Operation,
    Query,
    RawWrite,
    Single,
    Transaction,
    Write,
)
from filters.strategies import OPERATORS, filters
from tablepatterns import Int64, Ticks
from tablepatterns.filters import And, Comparison, Value
from tablepatterns.limits import (
    DATETIME_MIN,
    INT32_MAX,
    INT32_MIN,
    INT64_MAX,
    INT64_MIN,
    MAX_BINARY_BYTES,
    MAX_KEY_UNITS,
    MAX_STRING_UNITS,
    MAX_TRANSACTION_OPERATIONS,
)

# ------------------------------------------------------------------ tables

PREFIX = "diff"
TABLES = ("diffpeople", "difflogs")
LONGEST = PREFIX.ljust(63, "x")
ALL_TABLES = (*TABLES, "diffmore", LONGEST)

names = st.sampled_from((*ALL_TABLES, "DiffPeople"))
rejected_names = st.sampled_from(("di", LONGEST + "x", "diff_people", "1diff", "tables"))
tables = mostly(st.sampled_from((*TABLES, "DiffPeople")), st.just("diffmore"))
table_filters = st.sampled_from(
    (
        f"TableName ge '{PREFIX}' and TableName lt '{PREFIX}~'",
        f"TableName eq '{TABLES[0]}'",
        f"TableName gt '{TABLES[1]}' and TableName lt '{PREFIX}~'",
        f"not (TableName lt '{PREFIX}' or TableName gt '{PREFIX}~') and TableName ne '{TABLES[0]}'",
        "false",
    )
)
table_operations: SearchStrategy[Operation] = st.one_of(
    st.builds(CreateTable, mostly(names, rejected_names)),
    st.builds(DeleteTable, mostly(names, rejected_names)),
    st.builds(ListTables, table_filters, st.sampled_from((None, 1, 2))),
)

# ------------------------------------------------------------------ keys

PLAIN_KEYS = ("a", "B", "10")
ODD_KEYS = ("", " ", "b", "9", "O'Neill", "''", "50% + 1, a=b; c&d", "%2F", "é", "\uffee", "\U0001f6eb")
LONGEST_KEY = "k" * MAX_KEY_UNITS
REFUSED_KEYS = (LONGEST_KEY + "k", "a/b", "a\\b", "a#b", "a?b", "a\tb", "a\x80b")

odd_keys = mostly(st.sampled_from((*ODD_KEYS, LONGEST_KEY)), st.sampled_from(REFUSED_KEYS))
keys = mostly(st.sampled_from(PLAIN_KEYS), odd_keys)
partitions = mostly(st.sampled_from(PLAIN_KEYS[:2]), odd_keys)
entity_keys = st.tuples(partitions, keys)
# ------------------------------------------------------------------ properties

FIRST = Ticks.of(DATETIME_MIN)
SOME = Ticks.parse("2014-08-22T00:50:32.1234567Z")

BY_TYPE: dict[str, SearchStrategy[Any]] = {
    "Text": st.sampled_from(("", "a", "A", "O'Neill", "é", "\uffee", "\U0001f6eb", "true", "5", "\r\n\t ", "a\x00b"))
    | st.text(st.characters(codec="utf-8"), max_size=8),
    "Flag": st.booleans(),
    "Small": st.sampled_from((INT32_MIN, -1, 0, 1, 5, INT32_MAX)) | st.integers(INT32_MIN, INT32_MAX),
    "Big": (st.sampled_from((INT64_MIN, -5, 0, 5, 2**32, INT64_MAX)) | st.integers(INT64_MIN, INT64_MAX)).map(Int64),
    "Ratio": st.sampled_from((0.0, -0.0, 5.0, 0.1, 1e20, 5e-324, 1.7976931348623157e308)) | st.floats(),
    "Moment": st.sampled_from((FIRST, Ticks(FIRST + 1), SOME, Ticks(SOME + 1), Ticks(Ticks.MAX)))
    | st.integers(FIRST, Ticks.MAX).map(Ticks),
    "Id": st.sampled_from((UUID(int=0), UUID(int=2**128 - 1))) | st.uuids(),
    "Data": st.sampled_from((b"", b"\x00", b"\x03", b"\x03\x01", b"\xff")) | st.binary(max_size=8),
}
values: SearchStrategy[Value] = st.one_of(*BY_TYPE.values())
# Hypothesis writes down what it samples from, so that large values are better made than sampled
edges: SearchStrategy[Value] = st.one_of(
    st.sampled_from((MAX_STRING_UNITS, MAX_STRING_UNITS + 1)).map(lambda size: "s" * size),
    st.just(MAX_STRING_UNITS // 2).map(lambda size: "\U0001f6eb" * size),
    st.sampled_from((MAX_BINARY_BYTES, MAX_BINARY_BYTES + 1)).map(bytes),
    st.sampled_from((Ticks(0), Ticks(FIRST - 1))),
)
typical = st.fixed_dictionaries({}, optional={**BY_TYPE, "Any": values, "Größe": BY_TYPE["Small"]})
extreme = st.fixed_dictionaries({"Any": edges}, optional={"Small": BY_TYPE["Small"]})
properties = mostly(typical, extreme)

# ------------------------------------------------------------------ writes

CREATING: tuple[Kind, ...] = ("insert", "insert", "upsert by merge", "upsert by replace")
CHANGING: tuple[Kind, ...] = ("merge", "replace")
CONDITIONS: tuple[Condition, ...] = ("any", "fresh", "fresh", "stale")
LEVELS: tuple[Level, ...] = ("nometadata", "minimalmetadata", "fullmetadata")

writes = st.one_of(
    st.builds(Write, st.sampled_from(CREATING), entity_keys, properties),
    st.builds(Write, st.sampled_from(CHANGING), entity_keys, properties, st.sampled_from(CONDITIONS)),
    st.builds(Write, st.just("delete"), entity_keys, condition=st.sampled_from(CONDITIONS)),
)
unconditional_deletes = st.builds(Write, st.just("delete"), entity_keys)
preferences = st.sampled_from((None, "return-content", "return-no-content"))

populations = st.lists(
    st.builds(
        Write, st.just("insert"), st.tuples(st.sampled_from(PLAIN_KEYS[:2]), st.sampled_from(PLAIN_KEYS)), typical
    ),
    min_size=3,
    max_size=8,
    unique_by=lambda write: write.key,
)

writes_by_sdk = st.builds(Single, tables, writes)
raw_writes = st.builds(RawWrite, tables, mostly(writes, unconditional_deletes), st.sampled_from(LEVELS), preferences)


def _in_partition(partition: str, writes: Sequence[Write]) -> tuple[Write, ...]:
    return tuple(replace(write, key=(partition, write.key[1])) for write in writes)


def _many(count: int) -> tuple[Write, ...]:
    return tuple(Write("upsert by replace", ("a", f"{number:03}"), {"Small": number}) for number in range(count))


_several = st.lists(writes, min_size=1, max_size=4)
_once_each = st.lists(writes, min_size=1, max_size=6, unique_by=lambda write: write.key[1])
_full = st.sampled_from((MAX_TRANSACTION_OPERATIONS, MAX_TRANSACTION_OPERATIONS + 1)).map(_many)
transactions = st.builds(
    Transaction,
    tables,
    mostly(
        st.builds(_in_partition, partitions, _once_each),
        st.one_of(st.builds(_in_partition, partitions, _several), _several.map(tuple), _full),
    ),
)

# ------------------------------------------------------------------ reads

PROPERTIES = (*BY_TYPE, "Any", "Größe", "Nowhere")
selections = st.lists(
    st.sampled_from(("PartitionKey", "RowKey", "Timestamp", *PROPERTIES)), min_size=1, max_size=4, unique=True
).map(tuple)
# Rows are told apart by their keys
row_selections = selections.map(lambda names: tuple(dict.fromkeys(("PartitionKey", "RowKey", *names))))
levels = st.none() | st.sampled_from(LEVELS)


def _comparisons(name: str, values: SearchStrategy[Any]) -> SearchStrategy[Comparison]:
    finite = values.filter(lambda value: not isinstance(value, float) or math.isfinite(value))
    return st.builds(Comparison, st.just(name), st.sampled_from(OPERATORS), finite)


_of_keys = _comparisons("PartitionKey", partitions) | _comparisons("RowKey", keys)
_of_own_type = st.one_of(*(_comparisons(name, values) for name, values in BY_TYPE.items()))
_of_any_type = st.sampled_from(PROPERTIES).flatmap(lambda name: _comparisons(name, values))
# The clocks of two accounts differ, but not by years
_of_age = _comparisons("Timestamp", st.sampled_from((SOME, Ticks(Ticks.MAX))))
_simple = mostly(_of_keys | _of_own_type, _of_any_type | _of_age)
_in_a_partition = st.builds(And, st.builds(Comparison, st.just("PartitionKey"), st.just("eq"), partitions), _simple)
wanted = st.one_of(st.none(), _simple, _in_a_partition, filters(_simple))
page_sizes = st.one_of(st.none(), st.integers(1, 4), st.just(1000))

point_queries = st.builds(Get, tables, entity_keys, st.none() | selections, levels)
queries = st.builds(Query, tables, wanted, st.none() | row_selections, page_sizes)
raw_pages = st.builds(
    Query, tables, wanted, st.none() | row_selections, page_sizes | st.just(0), st.sampled_from(LEVELS)
)
