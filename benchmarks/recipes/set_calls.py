"""Compare calls of an `EntitySet` with the same requests by SDK clients, on the in-memory engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from azure.core import MatchConditions
from azure.data.tables import TableClient, UpdateMode

from tablepatterns import EntitySet, IntraPartitionIndex, Key, Storage, between, connect
from tablepatterns.entity import WRITE_ID

TARGETS: Final = {
    "get": 1.15,
    "find": 1.15,
    "merge": 1.15,
    "insert, no index": 1.15,
    "insert, one index": 0.9,
    "insert, two indexes": 0.8,
    "range of 100": 0.7,
    "range of 500": 0.7,
}
"""The maximum CPU time of each call, as a multiple of that of the SDK's requests."""
STORED: Final = 100
"""The number of entities that are stored before calls that read."""

_KEY: Final = Key("{Department}", "empid_{EmployeeId:07d}")
_BY_EMAIL: Final = IntraPartitionIndex(Key("{Department}", "email_{Email}"))
_BY_NAME: Final = IntraPartitionIndex(Key("{Department}", "name_{LastName}_{EmployeeId:07d}"))
_KEPT: Final = {WRITE_ID: bytes(16)}
_MERGE: Final = {"mode": UpdateMode.MERGE, "match_condition": MatchConditions.IfNotModified}

Call = Callable[[int], Any]
Made = Callable[[], Call]
Side = tuple[str, int, Made, Made]


def sides(count: int) -> Iterator[Side]:
    """Yield each case with its number of calls, the recipe, and the SDK's requests.

    :param count: the number of calls with one entity in each round
    """
    yield "get", count, _get, _bare_get
    yield "find", count, _find, _bare_find
    yield "merge", count, _merge, _bare_merge
    yield "insert, no index", count, _insert(), _bare_insert(0)
    yield "insert, one index", count, _insert(_BY_EMAIL), _bare_insert(1)
    yield "insert, two indexes", count, _insert(_BY_EMAIL, _BY_NAME), _bare_insert(2)
    yield "range of 100", max(count // 20, 2), _range(100), _bare_range(100)
    yield "range of 500", max(count // 60, 2), _range(500), _bare_range(500)


def employee(number: int) -> dict[str, Any]:
    """Return the fields of an employee."""
    return {
        "Department": "Sales",
        "EmployeeId": number,
        "Email": f"{number}@contoso.com",
        "LastName": f"Jones{number % 50}",
        "Age": 34,
        "Salary": 5.5,
    }


def _rows(number: int, indexes: int) -> list[dict[str, Any]]:
    fields = {name: value for name, value in employee(number).items() if name not in ("Department", "EmployeeId")}
    keys = (f"empid_{number:07d}", f"email_{number}@contoso.com", f"name_Jones{number % 50}_{number:07d}")
    return [{"PartitionKey": "Sales", "RowKey": key, **fields, **_KEPT} for key in keys[: 1 + indexes]]


def _set(*derived: IntraPartitionIndex, stored: int = 0) -> EntitySet[Storage]:
    entities = EntitySet(connect(), "Employees", _KEY, derived=derived)
    for number in range(stored):
        entities.insert(employee(number))
    return entities


def _table(indexes: int = 0, stored: int = 0) -> TableClient:
    table = connect().tables.create_table("Employees")
    for number in range(stored):
        for row in _rows(number, indexes):
            table.create_entity(row)
    return table


def _get() -> Call:
    entities = _set(stored=STORED)
    return lambda number: entities.get(Department="Sales", EmployeeId=number % STORED)


def _bare_get() -> Call:
    table = _table(stored=STORED)
    return lambda number: table.get_entity("Sales", f"empid_{number % STORED:07d}")


def _find() -> Call:
    entities = _set(_BY_EMAIL, stored=STORED)
    return lambda number: entities.find(_BY_EMAIL, Department="Sales", Email=f"{number % STORED}@contoso.com")


def _bare_find() -> Call:
    table = _table(1, stored=STORED)
    return lambda number: table.get_entity("Sales", f"email_{number % STORED}@contoso.com")


def _merge() -> Call:
    entities = _set(stored=1)
    held = entities.get(Department="Sales", EmployeeId=0)
    assert held is not None
    return lambda number: entities.merge(held, {"Age": number})


def _bare_merge() -> Call:
    table = _table(stored=1)
    etag = table.get_entity("Sales", "empid_0000000").metadata["etag"]

    def merge(number: int) -> Any:
        nonlocal etag
        row = {"PartitionKey": "Sales", "RowKey": "empid_0000000", "Age": number, **_KEPT}
        etag = table.update_entity(row, etag=etag, **_MERGE)["etag"]
        return etag

    return merge


def _insert(*derived: IntraPartitionIndex) -> Made:
    def make() -> Call:
        entities = _set(*derived, stored=1)
        return lambda number: entities.insert(employee(number))

    return make


def _bare_insert(indexes: int) -> Made:
    def make() -> Call:
        table = _table(indexes, stored=1)

        def insert(number: int) -> Any:
            rows = _rows(number, indexes)
            if not indexes:
                return table.create_entity(rows[0])
            return table.submit_transaction([("create", row) for row in rows])

        return insert

    return make


def _range(count: int) -> Made:
    def make() -> Call:
        entities = _set(stored=count)
        return lambda _: list(entities.range(Department="Sales", EmployeeId=between(0, count - 1)))

    return make


def _bare_range(count: int) -> Made:
    where = f"PartitionKey eq 'Sales' and RowKey ge 'empid_0000000' and RowKey le 'empid_{count - 1:07d}'"

    def make() -> Call:
        table = _table(stored=count)
        return lambda _: list(table.query_entities(where))

    return make
