"""Entities: what the service would reject is rejected before sending, and stored values are read back equal."""

from __future__ import annotations

import math
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.property_values import RAW, entity, round_trip
from tablepatterns import EntitySet, Key, as_json, from_json, limits
from tablepatterns.edm import entity_size
from tablepatterns.entity import check_key, measure
from tablepatterns.errors import BadKey, BadProperty, LimitExceeded

pytestmark = pytest.mark.both_sdks

# ------------------------------------------------------------------ names of properties


@pytest.mark.guide("G-016")
def test_a_name_of_255_characters_passes_and_of_256_does_not() -> None:
    measure(entity(**{"n" * 255: 1}))
    with pytest.raises(LimitExceeded, match="at most 255"):
        measure(entity(**{"n" * 256: 1}))


@pytest.mark.guide("G-018", "G-019", "G-020", "G-021", "G-022")
@pytest.mark.parametrize(
    "name",
    ["1st", "First name", "first-name", "tab\tbed", "nul\x00", "c1\x81", "pri\ue000vate", "ª", "a:b", "a.b", "", "é!"],
)
def test_a_name_that_no_identifier_and_xml_name_could_be_is_rejected(name: str) -> None:
    with pytest.raises(BadProperty, match="identifier"):
        measure(entity(**{name: 1}))


@pytest.mark.few_on_azurite
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
    measure(entity(**many))
    with pytest.raises(LimitExceeded, match=r"253.*252.*wide entities"):
        measure(entity(**many, Last=1))


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
    assert len(measure(entity(**many, **{f"N{n}": None for n in range(300)})).properties) == 254


@pytest.mark.guide("G-025", "G-026", "G-028")
def test_an_entity_of_1_mib_passes_and_one_unit_more_does_not() -> None:
    parts = {f"P{n:02d}": "x" * 32_000 for n in range(16)}
    left = limits.MAX_ENTITY_BYTES - entity_size("p", "r", {**parts, "Rest": ""})
    measure(entity(**parts, Rest="x" * (left // 2)))
    with pytest.raises(LimitExceeded, match=r"1 MiB.*large entities"):
        measure(entity(**parts, Rest="x" * (left // 2 + 1)))


@pytest.mark.guide("G-057", "G-028")
@pytest.mark.parametrize(("text", "fits"), [("x" * 32_768, True), ("x" * 32_769, False), ("🛫" * 16_385, False)])
def test_a_string_has_64_kib_in_utf_16(text: str, fits: bool) -> None:
    if fits:
        measure(entity(Comment=text))
        measure(entity(Comment="🛫" * 16_384))
    else:
        with pytest.raises(LimitExceeded, match=r"Comment.*64 KiB.*large entities"):
            measure(entity(Comment=text))


@pytest.mark.guide("G-046", "G-028")
async def test_a_binary_of_64_kib_round_trips_and_one_byte_more_is_rejected(storage: Any, table_name: str) -> None:
    photo = bytes(range(256)) * 256
    assert await round_trip(storage, table_name, photo) == photo
    with pytest.raises(LimitExceeded, match="Photo"):
        measure(entity(Photo=photo + b"x"))


# ------------------------------------------------------------------ keys


@pytest.mark.guide("G-031", "G-032", "G-033", "G-034", "G-035", "G-036")
@pytest.mark.parametrize("char", ["/", "\\", "#", "?", "\t", "\n", "\r", "\0", "\x1f", "\x7f", "\x80", "\x9f"])
@pytest.mark.parametrize("name", ["PartitionKey", "RowKey"])
def test_a_forbidden_character_in_a_key_is_rejected(name: str, char: str) -> None:
    with pytest.raises(BadKey, match="forbidden"):
        measure(entity(**{name: f"a{char}b"}))


@pytest.mark.guide("G-029", "G-030")
@pytest.mark.parametrize("value", [None, 7, True, b"p", datetime(2014, 8, 22, tzinfo=timezone.utc)])
@pytest.mark.parametrize("name", ["PartitionKey", "RowKey"])
def test_a_key_that_is_no_string_is_rejected(name: str, value: object) -> None:
    with pytest.raises(BadKey, match="a key is a string"):
        measure(entity(**{name: value}))


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
def test_what_has_no_json_form_is_rejected(value: object) -> None:
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


async def test_the_name_of_the_write_id_is_taken(storage: Any, table_name: str) -> None:
    with pytest.raises(BadProperty, match="WriteId"):
        await EntitySet(storage, table_name, RAW).insert(entity(WriteId="mine"))
