"""A property under a name that the library itself uses is rejected, or returned by every read."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

import tablepatterns
from tablepatterns import (
    EntitySet,
    IndexEntity,
    InterPartitionIndex,
    IntraPartitionIndex,
    Key,
    PartitionSpread,
    WideEntity,
    connect,
)
from tablepatterns.errors import BadProperty

KEY: Final = Key("{Department}", "{EmployeeId:06d}")
ID: Final[dict[str, Any]] = {"Department": "Sales", "EmployeeId": 1}
BY_EMAIL: Final = InterPartitionIndex(Key("emails", "{Email}"), unique=True, table="Emails")
BY_AGE: Final = IntraPartitionIndex(Key("{Department}", "age_{Age:03d}_{EmployeeId:06d}"))
BY_NAME: Final = IndexEntity("Name")
SETS: Final[dict[str, Callable[[], Any]]] = {
    "plain": lambda: EntitySet(connect(), "Staff", KEY),
    "derived": lambda: EntitySet(connect(), "Staff", KEY, derived=[BY_EMAIL, BY_AGE, BY_NAME]),
    "spread": lambda: PartitionSpread(connect(), "Staff", KEY, buckets=2),
    "wide": lambda: WideEntity(connect(), "Staff", KEY),
}
WRITES: Final[dict[str, Callable[[Any, str], Any]]] = {
    "insert": lambda staff, name: staff.insert(employee() | {name: "theirs"}),
    "insert_or_replace": lambda staff, name: staff.insert_or_replace(employee() | {name: "theirs"}),
    "insert_or_merge": lambda staff, name: staff.insert_or_merge(employee() | {name: "theirs"}),
    "replace": lambda staff, name: staff.replace(staff.insert(employee()) | {name: "theirs"}),
    "merge": lambda staff, name: staff.merge(staff.insert(employee()), {name: "theirs"}),
    "forced merge": lambda staff, name: (staff.insert(employee()), staff.merge(ID, {name: "theirs"}, force=True)),
    "update": lambda staff, name: (staff.insert(employee()), staff.update(lambda each: {**each, name: "theirs"}, ID)),
}


def employee() -> dict[str, Any]:
    return {**ID, "Email": "jo", "Age": 34, "Name": "Jones"}


def own_names() -> list[str]:
    """Return the texts that constants of the library have and that could be the name of a property."""
    root = Path(str(tablepatterns.__file__)).parent
    texts = [path.read_text() for path in root.rglob("*.py")]
    names = {name for text in texts for name in re.findall(r'^_?[A-Z_]+(?:: Final)? = "([A-Z][A-Za-z]+)"$', text, re.M)}
    return sorted(names - {"PartitionKey", "RowKey", "Timestamp"})


def test_the_names_are_found() -> None:
    assert {"WriteId", "IntentId", "RekeyTombstone", "EncryptedWith", "WideParts"} <= {*own_names()}


@pytest.mark.parametrize("name", own_names())
@pytest.mark.parametrize("kind", SETS)
@pytest.mark.few(30)
def test_what_is_stored_is_returned(kind: str, name: str) -> None:
    for write in WRITES.values():
        staff = SETS[kind]()
        try:
            write(staff, name)
        except BadProperty:
            stored = staff.get(ID)
            assert stored is None or name not in stored
            continue
        read = [staff.get(ID)]
        if kind != "wide":
            read += [*staff.range(Department="Sales"), *staff.scan()]
        if kind == "derived":
            read += [staff.find(BY_EMAIL, Email="jo"), *staff.range(BY_AGE, Department="Sales")]
            read += staff.find_all(BY_NAME, Department="Sales", Name="Jones")
        assert [entity[name] for entity in read] == ["theirs"] * len(read)
