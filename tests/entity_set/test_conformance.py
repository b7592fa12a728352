"""Everything that behaves like a set has every call of a set, or says why not and what to use."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass
from datetime import timedelta
from inspect import isfunction
from typing import Any

import pytest

from tablepatterns import (
    ChildSet,
    EntityGroupTransaction,
    EntitySet,
    IndexEntity,
    IntraPartitionIndex,
    Key,
    LogTail,
    PartitionSpread,
    Period,
    PeriodTables,
    QueryClass,
    Rekey,
    Summary,
    WideEntity,
    connect,
    prop,
)
from tablepatterns.entity_set.calls import SetCalls
from tablepatterns.entity_set.commit import Write
from tablepatterns.entity_set.hooks import SetHooks
from tablepatterns.entity_set.model_layer import ModelLayer
from tablepatterns.errors import BadInput, BadKey, EntityChanged

KEY = Key("{Department}", "empid_{EmployeeId:06d}")
JONES: Mapping[str, Any] = {"Department": "Sales", "EmployeeId": 223}
ALL = {name for name in vars(SetCalls) if not name.startswith("_")}
DERIVED = {"keys_of", "find_all", "totals", "find"}
"""They need derived data, which not every set has; the tests of each kind prove them."""


@dataclass
class Subject:
    """A set, its entities' key, and the calls that it rejects."""

    entities: Any
    key: Mapping[str, Any]
    rejected: frozenset[str] = frozenset()


def entity_set() -> Subject:
    return Subject(EntitySet(connect(), "Employees", KEY), JONES)


def child_set() -> Subject:
    return Subject(ChildSet(connect(), "Employees", KEY, "_{Year:04d}"), {**JONES, "Year": 2014})


def partition_spread() -> Subject:
    return Subject(PartitionSpread(connect(), "Employees", KEY, buckets=4, by=["Department"]), JONES)


def rekey() -> Subject:
    storage = connect()
    move = Rekey(
        EntitySet(storage, "Employees", KEY),
        EntitySet(storage, "ByNumber", Key("all", "{EmployeeId:06d}_{Department}")),
    )
    return Subject(move.entities, JONES, frozenset({"inserting", "replacing", "merging", "deleting", "renaming"}))


def wide_entity() -> Subject:
    ranges = {"range", "page", "take", "query", "scan"}
    plans = {"inserting", "replacing", "merging", "deleting", "renaming"}
    return Subject(WideEntity(connect(), "Employees", KEY), JONES, frozenset(ranges | plans | {"rename"}))


SETS: Mapping[str, Callable[[], Subject]] = {
    "EntitySet": entity_set,
    "ChildSet": child_set,
    "PartitionSpread": partition_spread,
    "Rekey": rekey,
    "WideEntity": wide_entity,
}


def committed(subject: Subject, *writes: Write[Any]) -> None:
    entities = getattr(subject.entities, "entity_set", subject.entities)
    EntityGroupTransaction(entities.account, entities.table.name).commit(*writes)


def stored(subject: Subject) -> Any:
    return subject.entities.get(subject.key)


def renamed(subject: Subject) -> dict[str, Any]:
    return {"Year": 2015} if "Year" in subject.key else {"EmployeeId": 224}


def partition(subject: Subject) -> dict[str, Any]:
    return {"Department": subject.key["Department"]}


CALLS: Mapping[str, Callable[[Subject, Any], Any]] = {
    "get": lambda of, entity: of.entities.get(of.key)["Age"] == 34,
    "get_many": lambda of, entity: of.entities.get_many([of.key, {**of.key, **renamed(of)}]) == [stored(of), None],
    "range": lambda of, entity: [each["Age"] for each in of.entities.range(partition(of))] == [34],
    "page": lambda of, entity: [each["Age"] for each in of.entities.page(partition(of), size=5).items] == [34],
    "take": lambda of, entity: [each["Age"] for each in of.entities.take(1, partition(of))] == [34],
    "query": lambda of, entity: [*of.entities.query(prop("Age") == 35, allow=QueryClass.TABLE_SCAN)] == [],
    "scan": lambda of, entity: [each["Age"] for each in of.entities.scan(prop("Age") == 34)] == [34],
    "insert": lambda of, entity: of.entities.insert({**of.key, **renamed(of), "Age": 1})["Age"] == 1,
    "replace": lambda of, entity: (
        of.entities.replace({**of.key, "Age": 35}, force=True)["Age"] == 35 and stored(of)["Age"] == 35
    ),
    "merge": lambda of, entity: of.entities.merge(entity, {"Age": 35})["Age"] == 35 and stored(of)["Name"] == "Jones",
    "insert_or_replace": lambda of, entity: "Name" not in of.entities.insert_or_replace({**of.key, "Age": 35}),
    "insert_or_merge": lambda of, entity: (
        of.entities.insert_or_merge({**of.key, "Age": 35}) is not None and stored(of)["Name"] == "Jones"
    ),
    "delete": lambda of, entity: of.entities.delete(entity) is None and stored(of) is None,
    "update": lambda of, entity: of.entities.update(lambda each: each.update(Age=35), of.key)["Age"] == 35,
    "rename": lambda of, entity: of.entities.rename(entity, renamed(of))["Age"] == 34 and stored(of) is None,
    "inserting": lambda of, entity: committed(of, of.entities.inserting({**of.key, **renamed(of)})) is None,
    "replacing": lambda of, entity: committed(of, of.entities.replacing(entity)) is None,
    "merging": lambda of, entity: (
        committed(of, of.entities.merging(entity, {"Age": 35})) is None and stored(of)["Age"] == 35
    ),
    "deleting": lambda of, entity: committed(of, of.entities.deleting(entity)) is None and stored(of) is None,
    "renaming": lambda of, entity: (
        committed(of, *of.entities.renaming(entity, renamed(of))) is None and stored(of) is None
    ),
}


def test_every_call_of_a_set_is_here() -> None:
    assert CALLS.keys() | DERIVED == ALL


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("name", SETS)
def test_each_call_works_or_is_rejected_with_its_reason(name: str, call: str) -> None:
    subject = SETS[name]()
    entity = subject.entities.insert({**subject.key, "Name": "Jones", "Age": 34})
    if call in subject.rejected:
        with pytest.raises(BadInput) as caught:
            CALLS[call](subject, entity)
        assert caught.value.hint
        assert not subject.rejected & set(re.findall(r"\w+", caught.value.hint))
    else:
        assert CALLS[call](subject, entity)


OF_ANOTHER_SET: Mapping[str, Any] = {
    "find": IntraPartitionIndex(Key("{Department}", "email_{Email}")),
    "keys_of": IndexEntity("LastName"),
    "find_all": IndexEntity("LastName"),
    "totals": Summary(Key("{Department}", "total")),
}


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("call", OF_ANOTHER_SET)
def test_what_is_not_derived_cannot_be_read(name: str, call: str) -> None:
    entities = SETS[name]().entities
    for derived in (object(), OF_ANOTHER_SET[call]):
        with pytest.raises(BadInput):
            getattr(entities, call)(derived, JONES)


def test_an_equal_index_of_another_set_cannot_be_read() -> None:
    for call, derived in OF_ANOTHER_SET.items():
        entities = EntitySet(connect(), "Employees", KEY, derived=[copy(derived)])
        with pytest.raises(BadInput, match="the set keeps"):
            getattr(entities, call)(derived, JONES)
        with pytest.raises(BadKey, match="Department"):
            getattr(entities, call)(entities.derived[0], Email="a", LastName="Jones")


def test_the_layer_of_a_model_has_every_hook_of_a_set() -> None:
    # What only a set itself needs, and what uses other hooks of the layer
    own = {"_current", "_first", "_from_current", "_on_condition"}
    hooks = {name for name, hook in vars(SetHooks).items() if isfunction(hook) and not name.startswith("_reject")}
    assert hooks - own <= vars(ModelLayer).keys()


def test_a_log_tail_is_a_set() -> None:
    log = LogTail(connect(), "Claims", "{Employee}")
    claim = log.append({"Employee": "223", "Amount": 1})
    assert log.update(lambda each: each.update(Amount=2), {name: claim[name] for name in log.key.fields})["Amount"] == 2


def test_period_tables_have_the_calls_that_read_and_write_entities() -> None:
    tables = PeriodTables(connect(), "Logins", Period.DAY, factory=lambda on, name: EntitySet(on, name, KEY))
    now = tables.account.now()
    key, other = {**JONES, "At": now}, {**JONES, "EmployeeId": 224, "At": now - timedelta(days=1)}
    jones = tables.insert({**key, "Name": "Jones"})
    tables.insert_or_replace({**other, "Name": "Smith"})
    assert [each and each["Name"] for each in tables.get_many([key, other, {**other, "EmployeeId": 1}])] == [
        "Jones",
        "Smith",
        None,
    ]
    assert [each["Name"] for each in tables.take(1, Department="Sales")] == ["Smith"]
    assert [each["Name"] for each in tables.scan(prop("Name") == "Jones")] == ["Jones"]
    assert tables.update(lambda each: each.update(Age=34), key)["Age"] == 34
    with pytest.raises(EntityChanged):
        tables.replace(jones)
    tables.merge(key, {"Age": 35}, force=True)
    tables.insert_or_merge({**other, "Age": 36})
    assert [each["Age"] for each in tables.range(now - timedelta(days=1), Department="Sales")] == [36, 35]
    tables.delete(tables.get(key))
    tables.delete(other, force=True)
    assert [*tables.scan()] == []
    with pytest.raises(BadInput, match="token"):
        tables.page(Department="Sales")
    with pytest.raises(BadInput, match="one by one"):
        tables.inserting(key)
