"""Filters: the syntax of `$filter`, and the entities that match."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any
from uuid import UUID

import pytest
from azure.data.tables import EdmType, EntityProperty

from conformance.deviations import FILTER_GRAMMAR, FILTER_TEXTS, FILTER_TYPES, NULL_LITERAL
from conformance.entities import int64
from conformance.service_errors import ServiceError
from conformance.table_errors import INVALID_INPUT, NOT_IMPLEMENTED
from support.backends import Backend
from tablepatterns.limits import MAX_FILTER_COMPARISONS

MOMENT = datetime(2014, 8, 22, 0, 50, 32, tzinfo=timezone.utc)
GUID = UUID("c9da6455-213d-42c9-9a79-3e9149a57833")
OPERATORS = ["eq", "ne", "gt", "ge", "lt", "le"]


async def table_of(new_table: Any, *rows: tuple[str, dict[str, Any]]) -> Any:
    """Return a table with one partition of these rows: the key of each, and its properties."""
    table = await new_table()
    await table.submit_transaction([("create", {"PartitionKey": "p", "RowKey": key, **row}) for key, row in rows])
    return table


async def found(table: Any, wanted: str, **options: Any) -> list[str]:
    """Return the row keys of all that a filter finds."""
    return [entity["RowKey"] async for entity in table.query_entities(wanted, **options)]


# ------------------------------------------------------------------ comparisons

ORDERS = {
    "String": (["A", "B", "a"], "'B'"),
    "String beyond ASCII": (["e", "é", "日"], "'é'"),
    "Int32": ([-5, 5, 34], "5"),
    "Int64": ([int64(-5), int64(5), int64(2**40)], "5L"),
    "Double": ([-0.5, 0.5, 1e300], "0.5"),
    "DateTime": ([MOMENT - timedelta(days=1), MOMENT, MOMENT + timedelta(hours=1)], "datetime'2014-08-22T00:50:32Z'"),
    "Guid": ([UUID(int=0), GUID, UUID(int=2**128 - 1)], f"guid'{GUID}'"),
    "Binary": ([b"\x03", b"\x03\x01", b"\x04"], "X'0301'"),
}
FINDS = {"eq": "1", "ne": "02", "gt": "2", "ge": "12", "lt": "0", "le": "01"}


@pytest.mark.few_on_azurite
@pytest.mark.parametrize(("values", "literal"), ORDERS.values(), ids=ORDERS)
async def test_values_are_compared_in_the_order_of_their_type(new_table: Any, values: list[Any], literal: str) -> None:
    table = await table_of(new_table, *((str(number), {"Value": value}) for number, value in enumerate(values)))
    for operator, keys in FINDS.items():
        assert await found(table, f"Value {operator} {literal}") == list(keys), operator


async def test_false_is_less_than_true(new_table: Any) -> None:
    table = await table_of(new_table, ("0", {"Value": False}), ("1", {"Value": True}))
    for operator, keys in {"eq": "1", "ne": "0", "gt": "", "ge": "1", "lt": "0", "le": "01"}.items():
        assert await found(table, f"Value {operator} true") == list(keys), operator


async def test_strings_are_compared_by_utf_16_code_unit(new_table: Any) -> None:
    table = await table_of(new_table, ("0", {"Value": "\ud7ff"}), ("1", {"Value": "🛫"}), ("2", {"Value": "\uffee"}))
    assert await found(table, "Value lt '\uffee'") == ["0", "1"]
    assert await found(table, "Value gt '🛫'") == ["2"]


@FILTER_TYPES
async def test_instants_are_compared_at_100_nanoseconds(new_table: Any) -> None:
    fractions = ("1234566", "1234567", "1234568")
    moments = [EntityProperty(f"2014-08-22T00:50:32.{digits}Z", EdmType.DATETIME) for digits in fractions]
    table = await table_of(new_table, *((str(number), {"Value": value}) for number, value in enumerate(moments)))
    for operator, keys in FINDS.items():
        assert await found(table, f"Value {operator} datetime'2014-08-22T00:50:32.1234567Z'") == list(keys), operator


@FILTER_TYPES
async def test_a_guid_is_found_in_either_case(new_table: Any) -> None:
    table = await table_of(new_table, ("0", {"Value": GUID}))
    assert await found(table, f"Value eq guid'{str(GUID).upper()}'") == ["0"]


TYPED = {
    "binary": b"\x03",
    "boolean": True,
    "datetime": MOMENT,
    "double": 5.0,
    "guid": GUID,
    "int32": 5,
    "int64": int64(5),
    "string": "5",
}
LITERALS = {
    "X'03'": ["binary"],
    "true": ["boolean"],
    "datetime'2014-08-22T00:50:32Z'": ["datetime"],
    "5.0": ["double"],
    f"guid'{GUID}'": ["guid"],
    "5": ["double", "int32", "int64"],
    "5L": ["double", "int64"],
    "'5'": ["string"],
}
TRUE_WHERE_EQUAL = {"eq", "ge", "le"}
TRUE_WHERE_LESS = {"ne", "lt", "le"}


@FILTER_TYPES
@pytest.mark.parametrize(("literal", "same"), LITERALS.items())
async def test_a_property_of_another_type_counts_as_less_than_the_literal(
    new_table: Any, literal: str, same: list[str]
) -> None:
    rows = [(name, {"Value": value}) for name, value in TYPED.items()]
    table = await table_of(new_table, *rows, ("without", {}))
    others = [name for name in TYPED if name not in same]
    for operator in OPERATORS:
        equal = same if operator in TRUE_WHERE_EQUAL else []
        less = others if operator in TRUE_WHERE_LESS else []
        assert await found(table, f"Value {operator} {literal}") == sorted([*equal, *less]), operator


@pytest.mark.few_on_azurite
@pytest.mark.parametrize("operator", OPERATORS)
async def test_no_comparison_finds_an_entity_without_the_property(new_table: Any, operator: str) -> None:
    table = await table_of(new_table, ("with", {"Age": 34}), ("without", {}))
    assert "without" not in await found(table, f"Age {operator} 34")
    assert "without" in await found(table, f"not (Age {operator} 34)")


async def test_an_integer_beyond_32_bits_is_an_int64_without_being_marked(new_table: Any) -> None:
    table = await table_of(new_table, ("0", {"Value": int64(2**31)}), ("1", {"Value": int64(2**40)}))
    assert await found(table, "Value eq 2147483648L") == ["0"]
    assert await found(table, "Value gt 2147483648L") == ["1"]


@FILTER_TYPES
async def test_an_int64_needs_no_mark(new_table: Any) -> None:
    table = await table_of(new_table, ("0", {"Value": int64(2**31)}), ("1", {"Value": int64(2**40)}))
    assert await found(table, "Value eq 2147483648") == ["0"]
    assert await found(table, "Value eq @value", parameters={"value": 2**32 - 1}) == []
    assert await found(table, "Value eq @value", parameters={"value": 2**40}) == ["1"]


# ------------------------------------------------------------------ literals


@pytest.mark.few_on_azurite
@pytest.mark.parametrize(
    ("value", "literal"),
    [
        ("O'Neill", "'O''Neill'"),
        ("''", "''''''"),
        ("", "''"),
        ("a and (b)", "'a and (b)'"),
        ("100% +5", "'100% +5'"),
        (-5, "-5"),
        (int64(-5), "-5L"),
        (-0.25, "-0.25"),
        (GUID, f"guid'{GUID}'"),
        (b"photo", "X'70686f746f'"),
        (b"photo", "X'70686F746F'"),
        (b"photo", "binary'70686f746f'"),
        (b"\x00\xff", "X'00ff'"),
        (MOMENT, "datetime'2014-08-22T00:50:32.000Z'"),
        (MOMENT, "datetime'2014-08-22T00:50:32.0000000Z'"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_a_literal_finds_its_value(new_table: Any, value: Any, literal: str) -> None:
    table = await table_of(new_table, ("0", {"Value": value}))
    assert await found(table, f"Value eq {literal}") == ["0"]


@pytest.mark.few_on_azurite
@pytest.mark.parametrize(
    "value", ["O'Neill", True, 34, 0.25, MOMENT, GUID, b"photo"], ids=lambda value: type(value).__name__
)
async def test_the_sdk_s_parameters_find_their_values(new_table: Any, value: Any) -> None:
    table = await table_of(new_table, ("0", {"Value": value}), ("1", {}))
    assert await found(table, "Value eq @value and RowKey ge @key", parameters={"value": value, "key": "0"}) == ["0"]


@FILTER_TYPES
async def test_the_sdk_s_whole_double_finds_its_value(new_table: Any) -> None:
    table = await table_of(new_table, ("0", {"Value": 3.0}), ("1", {"Value": 1e20}), ("2", {"Value": 3}))
    assert await found(table, "Value eq @value", parameters={"value": 3.0}) == ["0"]
    assert await found(table, "Value eq @value", parameters={"value": 1e20}) == ["1"]


# ------------------------------------------------------------------ structure


@pytest.fixture
def people(backend: Backend, new_table: Any) -> Any:
    """A table of three people: who they are, and how old."""
    rows = [
        ("ann", {"Age": 20, "City": "Graz"}),
        ("bob", {"Age": 30, "City": "Wien"}),
        ("cid", {"Age": 40, "City": "Graz"}),
    ]
    return backend.run(table_of(new_table, *rows))


@pytest.mark.few_on_azurite
@pytest.mark.parametrize(
    ("wanted", "keys"),
    [
        ("Age gt 20 and City eq 'Graz'", ["cid"]),
        ("Age lt 30 or City eq 'Wien'", ["ann", "bob"]),
        ("Age eq 20 or Age eq 30 and City eq 'Graz'", ["ann"]),
        ("(Age eq 20 or Age eq 30) and City eq 'Graz'", ["ann"]),
        ("(Age eq 20 or Age eq 30) and City eq 'Wien'", ["bob"]),
        ("City eq 'Wien' and Age eq 30 or Age eq 40", ["bob", "cid"]),
        ("not (City eq 'Graz')", ["bob"]),
        ("not City eq 'Graz'", ["bob"]),
        ("not City eq 'Graz' or Age eq 20", ["ann", "bob"]),
        ("not (City eq 'Graz' or Age eq 30)", []),
        ("not (not (Age eq 20))", ["ann"]),
        ("(Age eq 20)and(City eq 'Graz')", ["ann"]),
        ("((((Age eq 20))))", ["ann"]),
        ("  Age   eq   20  ", ["ann"]),
        ("PartitionKey eq 'p' and RowKey ge 'b' and RowKey lt 'c'", ["bob"]),
        ("PartitionKey eq 'q'", []),
        ("RowKey gt 'ann'", ["bob", "cid"]),
        ("Timestamp gt datetime'2001-01-01T00:00:00Z'", ["ann", "bob", "cid"]),
        ("Timestamp lt datetime'2001-01-01T00:00:00Z'", []),
        ("", ["ann", "bob", "cid"]),
        ("true", ["ann", "bob", "cid"]),
        ("false", []),
        ("(true and RowKey eq 'ann')", ["ann"]),
        ("RowKey eq 'ann' or false", ["ann"]),
    ],
)
async def test_conditions_are_combined(people: Any, wanted: str, keys: list[str]) -> None:
    assert await found(people, wanted) == keys


async def test_the_constant_may_come_first(people: Any) -> None:
    assert await found(people, "'Wien' eq City") == ["bob"]
    assert await found(people, "20 lt Age") == ["bob", "cid"]
    assert await found(people, "30 ge Age") == ["ann", "bob"]


async def test_names_of_properties_are_case_sensitive(people: Any) -> None:
    assert await found(people, "age eq 20") == []


@pytest.mark.guide("G-295")
async def test_the_employees_whose_names_begin_with_b(table: Any) -> None:
    for name in ("Adams", "B", "Baker", "Brown", "C", "Clark"):
        await table.create_entity({"PartitionKey": "Sales", "RowKey": name})
        await table.create_entity({"PartitionKey": "Support", "RowKey": name})
    wanted = "PartitionKey eq 'Sales' and RowKey ge 'B' and RowKey lt 'C'"
    pairs = [(entity["PartitionKey"], entity["RowKey"]) async for entity in table.query_entities(wanted)]
    assert pairs == [("Sales", "B"), ("Sales", "Baker"), ("Sales", "Brown")]


async def test_a_query_goes_over_all_partitions(table: Any) -> None:
    for department in ("Sales", "Support"):
        await table.create_entity({"PartitionKey": department, "RowKey": "1", "Age": 34})
    pairs = [(entity["PartitionKey"], entity["RowKey"]) async for entity in table.query_entities("Age eq 34")]
    assert pairs == [("Sales", "1"), ("Support", "1")]


async def test_fifteen_comparisons_are_accepted(people: Any) -> None:
    wanted = " or ".join(f"Age eq {number}" for number in range(7, 7 + MAX_FILTER_COMPARISONS))
    assert await found(people, wanted) == ["ann"]


# ------------------------------------------------------------------ what is no filter


@FILTER_GRAMMAR
async def test_sixteen_comparisons_are_rejected(people: Any, rejected: Any) -> None:
    wanted = " or ".join(f"Age eq {number}" for number in range(MAX_FILTER_COMPARISONS + 1))
    async with rejected(ServiceError(400, "InvalidInput")):
        await found(people, wanted)


@FILTER_TEXTS
async def test_a_syntax_error_says_where_it_is(people: Any, rejected: Any) -> None:
    async with rejected(ServiceError(400, "InvalidInput", "Syntax error at position 7 in 'aaa bbb ccc'.")):
        await found(people, "aaa bbb ccc")


@pytest.mark.few_on_azurite
@pytest.mark.parametrize(
    "wanted",
    [
        "aaa bbb ccc",
        "Age eq",
        "eq 5",
        "Age eq 20 and",
        "(Age eq 20",
        "Age eq 20)",
        "Age eq 20 City eq 'Graz'",
        "()",
        "Age = 20",
        "Age == 20",
    ],
)
async def test_a_broken_filter_is_rejected(people: Any, rejected: Any, wanted: str) -> None:
    async with rejected(ServiceError(400, "InvalidInput")):
        await found(people, wanted)


@FILTER_GRAMMAR
@pytest.mark.parametrize(
    "wanted",
    [
        "City eq 'Graz",
        "Age EQ 20",
        "Age eq 20 Or Age eq 30",
        "Age eq 20 AND Age eq 30",
        "NOT (Age eq 20)",
        "Age eq 5f",
        "Age eq 20 and 5",
        "Value eq guid'c9da6455'",
        "Value eq datetime'yesterday'",
        "Value eq X'0'",
    ],
)
async def test_every_word_of_a_filter_must_be_known(people: Any, rejected: Any, wanted: str) -> None:
    async with rejected(ServiceError(400, "InvalidInput")):
        await found(people, wanted)


@NULL_LITERAL
async def test_nothing_is_compared_with_null(people: Any, rejected: Any) -> None:
    async with rejected(INVALID_INPUT):
        await found(people, "City eq null")


@FILTER_GRAMMAR
@pytest.mark.parametrize(
    "wanted",
    [
        "startswith(City, 'G')",
        "substringof('a', City)",
        "Age add 1 eq 21",
        "Age eq Limit",
        "1 eq 1",
        "'a' eq 'a'",
    ],
)
async def test_functions_and_arithmetic_are_not_implemented(people: Any, rejected: Any, wanted: str) -> None:
    async with rejected(NOT_IMPLEMENTED):
        await found(people, wanted)
