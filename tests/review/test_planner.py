"""The planner: each way that it gives is carried out on 300 entities, and compared with a search of all of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from review.recall.recalled import each_design, reviewed
from tablepatterns import (
    EntitySet,
    IndexEntity,
    InterPartitionIndex,
    IntraPartitionIndex,
    Key,
    QueryClass,
    between,
    connect,
    prefix,
    prop,
)
from tablepatterns.entity_set.derived import Derived
from tablepatterns.errors import BadDesign
from tablepatterns.filters import And, Comparison, Filter, matcher, parse
from tablepatterns_review import DeclaredSet, Field, Query, Shape, explain, read_design
from tablepatterns_review.design.derived_arguments import rebuilt
from tablepatterns_review.design.key_parts import pieces_of_key
from tablepatterns_review.kinds import kind_of
from tablepatterns_review.kinds.plain import Plain
from tablepatterns_review.measure.account import sample_design, set_up
from tablepatterns_review.plans.planner import Way, code_of, index_candidates, ways
from tablepatterns_review.result import Finding

START = datetime(2024, 1, 1, tzinfo=timezone.utc)
PEOPLE: Sequence[Mapping[str, Any]] = [
    {
        "Department": f"dept{number % 12:02}",
        "EmployeeId": number,
        "Email": f"m{number:05}@contoso.com",
        "Age": 20 + (number // 12) % 50,
        "LastName": f"n{(number * 7) % 90:02}" + "x" * (number % 3),
        "City": f"city{(number // 12) % 40:02}",
        "Hired": START + timedelta(hours=number),
        "Score": float(number % 100) / 3,
    }
    for number in range(300)
]
ORDERS: Sequence[Mapping[str, Any]] = [
    {
        "Tenant": f"t{number % 20:02}",
        "OrderId": f"o_{number}",
        "Status": "ABCDE"[(number // 20) % 5],
        "Created": START + timedelta(hours=number),
    }
    for number in range(300)
]
EMPLOYEE = Shape(
    "Employee",
    20_000,
    {
        "Department": Field(distinct=12),
        "EmployeeId": Field("int32"),
        "Email": Field(size=24),
        "Age": Field("int32", distinct=50),
        "LastName": Field(distinct=3000),
        "City": Field(distinct=40),
        "Hired": Field("datetime", distinct=15_000),
        "Score": Field("double", distinct=100),
    },
)
ORDER = Shape(
    "Order",
    20_000,
    {
        "Tenant": Field(distinct=20),
        "OrderId": Field(size=12),
        "Status": Field(distinct=5),
        "Created": Field("datetime", distinct=15_000),
    },
)
BY_EMAIL = IntraPartitionIndex(Key("{Department}", "email_{Email}"))
BY_NAME = InterPartitionIndex(Key("lastname_{LastName}", "lastname_{Department}_{EmployeeId:06d}"))
INDEXES: Sequence[Derived] = (BY_EMAIL, BY_NAME, IndexEntity("City"))
VALUES: Mapping[str, Any] = {
    "Department": "dept03",
    "EmployeeId": 123,
    "Email": "m00123@contoso.com",
    "Age": 30,
    "LastName": "n51",
    "City": "city10",
    "Hired": START + timedelta(hours=123),
    "Score": 10.0,
    "Tenant": "t03",
    "OrderId": "o_123",
    "Status": "B",
    "Created": START + timedelta(hours=123),
}
MOST: Mapping[str, Any] = {
    **VALUES,
    "EmployeeId": 200,
    "Age": 40,
    "LastName": "n70",
    "Score": 20.0,
    "Created": START + timedelta(hours=250),
}
HERE = {"Department": "="}
IN_PARTITION = prop("PartitionKey") == "dept03"


@dataclass(frozen=True)
class Case:
    """A query, and the way that the planner must give.

    :param call: the best call, or the part of it before the arguments
    :param key: the templates of the index to declare; None if none is needed
    """

    name: str
    query: Query
    call: str
    key: tuple[str, str] | None = None
    derived: Sequence[Derived] = ()
    orders: bool = False

    @property
    def declared(self) -> DeclaredSet:
        key = Key("{Tenant}", "{OrderId}") if self.orders else Key("{Department}", "empid_{EmployeeId:06d}")
        shape = ORDER if self.orders else EMPLOYEE
        return DeclaredSet("Entities", "Entities", key, shape, derived=tuple(self.derived))

    @property
    def entities(self) -> Sequence[Mapping[str, Any]]:
        return ORDERS if self.orders else PEOPLE


def case(
    name: str,
    known: Mapping[str, Any],
    call: str,
    key: tuple[str, str] | None = None,
    *,
    derived: Sequence[Derived] = (),
    order: str | None = None,
    take: int | None = None,
) -> Case:
    query = Query("query", known, order=order, take=take, max_staleness=1.0)
    return Case(name, query, call, key, derived, orders="Tenant" in known)


def of_filter(name: str, where: Filter, call: str, *, derived: Sequence[Derived] = ()) -> Case:
    return Case(name, Query("query", filter=str(where)), call, None, derived)


def here(row: str) -> tuple[str, str]:
    return "{Department}", row


PRIMARY = "{Department}_{EmployeeId:06d}"
CASES = [
    case("e-mail in a department", {**HERE, "Email": "="}, "find(", here("email_{Email}")),
    case("e-mail anywhere", {"Email": "="}, "find(", ("email_{Email}", "email")),
    case("ages in a department", {**HERE, "Age": "range"}, "range(", here("age_{Age:010d}_{EmployeeId:06d}")),
    case("ages anywhere", {"Age": "range"}, "range(", ("age", f"age_{{Age:010d}}_{PRIMARY}")),
    case("name anywhere", {"LastName": "="}, "range(", ("lastname_{LastName}", f"lastname_{PRIMARY}")),
    case("name here", {**HERE, "LastName": "="}, "range(", here("lastname_{LastName}_{EmployeeId:06d}")),
    case("e-mail by its index", {**HERE, "Email": "="}, "find(<email_{Email}>, ", derived=[BY_EMAIL]),
    case(
        "e-mail and age by an index",
        {**HERE, "Email": "=", "Age": "="},
        "find(<email_{Email}>, Department=..., Email=...); Age checked by the caller",
        derived=[BY_EMAIL],
    ),
    case(
        "beginning of a name",
        {**HERE, "LastName": "prefix"},
        "range(",
        here("lastname_{LastName}_{EmployeeId:06d}"),
    ),
    case(
        "names from and to",
        {**HERE, "LastName": "range"},
        "range(",
        here("lastname_{LastName:escape}_{EmployeeId:06d}"),
    ),
    case(
        "name and ages",
        {**HERE, "LastName": "=", "Age": "range"},
        "range(",
        here("lastname_{LastName}_{Age:010d}_{EmployeeId:06d}"),
    ),
    case(
        "age and city",
        {**HERE, "Age": "=", "City": "="},
        "range(",
        here("age_{Age:010d}_{City}_{EmployeeId:06d}"),
    ),
    case(
        "first ten of a city by name",
        {"City": "="},
        "take(10, ",
        ("city_{City}", "city_{LastName:escape}_{Department:escape}_{EmployeeId:06d}"),
        order="LastName",
        take=10,
    ),
    case(
        "newest ten hired",
        HERE,
        "take(10, ",
        here("hired_{Hired:inverted}_{EmployeeId:06d}"),
        order="-Hired",
        take=10,
    ),
    case("number in any department", {"EmployeeId": "="}, "find(", ("employeeid_{EmployeeId:06d}", "employeeid")),
    case("by key", {**HERE, "EmployeeId": "="}, "get("),
    case("a department", HERE, "range("),
    case("numbers in a department", {**HERE, "EmployeeId": "range"}, "range("),
    case("beginning of an e-mail", {"Email": "prefix"}, "range(", ("email", f"email_{{Email}}_{PRIMARY}")),
    of_filter(
        "either of two cities", IN_PARTITION & ((prop("City") == "city10") | (prop("City") == "city11")), "range("
    ),
    of_filter(
        "either of two keys",
        IN_PARTITION & ((prop("RowKey") == "empid_000123") | (prop("RowKey") == "empid_000135")),
        "range(",
    ),
    of_filter("another age", IN_PARTITION & (prop("Age") != 3), "range("),
    of_filter("no partition can be two", IN_PARTITION & (prop("PartitionKey") == "x"), "range("),
    case(
        "e-mail and beginning of a name by an index",
        {**HERE, "Email": "=", "LastName": "prefix"},
        "find(<email_{Email}>, ",
        derived=INDEXES,
    ),
    case("name by its index", {"LastName": "="}, f"range(<{BY_NAME.name}>, LastName=...)", derived=INDEXES),
    case(
        "name and ages by an index",
        {"LastName": "=", "Age": "range"},
        "range(<by last name and age>, LastName=..., Age=between(...))",
        ("lastname_{LastName}", f"lastname_{{Age:010d}}_{PRIMARY}"),
        derived=INDEXES,
    ),
    case("city by its list", {**HERE, "City": "="}, "find_all(<City>, Department=..., City=...)", derived=INDEXES),
    case("scores here", {**HERE, "Score": "range"}, "range(", here("score_{Score:float}_{EmployeeId:06d}")),
    case(
        "status, with keys of any text",
        {"Tenant": "=", "Status": "="},
        "range(",
        ("status_{Status}", "status_{Tenant}_{OrderId}"),
    ),
    case(
        "status and time, with keys of any text",
        {"Tenant": "=", "Status": "=", "Created": "range"},
        "range(",
        ("status_{Status}", "status_{Tenant}_{Created:ticks}_{OrderId}"),
    ),
    of_filter(
        "either of two names", (prop("LastName") == "n51") | (prop("LastName") == "n52"), "scan(", derived=INDEXES
    ),
]


def argument(name: str, how: str) -> Any:
    """Return the argument of a call for a field."""
    if how == "prefix":
        return prefix(VALUES[name][:2])
    return between(VALUES[name], MOST[name]) if how == "range" else VALUES[name]


def condition(name: str, how: str) -> Filter:
    """Return the condition for a field."""
    if how == "prefix":
        return prop(name).startswith(VALUES[name][:2])
    if how == "range":
        return prop(name).between(VALUES[name], MOST[name])
    return prop(name) == VALUES[name]


def is_match(entity: Mapping[str, Any], known: Mapping[str, Any]) -> bool:
    return all(matcher(condition(name, how))(entity.get) for name, how in known.items())


def carried_out(entities: EntitySet[Any], way: Way) -> Iterator[Mapping[str, Any]]:
    """Make the call of a way, and yield what it returns."""
    via: Any = way.via
    key = {name: argument(name, way.query.known[name]) for name in way.key_fields}
    conditions = [condition(name, way.query.known[name]) for name in way.where]
    where = And(*conditions) if len(conditions) > 1 else next(iter(conditions), None)
    match way.method:
        case "get":
            yield from filter(None, [entities.get(key)])
        case "find":
            yield from filter(None, [entities.find(via, key)])
        case "find_all":
            yield from entities.find_all(via, key)
        case "range" if way.take is not None:
            yield from entities.take(way.take, via, key, where=where)
        case _:
            yield from entities.range(via, key, where=where, allow=QueryClass.PARTITION_SCAN)


@pytest.mark.parametrize("example", CASES, ids=lambda example: example.name)
def test_the_best_way_is_the_expected_one(example: Case) -> None:
    best = ways(example.declared, example.query)[0]
    assert best.call.startswith(example.call)
    declared = None if best.declare is None else (best.declare.key.partition_template, best.declare.key.row_template)
    assert declared == example.key


@pytest.mark.parametrize("example", [each for each in CASES if each.query.filter is None], ids=lambda each: each.name)
def test_a_way_returns_what_a_search_of_all_entities_returns(example: Case) -> None:
    query, declared_set = example.query, example.declared
    every = ways(declared_set, query)
    for way in [way for way in every if way is every[0] or way.declare is not None]:
        added = () if way.declare is None else (way.declare,)
        storage = connect()
        entities = EntitySet(storage, "Entities", declared_set.key, derived=(*declared_set.derived, *added))
        Plain(storage, entities).load(example.entities)
        assert storage.engine is not None
        with storage.engine.ledger.span() as span:
            found = [entity for entity in carried_out(entities, way) if is_match(entity, query.known)]
        expected = [entity for entity in example.entities if is_match(entity, query.known)]
        if query.order is not None and way.take is not None:
            name = query.order.removeprefix("-")
            expected = sorted(expected, key=lambda entity: entity[name], reverse=query.order.startswith("-"))
            assert [entity[name] for entity in found] == [entity[name] for entity in expected[: query.take]]
        else:
            assert sorted(map(declared_set.key.keys_of, found)) == sorted(map(declared_set.key.keys_of, expected))
        if way.declare is not None:
            assert {record.query_class for record in span.records} <= {"point query", "range query"}


def test_no_index_is_offered_that_the_recipe_rejects() -> None:
    of_text = DeclaredSet("Orders", "Orders", Key("{Tenant}", "{OrderId}"), ORDER)
    query = Query("by status", {"Tenant": "=", "Status": "="})
    assert list(index_candidates(of_text, ["Status"], query, local=True)) == []
    for index in index_candidates(of_text, ["Status"], query, local=False):
        EntitySet(connect(), "Orders", of_text.key, derived=[index])
    index = IntraPartitionIndex(Key("{Tenant}", "status_{Status}_{OrderId}"))
    with pytest.raises(BadDesign):
        EntitySet(connect(), "Orders", of_text.key, derived=[index])


def test_a_shape_tells_explain_what_is_unique_and_how_large_a_number_is() -> None:
    entities = EntitySet(connect(), "Employees", Key("{Department}", "empid_{EmployeeId:06d}"))
    where = prop("Email") == "jonesj@contoso.com"
    (unique,) = explain(entities, EMPLOYEE).query(where).better
    assert unique.code == ('InterPartitionIndex(Key("email_{Email}", "email"), unique=True)',)
    (shared,) = explain(entities).query(where).better
    assert shared.code == (f'InterPartitionIndex(Key("email_{{Email}}", "email_{PRIMARY}"))',)


@each_design
def test_explain_reviews_and_advice_give_the_same_way(design_path: Path) -> None:
    found, changes = reviewed(design_path)
    by_subject = {finding.subject: (finding, change) for finding, change in zip(found.findings, changes, strict=True)}
    design = read_design(design_path)
    with connect() as storage:
        samples = set_up(sample_design(design, 20), storage).samples
    for measured in found.measured:
        declared_set, query = measured.of, measured.access
        if not isinstance(declared_set, DeclaredSet) or not isinstance(query, Query) or query.archived:
            continue
        every = ways(declared_set, query)
        if query.filter is None:
            now = next(way for way in every if way.declare is None)
            assert (measured.how, measured.via) == (now.call, now.via and now.via.name)
        finding, change = by_subject.get(measured.of.name + ": " + query.name, (None, None))
        if isinstance(finding, Finding) and finding.rule == "missing-index" and change is not None:
            assert change.derived is not None
            index: Any = change.derived.new
            # A change may leave out of an index what updates change
            changed = {name for write in declared_set.writes for name in write.changes or ()}
            assert changed.isdisjoint(index.include or ())
            whole = rebuilt(index, include=None)
            assert code_of(whole) in [code_of(way.declare) for way in every if way.declare is not None]
        if can_be_explained(declared_set, query) and samples[declared_set.name].stored:
            check_explained(declared_set, query, samples[declared_set.name].stored[0])


def can_be_explained(declared_set: DeclaredSet, query: Query) -> bool:
    """Whether a query of a plain set can be asked by a filter on its properties."""
    key, known = declared_set.key, query.known
    is_plain = kind_of(declared_set).shares_tables and not declared_set.mappings
    has_finders = all(profile.finder is not None for _, profile in declared_set.profiles())
    has_properties = bool(known) and not set(known).intersection(key.row_fields)
    has_partition = all(known.get(name) == "=" for name in key.partition_fields)
    is_known = has_partition or not set(known).intersection(key.partition_fields)
    # A filter compares instants, and such an index finds those of a minute or a day
    keys = (key for key in declared_set.keys if not {*key.fields}.isdisjoint(known))
    if any("%" in piece.spec for key in keys for piece in pieces_of_key(key) if piece.name in known):
        return False
    return is_plain and has_finders and has_properties and is_known and set(known.values()) <= {"=", "range"}


def check_explained(declared_set: DeclaredSet, query: Query, entity: Mapping[str, Any]) -> None:
    """Compare the first advice of `explain` with the best way."""
    key = declared_set.key
    conditions: list[Filter] = []
    if all(query.known.get(name) == "=" for name in key.partition_fields) and key.partition_fields:
        partition, _ = key.format({name: entity[name] for name in key.fields})
        conditions.append(prop("PartitionKey") == partition)
    conditions += [
        Comparison(name, "eq" if how == "=" else "ge", entity[name])
        for name, how in query.known.items()
        if name not in key.partition_fields
    ]
    if all(name in key.partition_fields for name in query.known):
        return
    entities = EntitySet(connect(), declared_set.table, key, derived=declared_set.derived)
    where = parse(" and ".join(map(str, conditions)))
    better = [each for each in explain(entities, declared_set.shape).query(where).better if each.code]
    expected = ways(declared_set, Query("", query.known))
    served = next((way for way in expected if way.via is not None and way.declare is None and not way.is_scan), None)
    index = next((way.declare for way in expected if way.declare is not None), None)
    if served is not None and served.via is not None:
        assert better[0].code[0].startswith(f"{served.method}(<{served.via.name}>")
    elif index is not None:
        assert better[0].code == (code_of(index),)
