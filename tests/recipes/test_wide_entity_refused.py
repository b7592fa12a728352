"""Wide entities that are rejected before any request, with the reason."""

from __future__ import annotations

from typing import Any

import pytest

from support.wide_counts import DAYS, JONES, counts_of, year
from tablepatterns import Key, connect
from tablepatterns.errors import BadDesign, BadInput, BadKey, BadProperty, LimitExceeded
from tablepatterns.recipes.wide_entity.wide_entity import WideEntity
from tablepatterns_engine.account import Engine

# ------------------------------------------------------------------ what is refused


async def test_bad_input_is_rejected_before_any_request(storage: Any, engine: Engine, table_name: str) -> None:
    wide, declared = counts_of(storage, table_name, part_bytes=100), counts_of(storage, table_name, properties=["A"])
    entity = await wide.insert(JONES | {"A": 1})
    another = await wide.get(**JONES)
    another["Employee"] = "000224"
    with engine.ledger.span() as span:
        for refused, write in (
            (LimitExceeded, wide.insert(JONES | {f"P{n}": "x" * 60 for n in range(50)})),
            (BadProperty, wide.insert(JONES | {"WideParts": 1})),
            (BadProperty, wide.insert(JONES | {"A": [1]})),
            (BadProperty, wide.insert(JONES | {"WriteId": "x"})),
            (BadProperty, declared.insert(JONES | {"B": 1})),
            (BadKey, wide.insert({"A": 1})),
            (BadKey, wide.insert(JONES | {"RowKey": "01"})),
            (BadKey, wide.merge(entity, {"Employee": "000224"})),
            (BadKey, wide.replace(another)),
            (BadInput, wide.replace(JONES | {"A": 1})),
            (LimitExceeded, declared.insert(JONES | {"A": "x" * 40_000})),
        ):
            with pytest.raises(refused):
                await write
    assert span.totals.requests == 0


async def test_49_parts_are_accepted_and_50_are_not(storage: Any, table_name: str) -> None:
    wide = counts_of(storage, table_name, part_bytes=100)
    entity = JONES | {f"P{n:02d}": "x" * 40 for n in range(49)}
    await wide.insert(entity)
    assert await wide.get(**JONES) == entity
    with pytest.raises(LimitExceeded, match="at most 49"):
        await wide.insert({"Employee": "000224"} | {f"P{n:02d}": "x" * 40 for n in range(50)})


def test_a_declared_part_that_is_too_large_is_rejected_with_the_way_out() -> None:
    with connect() as storage:
        wide = WideEntity(storage, "Counts", Key("{Employee}", ""), properties=DAYS, part_bytes=2000)
        with pytest.raises(LimitExceeded, match="part 1"):
            wide.insert(year(Day001=1))


@pytest.mark.parametrize(
    ("key", "options", "subject"),
    [
        (Key("{Employee}", "{WidePart}"), {}, "WidePart"),
        (Key("{Employee}", ""), {"properties": ["A", "B", "A"]}, "'A'"),
        (Key("{Employee}", ""), {"properties": ["Employee"]}, "Employee"),
        (Key("{Employee}", ""), {"part_bytes": 2**20}, "part_bytes"),
        (Key("{Employee}", ""), {"transaction_bytes": 0}, "transaction_bytes"),
    ],
)
def test_a_design_that_cannot_work_is_rejected(key: Key, options: dict[str, Any], subject: str) -> None:
    with connect() as storage, pytest.raises(BadDesign, match=subject):
        WideEntity(storage, "Counts", key, **options)
