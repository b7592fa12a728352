"""Entities as columns: every value exactly, or an error that names the property."""

from __future__ import annotations

from datetime import date, datetime, timezone
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.any_entities import values
from tablepatterns import Entity, EntitySet, Int64, Key, Ticks, connect
from tablepatterns.edm import KINDS
from tablepatterns.errors import BadInput, BadProperty
from tablepatterns_transfer import to_arrow, to_pandas

pytestmark = pytest.mark.parquet
LAST_ARROW = datetime(2262, 1, 1, tzinfo=timezone.utc)


@given(values(), st.integers(0, 2))
def test_a_column_has_the_exact_value_beside_nulls(value: Any, nulls: int) -> None:
    rows = [*[Entity({"Other": 1})] * nulls, Entity({"Value": value})]
    if isinstance(value, Ticks):
        try:
            column = to_arrow(rows)["Value"]
        except BadProperty:
            year = value.datetime().year
            assert not 1678 <= year <= 2261
            return
        stored = column.cast("int64").to_pylist()[-1]
        assert stored == (value - Ticks.of(datetime(1970, 1, 1, tzinfo=timezone.utc))) * 100
        return
    column = to_arrow(rows)["Value"]
    read = column.to_pylist()
    assert read[:-1] == [None] * nulls
    expected = str(value) if isinstance(value, UUID) else value
    assert read[-1] == expected or (value != value and read[-1] != read[-1])
    frame = to_pandas(rows)
    assert int(frame["Value"].isna().sum()) == nulls + (value != value and 0)
    if isinstance(value, int) and not isinstance(value, bool):
        assert int(frame["Value"].iloc[-1]) == value


def test_types_of_one_kind_share_a_column() -> None:
    day = datetime(2026, 1, 1, tzinfo=timezone.utc)
    table = to_arrow(
        [
            Entity({"Number": 1, "At": day, "Day": date(2026, 1, 1), "Wide": 2**40}),
            Entity({"Number": Int64(2**40), "At": Ticks(Ticks.of(day) + 1), "Day": date(2026, 1, 2), "Wide": 1}),
        ]
    )
    types = {name: str(table.schema.field(name).type) for name in table.column_names}
    assert types == {"Number": "int64", "At": "timestamp[ns, tz=UTC]", "Day": "date32[day]", "Wide": "int64"}
    assert table["At"].cast("int64").to_pylist()[1] - table["At"].cast("int64").to_pylist()[0] == 100


@pytest.mark.parametrize(
    ("first", "second", "types"),
    [(1, "1", "int and str"), (1, 1.0, "float and int"), (True, 1, "bool and int"), (b"", "", "bytes and str")],
)
def test_values_of_different_types_are_not_converted(first: Any, second: Any, types: str) -> None:
    with pytest.raises(BadProperty, match=f"Value = '{types}': a column has one type"):
        to_arrow([Entity({"Value": first}), Entity({"Value": second})])


def test_an_instant_that_no_column_holds_exactly_is_rejected() -> None:
    with pytest.raises(BadProperty, match="only of the years 1677 to 2262"):
        to_arrow([Entity({"At": Ticks(1)})])


def test_reads_of_a_set_become_columns_and_instances_are_rejected() -> None:
    staff = EntitySet(connect(), "Staff", Key("{Department}", "{EmployeeId:06d}"))
    for number in range(3):
        staff.insert({"Department": "Sales", "EmployeeId": number, "Age": 30 + number})
    for rows in (staff.range(Department="Sales"), staff.scan(), staff.take(3, Department="Sales")):
        assert to_arrow(rows)["Age"].to_pylist() == [30, 31, 32]
    assert to_arrow([]).num_rows == 0
    with pytest.raises(BadInput, match="without_model"):
        to_arrow([object()])  # type: ignore[list-item]


def test_every_type_of_a_property_has_a_column() -> None:
    from tablepatterns_transfer.arrow import arrow_types

    assert KINDS.keys() - arrow_types().keys() == {Ticks}
