"""Reads of an entity set: their query classes, and pages."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from typing import Any

import pytest

from support.employees import BY_ID, by_email, employees_of, jones, numbered
from tablepatterns import EntitySet, Key, QueryClass, at_least, below, between, connect, parse, prop
from tablepatterns.errors import BadDesign, BadFilter, BadInput, BadToken
from tablepatterns_engine.account import Engine

ID = {"Department": "Sales", "EmployeeId": 223}


@pytest.fixture(params=["plain", "indexed"])
def employees(request: pytest.FixtureRequest, storage: Any, table_name: str) -> Any:
    """A set without derived data and one with: what it promises is the same."""
    return EntitySet(storage, table_name, BY_ID, derived=[by_email] if request.param == "indexed" else [])


# ------------------------------------------------------------------ reading


@pytest.mark.guide("G-294")
async def test_a_missing_entity_is_none_also_in_a_missing_table(employees: Any) -> None:
    assert await employees.get(**ID) is None
    assert [each async for each in employees.range(Department="Sales")] == []
    assert await employees.take(5, Department="Sales") == []
    await employees.insert(jones())
    assert await employees.get(Department="Sales", EmployeeId=1) is None


@pytest.mark.guide("G-077", "G-080", "G-078", "G-081", "G-295", "G-094", "G-076")
async def test_each_read_is_of_the_class_it_says(storage: Any, engine: Engine, table_name: str) -> None:
    employees = employees_of(storage, table_name)
    for number in range(20):
        await employees.insert(jones(EmployeeId=number, Email=f"{number:02d}@contoso.com"))

    async def classes(read: Any) -> list[tuple[str | None, int]]:
        with engine.ledger.span() as span:
            _ = [each async for each in read]
        return [(record.query_class, record.examined) for record in span.records]

    ranges = [
        (between(5, 9), 5),
        (between(5, 9, "left"), 4),
        (between(5, 9, "neither"), 3),
        (at_least(15), 5),
        (below(3), 3),
    ]
    for asked, expected in ranges:
        read = employees.range(Department="Sales", EmployeeId=asked)
        assert await classes(read) == [("range query", expected)]
    assert await classes(employees.range(Department="Sales", EmployeeId=7)) == [("point query", 1)]
    assert await classes(employees.scan(prop("Age") > 30)) == [("table scan", 40)]


@pytest.mark.guide("G-079", "G-082", "G-089", "G-090")
async def test_a_condition_on_properties_filters_the_range(storage: Any, table_name: str) -> None:
    employees = employees_of(storage, table_name)
    for number, name in enumerate(["Smith", "O'Brien", "Smith", "Jones"]):
        await employees.insert(jones(EmployeeId=number, LastName=name, Age=20 + number, Email=f"{number}@x.com"))
    where = (prop("LastName") == "Smith") & (prop("Age") >= 21) | (prop("LastName") == "O'Brien")
    found = [each["EmployeeId"] async for each in employees.range(Department="Sales", where=where)]
    assert found == [1, 2]


@pytest.mark.parametrize("name", ["PartitionKey", "RowKey"])
async def test_a_condition_on_a_whole_key_belongs_in_the_range(storage: Any, table_name: str, name: str) -> None:
    with pytest.raises(BadFilter, match="give those fields as keywords"):
        await employees_of(storage, table_name).take(1, Department="Sales", where=prop(name) == "1")


@pytest.mark.guide("G-306", "G-307", "G-095", "G-199")
async def test_a_projection_reads_the_key_and_what_is_named(storage: Any, table_name: str) -> None:
    employees = employees_of(storage, table_name)
    await employees.insert(jones())
    await employees.insert(jones(EmployeeId=224, Email=None))
    found = [each async for each in employees.range(Department="Sales", select=["Email"])]
    assert found == [ID | {"Email": "jonesj@contoso.com"}, ID | {"EmployeeId": 224}]
    assert found[0].key == ("Sales", "empid_000223")
    assert found[0].timestamp is not None
    assert found[0].etag is not None


@pytest.mark.guide("G-088")
async def test_many_keys_are_point_queries_in_the_order_asked(storage: Any, engine: Engine, table_name: str) -> None:
    employees = employees_of(storage, table_name)
    for number in (121, 322):
        await employees.insert(jones(EmployeeId=number, Email=f"{number}@x.com"))
    asked = [{"Department": "Sales", "EmployeeId": number} for number in (322, 1, 121)]
    with engine.ledger.span() as span:
        found = await employees.get_many(asked)
    assert [each and each["EmployeeId"] for each in found] == [322, None, 121]
    assert [(record.query_class, record.examined) for record in span.records if not record.error] == [
        ("point query", 1)
    ] * 2
    assert span.totals.requests == 3


@pytest.mark.guide("G-083", "G-085", "G-087")
async def test_a_filter_that_would_scan_is_rejected_unless_allowed(storage: Any, table_name: str) -> None:
    raw = EntitySet(storage, table_name, Key("{PartitionKey}", "{RowKey}"))
    for key in ("121", "322", "500"):
        await raw.insert({"PartitionKey": "Sales", "RowKey": key})
    either = parse("PartitionKey eq 'Sales' and (RowKey eq '121' or RowKey eq '322')")
    with pytest.raises(BadFilter, match="partition scan"):
        _ = [each async for each in raw.query(either)]
    found = [each["RowKey"] async for each in raw.query(either, allow=QueryClass.PARTITION_SCAN)]
    assert found == ["121", "322"]
    with pytest.raises(BadFilter, match="table scan"):
        _ = [each async for each in raw.query(prop("LastName") == "Jones", allow=QueryClass.PARTITION_SCAN)]


async def test_rows_of_others_in_the_partition_are_left_out(storage: Any, table_name: str) -> None:
    numbered = EntitySet(storage, table_name, Key("{Department}", "{EmployeeId:06d}"))
    departments = EntitySet(storage, table_name, Key("{Department}", "Department"))
    await numbered.insert({"Department": "Sales", "EmployeeId": 10})
    await departments.insert({"Department": "Sales", "EmployeeCount": 153})
    assert [each async for each in numbered.range(Department="Sales")] == [{"Department": "Sales", "EmployeeId": 10}]
    assert [each async for each in numbered.scan()] == [{"Department": "Sales", "EmployeeId": 10}]


# ------------------------------------------------------------------ pages


@pytest.mark.guide("G-301", "G-302", "G-303", "G-304", "G-352")
async def test_pages_follow_one_another_by_a_token_that_is_text(storage: Any, backend: Any, table_name: str) -> None:
    numbers = await numbered(storage, table_name, 120)
    page = await numbers.page(size=50, Group="all")
    assert ([each["Number"] for each in page.items], type(page.token)) == (list(range(50)), str)
    # Another process would begin with nothing but the text
    again = EntitySet(backend.connect(), table_name, Key("{Group}", "{Number:06d}"))
    second = await again.page(size=50, token=page.token, Group="all")
    third = await again.page(size=50, token=second.token, Group="all")
    found = [each["Number"] for each in (*second.items, *third.items)]
    assert found == list(range(50, 120))
    assert third.token is None


@pytest.mark.guide("G-303")
async def test_a_token_of_another_query_is_rejected(storage: Any, table_name: str) -> None:
    numbers = await numbered(storage, table_name, 3)
    page = await numbers.page(size=1, Group="all")
    with pytest.raises(BadToken, match="the same table, the same filter"):
        await numbers.page(size=1, token=page.token, Group="other")
    deep = b64encode(b"[" * 9_000).decode()
    number = b64encode(json.dumps([*json.loads(b64decode(page.token))[:2], 7, None]).encode()).decode()
    for broken in ("x", "AAAA", page.token[4:], page.token + "!", deep, number):
        with pytest.raises(BadToken):
            await numbers.page(size=1, token=broken, Group="all")


@pytest.mark.guide("G-297")
@pytest.mark.parametrize("size", [0, -1, 1001])
async def test_a_page_of_no_proper_size_is_rejected(storage: Any, engine: Engine, table_name: str, size: int) -> None:
    numbers = await numbered(storage, table_name, 1)
    with engine.ledger.span() as span, pytest.raises(BadInput, match="1 to 1000"):
        await numbers.page(size=size, Group="all")
    assert span.records == []


@pytest.mark.guide("G-296", "G-297", "G-305", "G-351")
async def test_a_thousand_and_more_are_read_to_the_end_and_none_twice(storage: Any, table_name: str) -> None:
    numbers = await numbered(storage, table_name, 1203)
    assert [each["Number"] async for each in numbers.range(Group="all")] == list(range(1203))
    assert len((await numbers.page(Group="all")).items) == 1000
    assert [each["Number"] for each in await numbers.take(1100, Group="all")] == list(range(1100))
    assert len(await numbers.take(5000, Group="all")) == 1203


@pytest.mark.guide("G-298", "G-299", "G-300", "G-302", "G-305")
async def test_short_and_empty_pages_do_not_end_the_reading(backend: Any, engine: Engine, table_name: str) -> None:
    engine = Engine(page_examines=7)
    numbers = await numbered(backend.connect(engine), table_name, 40)
    last = prop("Number2") != 0
    assert [each["Number"] async for each in numbers.range(Group="all")] == list(range(40))
    empty = await numbers.page(where=last, allow=QueryClass.PARTITION_SCAN, Group="all")
    assert (empty.items, empty.token is not None) == ((), True)
    assert [each async for each in numbers.range({"Group": "all"}, where=last, allow=QueryClass.PARTITION_SCAN)] == []
    with engine.ledger.span() as span:
        assert len(await numbers.take(10, Group="all")) == 10
    assert span.totals.requests == 2


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ({"key": "{Department}"}, r"it must be a Key, not str; pass a Key"),
        ({"derived": 5}, "it must be an iterable of index or Summary, not int"),
        ({"derived": [Key("{Department}", "{Email}")]}, "not a list with Key in it"),
        ({"mappings": ["Email"]}, "not a list with str in it"),
    ],
)
def test_arguments_of_the_wrong_kind_are_rejected_by_the_constructor(parts: dict[str, Any], said: str) -> None:
    with connect() as storage, pytest.raises(BadDesign, match=said):
        EntitySet(storage, "Employees", **({"key": BY_ID} | parts))
