"""A query of many rows is a snapshot, and other requests are processed while it runs."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tablepatterns.filters import prop
from tablepatterns_engine.clock import Clock
from tablepatterns_engine.tables.entities import Operation
from tablepatterns_engine.tables.service import Scan, Tables, Walk

ROWS = 5000
WHERE = prop("Odd") == True  # noqa: E712


@pytest.fixture
def tables() -> Tables:
    made = Tables(Clock())
    made.fill("Big", ((f"p{n % 3}", f"r{n:05d}", {"Odd": n % 2 == 1 and n > 4800}) for n in range(ROWS)))
    return made


def found(tables: Tables) -> list[Any]:
    return [(each.partition_key, each.row_key, each.properties) for each in tables.query("Big", WHERE).entities]


def test_writes_between_the_parts_of_a_query_are_not_in_its_page(
    tables: Tables, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, part, parts = found(tables), Walk.part, []

    def part_after_writes(walk: Walk, count: int) -> Any:
        number = len(parts)
        parts.append(number)
        tables.apply("Big", Operation("insert", "p2", f"r{number:05d}_new", {"Odd": True}))
        tables.apply("Big", Operation("delete", "p2", f"r{4811 + 6 * number:05d}", etag="*"))
        tables.apply("Big", Operation("insert_or_replace", "p1", f"r{4801 + 6 * number:05d}", {"Odd": False}))
        return part(walk, count)

    monkeypatch.setattr(Walk, "part", part_after_writes)
    assert found(tables) == before
    assert len(parts) > 3
    monkeypatch.undo()
    assert found(tables) != before
    assert len(found(tables)) == len(before) - len(parts)


def test_other_requests_do_not_wait_for_the_end_of_a_query(tables: Tables, monkeypatch: pytest.MonkeyPatch) -> None:
    read, times = Scan.read, []
    with ThreadPoolExecutor(1) as other:

        def read_beside_others(scan: Scan, rows: Any) -> Any:
            if times:
                other.submit(tables.get, "Big", "p0", "r00000").result(10)
                other.submit(tables.apply, "Big", Operation("insert", "p0", f"n{len(times)}", {})).result(10)
            times.append(1)
            return read(scan, rows)

        monkeypatch.setattr(Scan, "read", read_beside_others)
        assert len(found(tables)) == 100
    assert len(times) == 5


def test_a_query_that_fails_leaves_nothing_behind(tables: Tables, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(walk: Walk, count: int) -> Any:
        raise LookupError

    monkeypatch.setattr(Walk, "part", fail)
    with pytest.raises(LookupError):
        tables.query("Big", WHERE)
    assert tables.table("Big").walks == []
