"""Types of properties: what is stored, rejected, and read back."""

from __future__ import annotations

import math
from datetime import date, datetime, timedelta, timezone
from typing import Any
from uuid import UUID

import pytest
from azure.data.tables import EdmType, EntityProperty

from support.property_values import RAW, Colour, entity, round_trip
from tablepatterns import Entity, EntitySet, Int64, Ticks
from tablepatterns.entity import measure
from tablepatterns.errors import BadProperty

pytestmark = pytest.mark.both_sdks

# ------------------------------------------------------------------ types

VALUES = {
    "string": "Jörg O'Neill 🛫",
    "empty string": "",
    "true": True,
    "false": False,
    "int32 least": -(2**31),
    "int32 most": 2**31 - 1,
    "int64 least": Int64(-(2**63)),
    "int64 most": Int64(2**63 - 1),
    "int64 small": Int64(7),
    "double": 0.1,
    "integral double": 4.0,
    "tiny double": 5e-324,
    "great double": 1.7976931348623157e308,
    "infinity": math.inf,
    "less than nothing": -math.inf,
    "moment": datetime(2014, 8, 22, 0, 50, 32, 123456, tzinfo=timezone.utc),
    "first moment": datetime(1601, 1, 1, tzinfo=timezone.utc),
    "last moment": datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=timezone.utc),
    "guid": UUID("c9da6455-213d-42c9-9a79-3e9149a57833"),
    "binary": b"\x00\xff",
    "empty binary": b"",
}


@pytest.mark.few_on_azurite
@pytest.mark.guide("G-047", "G-048", "G-049", "G-052", "G-053", "G-054", "G-055")
@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES.keys())
async def test_every_type_round_trips(storage: Any, table_name: str, value: object) -> None:
    found = await round_trip(storage, table_name, value)
    assert found == value
    assert isinstance(found, type(value))


async def test_not_a_number_round_trips(storage: Any, table_name: str) -> None:
    assert math.isnan(await round_trip(storage, table_name, math.nan))


@pytest.mark.guide("G-048")
@pytest.mark.parametrize("offset", [timedelta(microseconds=1), timedelta(days=1)])
def test_an_instant_before_1601_is_rejected(offset: timedelta) -> None:
    early = datetime(1601, 1, 1, tzinfo=timezone.utc) - offset
    for value in (early, Ticks.of(early)):
        with pytest.raises(BadProperty, match="1601"):
            measure(entity(Born=value))


@pytest.mark.parametrize("beyond", [Ticks(Ticks.MAX + 1), datetime.max.replace(tzinfo=timezone(-timedelta(hours=1)))])
async def test_an_instant_beyond_the_year_9999_in_utc_is_rejected(storage: Any, table_name: str, beyond: Any) -> None:
    with pytest.raises(BadProperty, match="9999"):
        await round_trip(storage, table_name, beyond)


@pytest.mark.guide("G-050")
async def test_an_instant_of_another_zone_is_the_same_instant_in_utc(storage: Any, table_name: str) -> None:
    local = datetime(2014, 8, 22, 6, 20, 32, tzinfo=timezone(timedelta(hours=5, minutes=30)))
    found = await round_trip(storage, table_name, local)
    assert found == local
    assert found.utcoffset() == timedelta(0)


@pytest.mark.guide("G-051")
def test_an_instant_without_a_zone_is_rejected() -> None:
    with pytest.raises(BadProperty, match="is ambiguous"):
        measure(entity(At=datetime(2014, 8, 22)))


async def test_ticks_keep_100_nanoseconds_through_a_change(storage: Any, table_name: str) -> None:
    rows = EntitySet(storage, table_name, RAW)
    moment = Ticks.parse("2014-08-22T00:50:32.1234567Z")
    await rows.insert(entity(At=moment, Count=1))
    found = await rows.get(PartitionKey="p", RowKey="r")
    assert found["At"] == moment
    found["Count"] = 2
    await rows.replace(found)
    assert (await rows.get(PartitionKey="p", RowKey="r"))["At"] == moment


@pytest.mark.guide("G-055")
@pytest.mark.parametrize("number", [2**63, -(2**63) - 1])
def test_an_integer_beyond_64_bits_is_rejected(number: int) -> None:
    with pytest.raises(BadProperty, match=r"Salary.*64 bits"):
        measure(entity(Salary=number))


@pytest.mark.guide("G-055")
@pytest.mark.parametrize("number", [2**31, -(2**31) - 1, 5_000_000_000])
async def test_an_integer_beyond_32_bits_is_stored_as_int64(storage: Any, table_name: str, number: int) -> None:
    found = await round_trip(storage, table_name, number)
    assert (found, type(found)) == (number, Int64)


@pytest.mark.guide("G-056")
async def test_an_int64_can_be_added_to_and_stays_one(storage: Any, table_name: str) -> None:
    rows = EntitySet(storage, table_name, RAW)
    await rows.insert(entity(Count=Int64(1)))

    def more(found: Entity) -> None:
        found["Count"] += 1

    await rows.update(more, PartitionKey="p", RowKey="r")
    found = await rows.get(PartitionKey="p", RowKey="r")
    assert (found["Count"], type(found["Count"])) == (2, Int64)


@pytest.mark.few_on_azurite
@pytest.mark.guide("G-058")
@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (EntityProperty(5, EdmType.INT64), Int64(5)),
        (EntityProperty(5, EdmType.DOUBLE), 5.0),
        (EntityProperty("5", EdmType.STRING), "5"),
        (EntityProperty(5, "Edm.Int32"), 5),
    ],
)
async def test_a_type_can_be_stated(storage: Any, table_name: str, given: EntityProperty, kept: object) -> None:
    found = await round_trip(storage, table_name, given)
    assert (found, type(found)) == (kept, type(kept))


@pytest.mark.guide("G-058")
@pytest.mark.parametrize(
    "given",
    [
        EntityProperty("5", EdmType.INT64),
        EntityProperty(True, EdmType.INT32),
        EntityProperty(2**31, EdmType.INT32),
        EntityProperty("2014-08-22", EdmType.DATETIME),
        EntityProperty(1, "Edm.Single"),
    ],
)
def test_a_stated_type_that_is_not_the_values_is_rejected(given: EntityProperty) -> None:
    with pytest.raises(BadProperty, match="Value"):
        measure(entity(Value=given))


@pytest.mark.guide("G-059")
@pytest.mark.parametrize("value", [[1], {"a": 1}, {1}, Colour.RED, date(2014, 8, 22), 1j, object()])
def test_a_type_the_service_does_not_store_is_rejected(value: object) -> None:
    with pytest.raises(BadProperty, match="Value"):
        measure(entity(Value=value))
