"""Entities: what the service would refuse is refused before sending, and what it keeps comes back equal."""

from __future__ import annotations

import math
from datetime import date, datetime, timedelta, timezone
from enum import Enum
from typing import Any
from uuid import UUID

import pytest
from azure.data.tables import EdmType, EntityProperty
from hypothesis import given
from hypothesis import strategies as st

from tablepatterns import Entity, EntitySet, Int64, Key, Ticks, as_json, from_json, limits
from tablepatterns.edm import entity_size
from tablepatterns.entity import check_key, sendable
from tablepatterns.errors import BadKey, BadProperty, LimitExceeded

RAW = Key("{PartitionKey}", "{RowKey}")


class Colour(Enum):
    RED = "red"


def entity(**properties: Any) -> dict[str, Any]:
    return {"PartitionKey": "p", "RowKey": "r", **properties}


async def round_trip(storage: Any, table: str, value: Any) -> Any:
    """Return a value as it comes back, in a property of its own."""
    rows = EntitySet(storage, table, RAW)
    await rows.insert(entity(Value=value))
    return (await rows.get(PartitionKey="p", RowKey="r")).get("Value")


# ------------------------------------------------------------------ names of properties


@pytest.mark.guide("G-016")
def test_a_name_of_255_characters_passes_and_of_256_does_not() -> None:
    sendable(entity(**{"n" * 255: 1}))
    with pytest.raises(LimitExceeded, match="at most 255"):
        sendable(entity(**{"n" * 256: 1}))


@pytest.mark.guide("G-018", "G-019", "G-020", "G-021", "G-022")
@pytest.mark.parametrize(
    "name",
    ["1st", "First name", "first-name", "tab\tbed", "nul\x00", "c1\x81", "pri\ue000vate", "ª", "a:b", "a.b", "", "é!"],
)
def test_a_name_that_no_identifier_and_xml_name_could_be_is_refused(name: str) -> None:
    with pytest.raises(BadProperty, match="identifier"):
        sendable(entity(**{name: 1}))


@pytest.mark.parametrize("name", ["Email", "_x", "Größe", "名前", "x1", "n" * 255])
async def test_identifiers_of_any_script_are_stored(storage: Any, table_name: str, name: str) -> None:
    rows = EntitySet(storage, table_name, RAW)
    await rows.insert(entity(**{name: 1}))
    assert (await rows.get(PartitionKey="p", RowKey="r"))[name] == 1


@pytest.mark.guide("G-017")
async def test_names_differ_by_case(storage: Any, table_name: str) -> None:
    rows = EntitySet(storage, table_name, RAW)
    await rows.insert(entity(Email="upper", email="lower"))
    found = await rows.get(PartitionKey="p", RowKey="r")
    assert (found["Email"], found["email"]) == ("upper", "lower")


@pytest.mark.guide("G-023")
@pytest.mark.parametrize("name", ["PartitionKey", "RowKey"])
async def test_a_property_cannot_be_named_like_a_key(storage: Any, name: str) -> None:
    employees = EntitySet(storage, "Employees", Key("{Department}", "{EmployeeId:06d}"))
    with pytest.raises(BadKey, match="give those fields"):
        await employees.insert({"Department": "Sales", "EmployeeId": 1, name: "x"})


# ------------------------------------------------------------------ how many, how large


@pytest.mark.guide("G-024", "G-028")
def test_252_properties_pass_and_253_do_not() -> None:
    many = {f"P{n}": n for n in range(252)}
    sendable(entity(**many))
    with pytest.raises(LimitExceeded, match=r"253.*252.*wide entities"):
        sendable(entity(**many, Last=1))


@pytest.mark.guide("G-024")
async def test_an_entity_of_252_properties_is_written_changed_and_read(storage: Any, table_name: str) -> None:
    full = EntitySet(storage, table_name, RAW)
    written = await full.insert(entity(**{f"P{n}": n for n in range(252)}))
    await full.merge(written, {"P0": -1})
    written["P1"] = -2
    await full.replace(written)
    found = await full.get(PartitionKey="p", RowKey="r")
    assert (len(found) - 2, found["P0"], found["P1"]) == (252, -1, -2)


@pytest.mark.guide("G-025")
async def test_an_entity_of_one_mebibyte_is_written(storage: Any, table_name: str) -> None:
    texts = {f"P{n}": "x" * 32_000 for n in range(16)}
    room = limits.MAX_ENTITY_BYTES - entity_size("p", "r", texts)
    texts["Last"] = "x" * ((room - 8 - 2 * len("Last") - 4) // 2)
    largest = entity(**texts)
    assert limits.MAX_ENTITY_BYTES - entity_size("p", "r", texts) < 2
    await EntitySet(storage, table_name, RAW).insert(largest)


@pytest.mark.guide("G-027")
def test_none_counts_towards_nothing() -> None:
    many = {f"P{n}": n for n in range(252)}
    assert len(sendable(entity(**many, **{f"N{n}": None for n in range(300)}))) == 254


@pytest.mark.guide("G-025", "G-026", "G-028")
def test_an_entity_of_1_mib_passes_and_one_unit_more_does_not() -> None:
    parts = {f"P{n:02d}": "x" * 32_000 for n in range(16)}
    left = limits.MAX_ENTITY_BYTES - entity_size("p", "r", {**parts, "Rest": ""})
    sendable(entity(**parts, Rest="x" * (left // 2)))
    with pytest.raises(LimitExceeded, match=r"1 MiB.*large entities"):
        sendable(entity(**parts, Rest="x" * (left // 2 + 1)))


@pytest.mark.guide("G-057", "G-028")
@pytest.mark.parametrize(("text", "fits"), [("x" * 32_768, True), ("x" * 32_769, False), ("🛫" * 16_385, False)])
def test_a_string_has_64_kib_in_utf_16(text: str, fits: bool) -> None:
    if fits:
        sendable(entity(Comment=text))
        sendable(entity(Comment="🛫" * 16_384))
    else:
        with pytest.raises(LimitExceeded, match=r"Comment.*64 KiB.*large entities"):
            sendable(entity(Comment=text))


@pytest.mark.guide("G-046", "G-028")
async def test_a_binary_of_64_kib_round_trips_and_one_byte_more_is_refused(storage: Any, table_name: str) -> None:
    photo = bytes(range(256)) * 256
    assert await round_trip(storage, table_name, photo) == photo
    with pytest.raises(LimitExceeded, match="Photo"):
        sendable(entity(Photo=photo + b"x"))


# ------------------------------------------------------------------ keys


@pytest.mark.guide("G-031", "G-032", "G-033", "G-034", "G-035", "G-036")
@pytest.mark.parametrize("char", ["/", "\\", "#", "?", "\t", "\n", "\r", "\0", "\x1f", "\x7f", "\x80", "\x9f"])
@pytest.mark.parametrize("name", ["PartitionKey", "RowKey"])
def test_a_forbidden_character_in_a_key_is_refused(name: str, char: str) -> None:
    with pytest.raises(BadKey, match="forbidden"):
        sendable(entity(**{name: f"a{char}b"}))


@pytest.mark.guide("G-029", "G-030")
@pytest.mark.parametrize("value", [None, 7, True, b"p", datetime(2014, 8, 22, tzinfo=timezone.utc)])
@pytest.mark.parametrize("name", ["PartitionKey", "RowKey"])
def test_a_key_that_is_no_string_is_refused(name: str, value: object) -> None:
    with pytest.raises(BadKey, match="a key is a string"):
        sendable(entity(**{name: value}))


@pytest.mark.guide("G-039")
def test_a_key_of_512_units_passes_and_one_more_does_not() -> None:
    check_key("RowKey", "k" * 512)
    check_key("RowKey", "🛫" * 256)
    for long in ("k" * 513, "🛫" * 256 + "k", "k" * 1025):
        with pytest.raises(BadKey, match="512 UTF-16 code units"):
            check_key("RowKey", long)


@pytest.mark.guide("G-037")
async def test_ordinary_keys_are_kept_unchanged(storage: Any, table_name: str) -> None:
    rows = EntitySet(storage, table_name, RAW)
    for key in ("email_jonesj@contoso.com", "", " ", "it's", "100%", "a&b=c+d", "Ünïcödé 🛫", "(x)", "$"):
        await rows.insert({"PartitionKey": "Sales", "RowKey": key, "Value": key})
        assert (await rows.get(PartitionKey="Sales", RowKey=key))["Value"] == key


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


@pytest.mark.guide("G-047", "G-048", "G-049", "G-052", "G-053", "G-054", "G-055")
@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES.keys())
async def test_every_type_round_trips(storage: Any, table_name: str, value: object) -> None:
    found = await round_trip(storage, table_name, value)
    assert found == value
    assert isinstance(found, type(value))


async def test_not_a_number_round_trips(storage: Any, table_name: str) -> None:
    assert math.isnan(await round_trip(storage, table_name, math.nan))


@pytest.mark.guide("G-047")
async def test_a_boolean_is_no_integer(storage: Any, table_name: str) -> None:
    rows = EntitySet(storage, table_name, RAW)
    await rows.insert(entity(Flag=True, One=1))
    found = await rows.get(PartitionKey="p", RowKey="r")
    assert (type(found["Flag"]), type(found["One"])) == (bool, int)


@pytest.mark.guide("G-048")
@pytest.mark.parametrize("offset", [timedelta(microseconds=1), timedelta(days=1)])
def test_an_instant_before_1601_is_refused(offset: timedelta) -> None:
    early = datetime(1601, 1, 1, tzinfo=timezone.utc) - offset
    for value in (early, Ticks.of(early)):
        with pytest.raises(BadProperty, match="1601"):
            sendable(entity(Born=value))


@pytest.mark.guide("G-050")
async def test_an_instant_of_another_zone_is_the_same_instant_in_utc(storage: Any, table_name: str) -> None:
    local = datetime(2014, 8, 22, 6, 20, 32, tzinfo=timezone(timedelta(hours=5, minutes=30)))
    found = await round_trip(storage, table_name, local)
    assert found == local
    assert found.utcoffset() == timedelta(0)


@pytest.mark.guide("G-051")
def test_an_instant_without_a_zone_is_refused() -> None:
    with pytest.raises(BadProperty, match="names no instant"):
        sendable(entity(At=datetime(2014, 8, 22)))


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
def test_an_integer_beyond_64_bits_is_refused(number: int) -> None:
    with pytest.raises(BadProperty, match=r"Salary.*64 bits"):
        sendable(entity(Salary=number))


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
def test_a_stated_type_that_is_not_the_values_is_refused(given: EntityProperty) -> None:
    with pytest.raises(BadProperty, match="Value"):
        sendable(entity(Value=given))


@pytest.mark.guide("G-059")
@pytest.mark.parametrize("value", [[1], {"a": 1}, {1}, Colour.RED, date(2014, 8, 22), 1j, object()])
def test_a_type_the_service_does_not_store_is_refused(value: object) -> None:
    with pytest.raises(BadProperty, match="Value"):
        sendable(entity(Value=value))


# ------------------------------------------------------------------ None, JSON, schema


@pytest.mark.guide("G-060", "G-061", "G-062")
async def test_none_is_absent_on_every_write(storage: Any, table_name: str) -> None:
    rows = EntitySet(storage, table_name, RAW)
    written = await rows.insert(entity(Age=34, Manager=None))
    assert "Manager" not in written
    await rows.merge(written, {"Age": None, "LastName": "Jones"})
    found = await rows.get(PartitionKey="p", RowKey="r")
    assert (found["Age"], found["LastName"]) == (34, "Jones")
    found["Age"] = None
    await rows.replace(found)
    assert await rows.get(PartitionKey="p", RowKey="r") == entity(LastName="Jones")


@pytest.mark.guide("G-010", "G-011")
async def test_entities_of_one_table_may_differ_in_everything(storage: Any, table_name: str) -> None:
    rows = EntitySet(storage, table_name, RAW)
    various = [entity(RowKey="1", Age=34), entity(RowKey="2", Age="old", Name="x"), entity(RowKey="3", Photo=b"1")]
    for each in various:
        await rows.insert(each)
    assert [each async for each in rows.range(PartitionKey="p")] == various


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.guide("G-014")
@given(JSON)
def test_a_complex_value_comes_back_from_its_text(value: Any) -> None:
    assert from_json(as_json(value)) == value


@pytest.mark.guide("G-014")
async def test_a_complex_value_is_kept_in_one_property(storage: Any, table_name: str) -> None:
    address = {"street": "1 Main", "floors": [1, 2]}
    assert from_json(await round_trip(storage, table_name, as_json(address))) == address


@pytest.mark.parametrize("value", [math.nan, {1, 2}, object(), {b"k": 1}])
def test_what_has_no_json_form_is_refused(value: object) -> None:
    with pytest.raises(BadProperty, match="no JSON form"):
        as_json(value)


# ------------------------------------------------------------------ ETag and Timestamp


@pytest.mark.guide("G-043", "G-044", "G-045")
async def test_etag_and_timestamp_are_there_after_reads_and_writes_and_always_new(
    storage: Any, table_name: str
) -> None:
    rows = EntitySet(storage, table_name, RAW)
    written = await rows.insert(entity(Age=34))
    seen = [(written.etag, written.timestamp)]
    for age in (35, 35, 36):
        await rows.merge(written, {"Age": age})
        found = await rows.get(PartitionKey="p", RowKey="r")
        assert (found.etag, found.timestamp) == (written.etag, written.timestamp)
        seen.append((written.etag, written.timestamp))
    assert len(set(seen)) == len(seen)
    assert all(moment.utcoffset() == timedelta(0) for _, moment in seen)


@pytest.mark.guide("G-042")
async def test_a_timestamp_of_the_callers_has_no_effect(storage: Any, table_name: str) -> None:
    rows = EntitySet(storage, table_name, RAW)
    await rows.insert(entity(Timestamp=datetime(2000, 1, 1, tzinfo=timezone.utc)))
    assert (await rows.get(PartitionKey="p", RowKey="r")).timestamp.year > 2000


async def test_the_name_of_the_write_id_is_taken(storage: Any, table_name: str) -> None:
    with pytest.raises(BadProperty, match="WriteId"):
        await EntitySet(storage, table_name, RAW).insert(entity(WriteId="mine"))
