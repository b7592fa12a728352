"""Explain for a declared set: the plan of a call is that of the query which the call sends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest

from tablepatterns import EntitySet, InTable, InterPartitionIndex, IntraPartitionIndex, Key, connect, prefix, prop
from tablepatterns.entity_set.derived import Derived
from tablepatterns.errors import BadFilter, BadInput, BadKey
from tablepatterns.filters import QueryClass, comparisons, parse
from tablepatterns.recipes.index_entities import IndexEntity
from tablepatterns_review import Plans, explain

BY_EMAIL = IntraPartitionIndex(Key("{Department}", "email_{Email}"))
BY_BADGE = InterPartitionIndex(Key("badge_{Badge}", "row"))
BY_NAME = IndexEntity("LastName")
SALES = prop("PartitionKey") == "Sales"
JONES = {"Department": "Sales", "EmployeeId": 223, "Email": "jonesj@contoso.com", "LastName": "Jones", "Badge": "b7"}


def employees(*derived: Derived) -> EntitySet[Any]:
    return EntitySet(connect(), "Employees", Key("{Department}", "empid_{EmployeeId:06d}"), derived=derived)


def full() -> EntitySet[Any]:
    return employees(BY_EMAIL, BY_BADGE, BY_NAME)


CALLS: list[Callable[[Any], Any]] = [
    lambda of: of.get(Department="Sales", EmployeeId=223),
    lambda of: of.find(BY_EMAIL, Department="Sales", Email="jonesj@contoso.com"),
    lambda of: of.find(BY_BADGE, Badge="b7"),
    lambda of: of.range(Department="Sales"),
    lambda of: of.range(BY_EMAIL, Department="Sales", Email=prefix("j")),
    lambda of: of.range(Department="Sales", where=prop("LastName") == "Jones"),
    lambda of: of.scan(),
    lambda of: of.scan(prop("LastName") == "Jones"),
]


@pytest.mark.parametrize("call", CALLS)
def test_the_class_of_a_plan_is_that_of_the_request_that_the_same_call_sends(call: Callable[[Any], Any]) -> None:
    entities = full()
    entities.insert(JONES)
    with entities.account.engine.ledger.span() as span:  # type: ignore[attr-defined]
        found = call(entities)
        if hasattr(found, "__next__"):
            found = list(found)
    assert found
    assert [record.query_class for record in span.records] == [call(explain(entities)).query_class.label]


def test_a_plan_makes_no_request() -> None:
    entities = full()
    plans = explain(entities)
    with entities.account.engine.ledger.span() as span:  # type: ignore[attr-defined]
        for call in CALLS:
            call(plans)
        plans.query(SALES & (prop("Email") == "x"))
        plans.find_all(BY_NAME, Department="Sales", LastName="Jones")
    assert span.records == []


def test_the_transactions_of_many_keys_are_those_that_the_call_makes() -> None:
    entities = full()
    keys = [{"Department": "Sales", "EmployeeId": number} for number in (1, 2, 3)]
    with entities.account.engine.ledger.span() as span:  # type: ignore[attr-defined]
        entities.get_many(keys)
    assert explain(entities).get_many(keys).transactions == span.totals.billable == 3
    with pytest.raises(BadInput, match="needs at least one key"):
        explain(entities).get_many([])


def better_code(entities: EntitySet[Any], where: Any) -> list[str]:
    return [code for better in explain(entities).query(where).better for code in better.code]


@pytest.mark.parametrize(
    ("where", "code"),
    [
        (SALES & (prop("Email") == "jo"), "find(<email_{Email}>, Department='Sales', Email='jo')"),
        (
            SALES & prop("Email").startswith("j"),
            "range(<email_{Email}>, Department='Sales', Email=between(...))",
        ),
        (SALES & (prop("LastName") == "Jones"), "find_all(<LastName>, Department='Sales', LastName='Jones')"),
        (prop("Badge") == "b7", "find(<badge_{Badge}/row>, Badge='b7')"),
    ],
)
def test_the_sets_own_index_is_named_where_it_serves(where: Any, code: str) -> None:
    assert better_code(full(), where)[0] == code


def test_the_call_that_is_named_finds_what_the_scan_finds() -> None:
    entities = full()
    entities.insert(JONES)
    where = SALES & (prop("Email") == "jonesj@contoso.com")
    (scanned,) = entities.query(where, allow=QueryClass.PARTITION_SCAN)
    assert better_code(entities, where)[0].startswith("find(<email_{Email}>, Department='Sales'")
    assert entities.find(BY_EMAIL, Department="Sales", Email="jonesj@contoso.com") == scanned


@pytest.mark.parametrize(
    ("where", "kind", "row"),
    [
        (SALES & (prop("LastName") == "Jones"), IntraPartitionIndex, {"LastName": "Jones"}),
        (SALES & (prop("Age") > 30), IntraPartitionIndex, {"Age": 34}),
        (prop("LastName") == "Jones", InterPartitionIndex, {"LastName": "Jones"}),
    ],
)
def test_an_index_that_is_proposed_can_be_declared_and_serves_then(
    where: Any, kind: Any, row: dict[str, object]
) -> None:
    (code,) = better_code(employees(), where)
    declared = eval(code, {"Key": Key, kind.__name__: kind})  # noqa: S307 - the text of the proposal is the subject
    assert isinstance(declared, kind)
    entities = employees(declared)
    entities.insert({"Department": "Sales", "EmployeeId": 223, **row})
    assert better_code(entities, where)[0].startswith("range(<")


LITERALS = ["'a'", "5", "5L", "5.5", "true", f"guid'{UUID(int=7)}'", "datetime'2014-01-01T00:00:00Z'", "X'ff'"]


@pytest.mark.parametrize("value", LITERALS)
@pytest.mark.parametrize("text", ["Price eq {}", "PartitionKey eq 'Sales' and Price eq {}", "Price gt {}"])
def test_a_key_that_is_proposed_accepts_the_value_that_is_compared(text: str, value: str) -> None:
    where = parse(text.format(value))
    plans = explain(where), explain(employees()).query(where)
    proposed = [code for plan in plans for each in plan.better for code in each.code]
    names = {"Key": Key, "IndexEntity": IndexEntity, "InTable": InTable}
    names |= {"IntraPartitionIndex": IntraPartitionIndex, "InterPartitionIndex": InterPartitionIndex}
    for code in proposed:
        entities = employees(eval(code, names))  # noqa: S307 - the text of the proposal is the subject
        price = next(each.value for each in comparisons(where) if each.name == "Price")
        assert entities.insert({"Department": "Sales", "EmployeeId": 223, "Price": price})["Price"] == price


def test_what_an_index_does_not_answer_is_left_to_check() -> None:
    plan = explain(full()).query(SALES & (prop("LastName") == "Jones") & (prop("Age") == 34))
    assert plan.better[0].words.endswith("; check Age of what it finds")


def test_an_index_whose_key_the_value_cannot_be_is_not_named() -> None:
    assert not any(code.startswith("find(<email") for code in better_code(full(), SALES & (prop("Email") == "a/b")))


def test_a_filter_under_or_is_served_by_no_index() -> None:
    where = SALES & ((prop("Email") == "a") | (prop("Email") == "b"))
    assert not any(code.startswith(("find(", "range(")) for code in better_code(full(), where))


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda of: of.get(Department="Sales"), BadKey),
        (lambda of: of.find(IntraPartitionIndex(Key("{Department}", "x_{X}")), Department="S", X="1"), BadInput),
        (lambda of: of.find_all(IndexEntity("Age"), Department="S", Age="1"), BadInput),
        (lambda of: of.range(Department="Sales", where=prop("RowKey") > "a"), BadFilter),
    ],
)
def test_a_call_that_the_set_rejects_is_rejected(call: Callable[[Plans], object], error: type[Exception]) -> None:
    with pytest.raises(error):
        call(explain(full()))


def test_a_condition_that_the_set_rejects_is_rejected_by_its_plan_too() -> None:
    with pytest.raises(BadFilter):
        list(full().range(Department="Sales", where=prop("RowKey") > "a"))
