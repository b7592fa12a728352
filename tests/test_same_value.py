"""`same_value` recognizes a sent value in what the service returns, and no other value."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any
from uuid import UUID

import pytest
from azure.data.tables import EdmType, EntityProperty

from tablepatterns import Int64, Ticks
from tablepatterns.entity import same_value
from tablepatterns.sdk.operation import Operation

pytestmark = pytest.mark.both_sdks

NOON = datetime(2014, 8, 22, 12, 0, 0, 123456, timezone.utc)
VALUES: list[Any] = [
    1,
    True,
    1.0,
    "1",
    b"1",
    Int64(1),
    2**40,
    -0.5,
    0.0,
    float("nan"),
    float("inf"),
    "naïve 🛫",
    NOON,
    NOON.astimezone(timezone(timedelta(hours=5))) + timedelta(seconds=1),
    Ticks.parse("2014-08-22T12:00:00.1234567Z"),
    UUID("7f2c1d1e-0000-4000-8000-000000000001"),
    EntityProperty(7, EdmType.INT64),
    EntityProperty("text", EdmType.STRING),
]


@pytest.mark.few_on_azurite
@pytest.mark.parametrize("value", VALUES, ids=repr)
async def test_a_value_is_recognised_in_what_is_stored(storage: Any, table_name: str, value: Any) -> None:
    table = storage.table(table_name)
    await table.submit(Operation.insert({"PartitionKey": "p", "RowKey": "r", "Value": value}))
    stored = await table.get("p", "r")
    assert same_value(stored, {"PartitionKey": "p", "RowKey": "r", "Value": value, "Nothing": None})
    assert [other for other in VALUES if same_value(stored, {"PartitionKey": "p", "RowKey": "r", "Value": other})] == [
        value
    ]


@pytest.mark.azurite_deviates("a negative zero", "stores it as zero")
async def test_a_negative_zero_is_not_zero(storage: Any, table_name: str) -> None:
    table = storage.table(table_name)
    await table.submit(Operation.insert({"PartitionKey": "p", "RowKey": "r", "Value": -0.0}))
    stored = await table.get("p", "r")
    assert same_value(stored, {"PartitionKey": "p", "RowKey": "r", "Value": -0.0})
    assert not same_value(stored, {"PartitionKey": "p", "RowKey": "r", "Value": 0.0})


def test_other_names_are_another_entity_unless_they_do_not_count() -> None:
    assert not same_value({"A": 1}, {"B": 1})
    assert not same_value({"A": 1}, {"A": 1, "B": 1})
    assert same_value({"A": 1}, {"A": 1, "B": 1}, apart_from=["B"])
