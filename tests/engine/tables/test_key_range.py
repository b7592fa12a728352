"""The key range of a shared access signature."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.table_states import all_keys, insert
from tablepatterns.filters import parse
from tablepatterns_engine.clock import Clock
from tablepatterns_engine.key_range import KeyScope
from tablepatterns_engine.tables.service import Tables

KEYS = ["", "a", "b", "ba", "c", "\U0001f6eb", "\uffee"]
GRID = [(partition, row) for partition in KEYS for row in KEYS]


def documented(scope: KeyScope, partition_key: str, row_key: str) -> bool:
    """The rule as the documents give it, in UTF-16 order."""

    def order(key: str | None) -> bytes:
        return (key or "").encode("utf-16-be")

    pk, rk = order(partition_key), order(row_key)
    behind_start = scope.spk is None or (
        pk >= order(scope.spk)
        if scope.srk is None
        else pk > order(scope.spk) or (pk == order(scope.spk) and rk >= order(scope.srk))
    )
    before_end = scope.epk is None or (
        pk <= order(scope.epk)
        if scope.erk is None
        else pk < order(scope.epk) or (pk == order(scope.epk) and rk <= order(scope.erk))
    )
    return behind_start and before_end


bounds = st.none() | st.sampled_from(KEYS)


@given(st.builds(KeyScope, bounds, bounds, bounds, bounds))
def test_a_scope_contains_what_the_documents_say(scope: KeyScope) -> None:
    scope = KeyScope(
        scope.spk, None if scope.spk is None else scope.srk, scope.epk, None if scope.epk is None else scope.erk
    )
    assert [key for key in GRID if scope.contains(*key)] == [key for key in GRID if documented(scope, *key)]


@pytest.mark.parametrize(
    ("scope", "inside", "outside"),
    [
        (KeyScope(), ("", ""), None),
        (KeyScope(spk="b"), ("b", ""), ("a", "z")),
        (KeyScope(epk="b"), ("b", "z"), ("ba", "")),
        (KeyScope(spk="b", srk="5"), ("c", "1"), ("b", "4")),
        (KeyScope(epk="b", erk="5"), ("b", "5"), ("b", "50")),
        (KeyScope(spk="b", srk="5", epk="b", erk="6"), ("b", "55"), ("b", "61")),
        (KeyScope(spk="a", srk="5", epk="c", erk="5"), ("b", "9"), ("c", "6")),
    ],
)
def test_row_keys_bound_only_the_first_and_the_last_partition(
    scope: KeyScope, inside: tuple[str, str], outside: tuple[str, str] | None
) -> None:
    assert scope.contains(*inside)
    assert outside is None or not scope.contains(*outside)


@pytest.fixture(scope="module")
def grid() -> Tables:
    """A table with every pair of keys; no test changes it."""
    tables = Tables(Clock())
    tables.create("People")
    for key in GRID:
        tables.apply("People", insert(*key))
    return tables


@given(scope=st.builds(KeyScope, bounds, bounds, bounds, bounds))
def test_a_query_returns_what_is_in_scope_and_reads_nothing_else(grid: Tables, scope: KeyScope) -> None:
    inside = [key for key in all_keys(grid, "People") if scope.contains(*key)]
    page = grid.query("People", scope=scope)
    assert [(entity.partition_key, entity.row_key) for entity in page.entities] == inside
    assert page.examined == len(inside)


def test_scope_filter_and_continuation_all_narrow_a_query(grid: Tables) -> None:
    scope = KeyScope(spk="b", srk="b")
    wanted = parse("PartitionKey le 'ba'")
    keys = all_keys(grid, "People", wanted, scope=scope, limit=2)
    assert keys == [("b", row) for row in ["b", "ba", "c", "\U0001f6eb", "\uffee"]] + [
        ("ba", row) for row in ["", "a", "b", "ba", "c", "\U0001f6eb", "\uffee"]
    ]
    # A continuation that points before the scope, as a client might invent, opens nothing.
    assert all_keys(grid, "People", wanted, scope=scope, start=("", "")) == keys
