"""Property types: valid values, their format in JSON, and round trips."""

from __future__ import annotations

import math
from datetime import datetime, timedelta, timezone
from typing import Any
from uuid import UUID

import pytest
from azure.data.tables import EdmType, EntityProperty, UpdateMode

from conformance.deviations import BOOLEANS, DATETIMES, NULLS, TYPES
from conformance.entities import KEYS, int64
from conformance.raw import Raw, entity_path
from conformance.service_errors import ServiceError
from conformance.table_errors import INVALID_INPUT, value_out_of_range

GUID = UUID("c9da6455-213d-42c9-9a79-3e9149a57833")
MOMENT = datetime(2014, 8, 22, 0, 50, 32, tzinfo=timezone.utc)


async def written(raw: Raw, table: Any) -> dict[str, Any]:
    """Return the entity as it travels, without what every entity has."""
    members = (await raw("GET", entity_path(table.table_name, "Sales", "000223"))).json
    everywhere = {"odata.metadata", "odata.etag", "PartitionKey", "RowKey", "Timestamp"}
    return {name: value for name, value in members.items() if name not in everywhere}


async def insert(raw: Raw, table: Any, members: str) -> None:
    """Insert an entity with these members, which are JSON."""
    await raw("POST", f"/{table.table_name}", body='{"PartitionKey":"Sales","RowKey":"000223",' + members + "}")


# ------------------------------------------------------------------ values come back


@pytest.mark.few_on_azurite
@pytest.mark.guide("G-047", "G-049", "G-052", "G-053", "G-054", "G-055")
@pytest.mark.parametrize(
    "value",
    [
        pytest.param("", id="String, empty"),
        pytest.param('Jo "O\'Neill" \\ Jones', id="String with quotes"),
        pytest.param(" \t\r\n ", id="String of white space"),
        pytest.param("a\x00b\x1f\x7f\u2028\ufeff", id="String with control characters"),
        pytest.param("naïve Ωmega 日本 🛫", id="String beyond ASCII"),
        pytest.param("2014-08-22T00:50:32Z", id="String like a DateTime"),
        pytest.param(True, id="Boolean, true"),
        pytest.param(False, id="Boolean, false"),
        pytest.param(0, id="Int32, zero"),
        pytest.param(-(2**31), id="Int32, least"),
        pytest.param(2**31 - 1, id="Int32, greatest"),
        pytest.param(int64(0), id="Int64, zero"),
        pytest.param(int64(-(2**63)), id="Int64, least"),
        pytest.param(int64(2**63 - 1), id="Int64, greatest"),
        pytest.param(0.1, id="Double"),
        pytest.param(-1.7976931348623157e308, id="Double, least"),
        pytest.param(5e-324, id="Double, smallest"),
        pytest.param(math.inf, id="Double, infinity"),
        pytest.param(-math.inf, id="Double, minus infinity"),
        pytest.param(datetime(1601, 1, 1, tzinfo=timezone.utc), id="DateTime, first"),
        pytest.param(MOMENT, id="DateTime"),
        pytest.param(MOMENT + timedelta(microseconds=1), id="DateTime, microsecond"),
        pytest.param(datetime(9999, 12, 31, 23, 59, 59, 999999, timezone.utc), id="DateTime, last"),
        pytest.param(GUID, id="Guid"),
        pytest.param(UUID(int=0), id="Guid, empty"),
        pytest.param(b"", id="Binary, empty"),
        pytest.param(bytes(range(256)), id="Binary"),
    ],
)
async def test_a_value_comes_back_as_what_it_was(table: Any, value: Any) -> None:
    await table.create_entity({**KEYS, "Value": value})
    found = (await table.get_entity("Sales", "000223"))["Value"]
    assert found == value
    assert isinstance(found, type(value))
    assert isinstance(found, bool) == isinstance(value, bool)


async def test_not_a_number_comes_back(table: Any) -> None:
    await table.create_entity({**KEYS, "Value": math.nan})
    assert math.isnan((await table.get_entity("Sales", "000223"))["Value"])


@pytest.mark.guide("G-052")
async def test_a_double_without_a_fraction_stays_a_double(table: Any) -> None:
    await table.create_entity({**KEYS, "Value": 4.0})
    assert isinstance((await table.get_entity("Sales", "000223"))["Value"], float)


@pytest.mark.guide("G-050")
async def test_a_datetime_of_another_offset_is_the_same_instant(table: Any) -> None:
    vienna = datetime(2014, 8, 22, 2, 50, 32, tzinfo=timezone(timedelta(hours=2)))
    await table.create_entity({**KEYS, "Value": vienna})
    found = (await table.get_entity("Sales", "000223"))["Value"]
    assert (found, found.utcoffset()) == (MOMENT, timedelta(0))


async def test_a_datetime_keeps_100_nanoseconds(table: Any) -> None:
    moment = "2014-08-22T00:50:32.1234567Z"
    await table.create_entity({**KEYS, "Value": EntityProperty(moment, EdmType.DATETIME)})
    found = await table.get_entity("Sales", "000223")
    assert found["Value"].tables_service_value == moment
    await table.update_entity(found, mode=UpdateMode.REPLACE)
    assert (await table.get_entity("Sales", "000223"))["Value"].tables_service_value == moment


@pytest.mark.few_on_azurite
@pytest.mark.guide("G-058")
@pytest.mark.parametrize(
    ("text", "note", "value"),
    [
        ("2014-08-22T00:50:32Z", EdmType.DATETIME, MOMENT),
        (str(GUID), EdmType.GUID, GUID),
        ("5", EdmType.INT32, 5),
        (5, EdmType.INT64, int64(5)),
        ("0.5", EdmType.DOUBLE, 0.5),
        ("cGhvdG8=", EdmType.STRING, "cGhvdG8="),
        (b"photo", EdmType.BINARY, b"photo"),
        (True, EdmType.BOOLEAN, True),
    ],
    ids=str,
)
async def test_a_property_can_be_given_its_type(table: Any, text: Any, note: EdmType, value: Any) -> None:
    await table.create_entity({**KEYS, "Typed": EntityProperty(text, note), "Plain": str(text)})
    found = await table.get_entity("Sales", "000223")
    assert (found["Typed"], found["Plain"]) == (value, str(text))


@pytest.mark.guide("G-010", "G-011")
async def test_entities_of_one_table_may_have_other_properties_and_other_types(table: Any) -> None:
    entities = [
        {"PartitionKey": "Sales", "RowKey": "1", "Age": 34},
        {"PartitionKey": "Sales", "RowKey": "2", "Age": "thirty-four", "Email": "jonesj@contoso.com"},
        {"PartitionKey": "Sales", "RowKey": "3"},
    ]
    for entity in entities:
        await table.create_entity(entity)
    assert [dict(found) async for found in table.list_entities()] == entities


async def test_a_property_may_change_its_type(table: Any) -> None:
    await table.create_entity({**KEYS, "Value": 5})
    await table.update_entity({**KEYS, "Value": "five"})
    assert (await table.get_entity("Sales", "000223"))["Value"] == "five"


# ------------------------------------------------------------------ how values travel


@pytest.mark.few_on_azurite
@pytest.mark.parametrize(
    ("value", "members"),
    [
        pytest.param("Jones", {"Value": "Jones"}, id="String"),
        pytest.param(True, {"Value": True}, id="Boolean"),
        pytest.param(34, {"Value": 34}, id="Int32"),
        pytest.param(int64(34), {"Value@odata.type": "Edm.Int64", "Value": "34"}, id="Int64"),
        pytest.param(0.5, {"Value": 0.5}, id="Double"),
        pytest.param(math.nan, {"Value@odata.type": "Edm.Double", "Value": "NaN"}, id="not a number"),
        pytest.param(-math.inf, {"Value@odata.type": "Edm.Double", "Value": "-Infinity"}, id="minus infinity"),
        pytest.param(GUID, {"Value@odata.type": "Edm.Guid", "Value": str(GUID)}, id="Guid"),
        pytest.param(b"photo", {"Value@odata.type": "Edm.Binary", "Value": "cGhvdG8="}, id="Binary"),
        pytest.param(
            MOMENT + timedelta(microseconds=1),
            {"Value@odata.type": "Edm.DateTime", "Value": "2014-08-22T00:50:32.000001Z"},
            id="DateTime",
        ),
    ],
)
async def test_what_json_has_no_type_for_carries_a_note_before_it(
    raw: Raw, table: Any, value: Any, members: dict[str, Any]
) -> None:
    await table.create_entity({**KEYS, "Value": value})
    found = await written(raw, table)
    assert found == members
    assert list(found) == list(members)


@DATETIMES
@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ("2014-08-22T00:50:32.000000Z", "2014-08-22T00:50:32Z"),
        ("2014-08-22T00:50:32.283000Z", "2014-08-22T00:50:32.283Z"),
        ("2014-08-22T00:50:32.1000000Z", "2014-08-22T00:50:32.1Z"),
    ],
    ids=["no fraction", "milliseconds", "seven digits"],
)
async def test_a_datetime_is_written_in_utc_without_trailing_zeros(raw: Raw, table: Any, sent: str, kept: str) -> None:
    await insert(raw, table, f'"Value@odata.type":"Edm.DateTime","Value":"{sent}"')
    assert (await written(raw, table))["Value"] == kept


async def test_a_datetime_without_a_zone_is_of_utc(raw: Raw, table: Any) -> None:
    await insert(raw, table, '"Value@odata.type":"Edm.DateTime","Value":"2014-08-22T00:50:32"')
    assert (await written(raw, table))["Value"] == "2014-08-22T00:50:32Z"


@TYPES
async def test_a_guid_is_written_in_lower_case(raw: Raw, table: Any) -> None:
    await insert(raw, table, f'"Value@odata.type":"Edm.Guid","Value":"{str(GUID).upper()}"')
    assert (await written(raw, table))["Value"] == str(GUID)


@pytest.mark.few_on_azurite
@pytest.mark.parametrize(
    ("json", "value"),
    [("34", 34), ("34.5", 34.5), ("-3.45e1", -34.5), ("true", True), ('"34"', "34")],
    ids=["Int32", "Double", "Double with exponent", "Boolean", "String"],
)
async def test_without_an_annotation_the_json_type_decides(raw: Raw, table: Any, json: str, value: Any) -> None:
    await insert(raw, table, f'"Value":{json}')
    found = (await table.get_entity("Sales", "000223"))["Value"]
    assert (found, type(found)) == (value, type(value))


async def test_a_note_may_follow_its_value(raw: Raw, table: Any) -> None:
    await insert(raw, table, '"Value":"34","Value@odata.type":"Edm.Int64"')
    assert (await table.get_entity("Sales", "000223"))["Value"] == int64(34)


@pytest.mark.few_on_azurite
@pytest.mark.parametrize(
    ("note", "json", "value"),
    [
        ("Edm.Int32", '"12345"', 12345),
        ("Edm.Double", '"3.5"', 3.5),
        ("Edm.Double", "3", 3.0),
        ("Edm.Boolean", '"true"', True),
    ],
    ids=["Int32", "Double", "Double without a fraction", "Boolean"],
)
async def test_with_a_note_a_value_may_be_sent_in_another_form(
    raw: Raw, table: Any, note: str, json: str, value: Any
) -> None:
    await insert(raw, table, f'"Value@odata.type":"{note}","Value":{json}')
    found = (await written(raw, table))["Value"]
    assert (found, type(found)) == (value, type(value))


@BOOLEANS
@pytest.mark.parametrize(("text", "value"), [("False", False), ("TRUE", True)])
async def test_a_boolean_may_be_sent_as_a_string_in_any_case(raw: Raw, table: Any, text: str, value: bool) -> None:
    await insert(raw, table, f'"Value@odata.type":"Edm.Boolean","Value":"{text}"')
    assert await written(raw, table) == {"Value": value}


async def test_a_note_on_a_note_is_not_stored(raw: Raw, table: Any) -> None:
    await insert(raw, table, '"Value":"34","Value@odata.type":"Edm.Int64","Value@odata.type@odata.type":"Edm.String"')
    assert await written(raw, table) == {"Value@odata.type": "Edm.Int64", "Value": "34"}


@pytest.mark.guide("G-042")
@pytest.mark.parametrize("member", ['"Timestamp":"2001-01-01T00:00:00Z"', '"Timestamp":null', '"odata.etag":"x"'])
async def test_what_only_the_service_sets_is_ignored(raw: Raw, table: Any, member: str) -> None:
    await insert(raw, table, f'{member},"Age":34')
    found = await table.get_entity("Sales", "000223")
    assert found == {**KEYS, "Age": 34}
    assert found.metadata["timestamp"].year > 2001


# ------------------------------------------------------------------ null


@pytest.mark.guide("G-060", "G-061")
async def test_a_property_that_is_none_is_not_stored(table: Any) -> None:
    await table.create_entity({**KEYS, "Age": 34, "Email": None})
    assert await table.get_entity("Sales", "000223") == {**KEYS, "Age": 34}
    assert [dict(found) async for found in table.list_entities()] == [{**KEYS, "Age": 34}]


@pytest.mark.guide("G-062")
@pytest.mark.parametrize("method", ["update_entity", "upsert_entity"])
async def test_in_a_merge_none_leaves_the_property_and_in_a_replace_it_goes(table: Any, method: str) -> None:
    await table.create_entity({**KEYS, "Age": 34, "Email": "jonesj@contoso.com"})
    write = getattr(table, method)
    await write({**KEYS, "Age": 35, "Email": None}, mode=UpdateMode.MERGE)
    assert await table.get_entity("Sales", "000223") == {**KEYS, "Age": 35, "Email": "jonesj@contoso.com"}
    await write({**KEYS, "Age": 36, "Email": None}, mode=UpdateMode.REPLACE)
    assert await table.get_entity("Sales", "000223") == {**KEYS, "Age": 36}


async def test_null_in_json_is_not_stored(raw: Raw, table: Any) -> None:
    await insert(raw, table, '"Age":34,"Email":null')
    assert await written(raw, table) == {"Age": 34}


@NULLS
async def test_null_with_a_note_is_not_stored(raw: Raw, table: Any) -> None:
    await insert(raw, table, '"Age":34,"Email@odata.type":"Edm.String","Email":null')
    assert await written(raw, table) == {"Age": 34}


# ------------------------------------------------------------------ what is no value


@pytest.mark.few_on_azurite
@pytest.mark.parametrize(
    "json",
    [
        '"Value@odata.type":"Edm.DateTime","Value":""',
        '"Value@odata.type":"Edm.Int64","Value":34',
        '"Value":[1,2]',
        '"Value":{"a":1}',
    ],
    ids=["DateTime, empty", "Int64 as a number", "list", "object"],
)
async def test_what_is_no_value_is_rejected(raw: Raw, rejected: Any, table: Any, json: str) -> None:
    async with rejected(ServiceError(400, "InvalidInput")):
        await insert(raw, table, json)


@TYPES
@pytest.mark.guide("G-055")
@pytest.mark.parametrize(
    ("note", "json"),
    [
        ("Edm.Int64", '"abc"'),
        ("Edm.Int64", '"9223372036854775808"'),
        ("Edm.Int64", '"-9223372036854775809"'),
        ("Edm.Int64", '""'),
        ("Edm.Int32", '"abc"'),
        ("Edm.Int32", "2147483648"),
        ("Edm.Int32", "1.5"),
        ("Edm.Int32", "true"),
        ("Edm.Double", '"abc"'),
        ("Edm.Double", "1e400"),
        ("Edm.Double", '"1e400"'),
        ("Edm.Boolean", '"yes"'),
        ("Edm.Boolean", "1"),
        ("Edm.DateTime", '"yesterday"'),
        ("Edm.DateTime", '"2014-02-30T00:00:00Z"'),
        ("Edm.DateTime", "5"),
        ("Edm.Guid", '"c9da6455"'),
        ("Edm.Guid", '""'),
        ("Edm.Binary", '"not Base64!"'),
        ("Edm.Binary", '"abc"'),
        ("Edm.String", "5"),
        ("Edm.Decimal", '"5"'),
        ("String", '"Jones"'),
    ],
)
async def test_what_a_type_cannot_be_is_rejected(raw: Raw, rejected: Any, table: Any, note: str, json: str) -> None:
    async with rejected(INVALID_INPUT):
        await insert(raw, table, f'"Value@odata.type":"{note}","Value":{json}')


@DATETIMES
@pytest.mark.guide("G-048")
async def test_a_datetime_before_1601_is_rejected(table: Any, rejected: Any) -> None:
    early = datetime(1600, 12, 31, 23, 59, 59, tzinfo=timezone.utc)
    for write in (table.create_entity, table.upsert_entity):
        async with rejected(value_out_of_range("Value", "12/31/1600 23:59:59")):
            await write({**KEYS, "Value": early})


@pytest.mark.few_on_azurite
@pytest.mark.parametrize(
    "body", ["", "{", "[]", '"text"', "5", "null"], ids=["empty", "cut", "list", "string", "number", "null"]
)
async def test_a_body_that_is_no_json_object_is_rejected(raw: Raw, rejected: Any, table: Any, body: str) -> None:
    async with rejected(ServiceError(400)):
        await raw("POST", f"/{table.table_name}", body=body)


async def test_a_rejected_type_in_an_update_leaves_the_entity_as_it_was(raw: Raw, rejected: Any, table: Any) -> None:
    await table.create_entity({**KEYS, "Value": 5})
    for method in ("PUT", "MERGE"):
        async with rejected(ServiceError(400, "InvalidInput")):
            await raw(method, entity_path(table.table_name, "Sales", "000223"), {"If-Match": "*"}, {"Value": [1]})
