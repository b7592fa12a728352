"""A filter on key fields, which are stored only in the keys, gives what Python gives, or is rejected; never nothing."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from enum import Enum
from functools import partial
from typing import Any
from uuid import UUID

import pytest
from hypothesis import assume, given, reject
from hypothesis import strategies as st

from tablepatterns import (
    BulkDelete,
    EntitySet,
    InterPartitionIndex,
    IntraPartitionIndex,
    Key,
    ParallelReads,
    PartitionSpread,
    Period,
    PeriodTables,
    QueryClass,
    Rekey,
    Ticks,
    Traffic,
    connect,
    explain,
    parse,
    prop,
)
from tablepatterns.edm import ordinal
from tablepatterns.errors import BadDesign, BadFilter, BadInput, BadKey, EntityAlreadyExists
from tablepatterns.filters import And, Comparison, Filter, Not, Or, comparisons
from tablepatterns.key import above, at_most
from tablepatterns.key.key_filter import stored_filter

ALL = QueryClass.TABLE_SCAN


def instant(hour: int, minute: int = 0) -> datetime:
    return datetime(2024, 2, 28, hour, minute, tzinfo=timezone.utc)


TEXTS = ["", "A", "a", "a.", "a.b", "a_b", "ab", "b", "\ud7ff", "\U00010000", "\ue000"]
VALUES: Mapping[str, list[Any]] = {
    "": TEXTS,
    ":escape": [*TEXTS, "a/b", "a b", "a\x7f"],
    ":02d": [0, 1, 9, 10, 99],
    ":+02d": [-99, -1, 0, 1, 99],
    ":float": [-1.5, 0.0, 1.0, 2.5],
    ":ticks": [instant(1), instant(2), Ticks(7)],
    ":inverted": [instant(1), instant(2), Ticks(7)],
    ":%Y-%m-%d": [date(2024, 2, 28), date(2024, 2, 29), date(2025, 1, 1)],
    ":%Y%m%dT%H": [instant(1), instant(2)],
    ":uuid": [UUID(int=1), UUID(int=2**127)],
}
OTHERS = [5, 2.5, "a/b", "a\uffff", "a#", True, instant(1, 30), 10**6, "2024-02-28"]
"""Values of other types, and those that no key can hold."""
OPERATORS: Mapping[str, Callable[[Any, Any], bool]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "gt": operator.gt,
    "ge": operator.ge,
    "lt": operator.lt,
    "le": operator.le,
}


def comparable(value: Any) -> Any:
    """Return the value as the service orders it."""
    if isinstance(value, str):
        return ordinal(value)
    if isinstance(value, (datetime, Ticks)):
        return ("instant", int(Ticks.of(value) if isinstance(value, datetime) else value))
    return ("day", value.isoformat()) if isinstance(value, date) else value


def compares(value: Any, constant: Any, operator_name: str) -> bool:
    """Compare a property with a constant; one of another type counts as less."""
    if isinstance(constant, str) and type(value) is date and constant == "2024-02-28":
        # A text filter has no other form of a date
        constant = date(2024, 2, 28)
    one, other = comparable(value), comparable(constant)
    if type(one) is float and type(other) is int:
        other = float(other)
    is_same_kind = type(one) is type(other) and (not isinstance(one, tuple) or one[0] == other[0])
    return OPERATORS[operator_name](one, other) if is_same_kind else operator_name in ("ne", "lt", "le")


def is_match(where: Filter, entity: Mapping[str, Any]) -> bool:
    """Evaluate a filter in Python."""
    match where:
        case Comparison():
            value = entity.get(where.name)
            return value is not None and compares(value, where.value, where.operator)
        case Not(term=term):
            return not is_match(term, entity)
        case And(terms=terms):
            return all(is_match(term, entity) for term in terms)
        case Or(terms=terms):
            return any(is_match(term, entity) for term in terms)
    raise AssertionError(where)


@dataclass
class Case:
    """The keys of a set, of its indexes and after a move, entities that may fit them, and a filter on their fields."""

    key: Key
    near: Key
    far: Key
    new: Key
    entities: list[dict[str, Any]]
    where: Filter
    values: Mapping[str, list[Any]]
    """What each field may be."""


@st.composite
def cases(draw: st.DrawFn) -> Case:
    specs = {name: draw(st.sampled_from(sorted(VALUES))) for name in "ABCD"} | {"N": ":02d"}

    def template(head: str, names: Any) -> str:
        separator = draw(st.sampled_from(["_", "-x-", " "]))
        return head + separator.join(f"{{{name}{specs[name]}}}" for name in names)

    names, head = draw(st.permutations("ABCD")), draw(st.sampled_from(["", "p_", "Ä"]))
    split = draw(st.integers(0, 2))
    partition = template(head, names[:split]) or "all"
    others = draw(st.permutations([*names[split:], "N"]))
    try:
        key = Key(partition, template("r_", names[split:]))
        near = Key(partition, template("near_", others[draw(st.integers(0, 1)) :]))
        far = Key(template("far_", others[:1]), template("r_", [*names[:split], *others[1:]]))
        first, *after = draw(st.permutations("ABCD"))
        new = Key(template("new_", [first]), template("r_", after))
    except BadDesign:
        reject()
    row = st.fixed_dictionaries(
        {name: st.sampled_from(VALUES[specs[name]]) for name in "ABCD"},
        optional={"N": st.integers(0, 3), "S": st.sampled_from(TEXTS)},
    )
    values = {name: VALUES[specs[name]] for name in "ABCD"} | {"N": [0, 1, 2, 3], "S": TEXTS}

    def compared(name: str) -> st.SearchStrategy[Filter]:
        own = st.sampled_from(values[name])
        equal = own.map(lambda value: prop(name) == value)
        any_of = st.builds(
            compare, st.just(name), st.sampled_from(sorted(OPERATORS)), own | own | st.sampled_from(OTHERS)
        )
        texts = st.sampled_from([each for each in values[name] if isinstance(each, str)] or ["a"])
        return equal | any_of | texts.map(prop(name).startswith)

    def combined(terms: st.SearchStrategy[Filter]) -> st.SearchStrategy[Filter]:
        some = st.lists(terms, min_size=2, max_size=3).filter(lambda each: sum(one.comparisons for one in each) <= 15)
        return some.map(lambda each: And(*each)) | some.map(lambda each: Or(*each)) | terms.map(Not)

    leaves = st.sampled_from("ABCDABCDNS").flatmap(compared)
    where = draw(st.recursive(leaves, combined, max_leaves=6))
    return Case(key, near, far, new, draw(st.lists(row, max_size=8)), where, values)


def compare(name: str, operator_name: str, value: Any) -> Filter:
    comparison: Filter = OPERATORS[operator_name](prop(name), value)
    return comparison


def stored(case: Case) -> tuple[EntitySet[Any], IntraPartitionIndex, InterPartitionIndex, list[dict[str, Any]]]:
    """Return the set, its indexes, and the entities that fit all keys."""
    near, far = IntraPartitionIndex(case.near), InterPartitionIndex(case.far, table="Copies")
    entity_set = EntitySet(connect("memory://"), "Things", case.key, derived=[near, far])
    for fields in case.entities:
        with suppress(BadInput, EntityAlreadyExists):
            entity_set.insert(fields)
    return entity_set, near, far, [dict(entity) for entity in entity_set.scan()]


Expected = Callable[[Key, Mapping[str, Any]], list[Any]]
LONG_AGO, LEAP_DAY = datetime(1, 1, 1, tzinfo=timezone.utc), datetime(2024, 2, 29, tzinfo=timezone.utc)


def outcome(key: Key, read: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """Return the keys of the entities that a call returns, or the rejection."""
    try:
        entities = read(*args, **options)
        return sorted(map(key.keys_of, getattr(entities, "items", entities)))
    except BadFilter:
        return BadFilter


@given(cases())
def test_each_call_returns_what_python_selects_or_rejects_the_filter(case: Case) -> None:
    things, near, far, entities = stored(case)
    where, key, reads = case.where, case.key, ParallelReads(things)

    def expected(of: Key, known: Mapping[str, Any]) -> list[Any]:
        in_range = [each for each in entities if all(each.get(name) == value for name, value in known.items())]
        chosen = [each for each in in_range if None not in map(each.get, of.fields) and is_match(where, each)]
        return sorted(map(key.keys_of, chosen))

    whole = [
        outcome(key, things.scan, where),
        outcome(key, things.query, where, allow=ALL),
        outcome(key, things.scan, parse(str(where))) if all(map(is_plain, comparisons(where))) else 0,
    ]
    assert whole[0] in (BadFilter, expected(key, {}))
    assert whole[1] == whole[0]
    assert whole[2] in (0, whole[0])
    for via, of in ((None, key), (near, case.near), (far, case.far)):
        partitions = {of.keys_of(each)[0]: each for each in entities if None not in map(each.get, of.fields)}
        for entity in partitions.values():
            known = {name: entity[name] for name in of.partition_fields}
            ranges = [
                outcome(key, things.range, via, known, where=where, allow=ALL),
                outcome(key, things.take, 9, via, known, where=where, allow=ALL),
                outcome(key, things.page, via, known, where=where, allow=ALL),
                outcome(key, partial(entities_of, reads.ranges), [known], via, where=where, allow=ALL),
            ]
            assert ranges[0] in (BadFilter, expected(of, known)), (via, known)
            assert ranges == ranges[:1] * len(ranges)
            if via is None and whole[0] is not BadFilter:
                assert ranges[0] is not BadFilter
    check_periods(case, entities, whole[0], expected)
    check_move(case, entities, whole[0], expected)
    try:
        deleted = BulkDelete(things).delete(where, allow=ALL).entities
    except BadFilter:
        assert whole[0] is BadFilter
        assert len(list(things.scan())) == len(entities)
    else:
        assert deleted == len(whole[0])
        assert outcome(key, things.scan) == sorted({*map(key.keys_of, entities)} - {*whole[0]})


@given(cases(), st.data())
def test_a_condition_that_contradicts_the_range_selects_nothing_and_scans_nothing(case: Case, data: Any) -> None:
    things, near, far, entities = stored(case)
    via, key = data.draw(st.sampled_from([(None, case.key), (near, case.near), (far, case.far)]))
    complete = [each for each in entities if None not in map(each.get, key.fields)]
    assume(complete and key.partition_fields)
    entity, count = data.draw(st.sampled_from(complete)), data.draw(st.integers(0, len(key.row_fields)))
    known = {name: entity[name] for name in key.fields[: len(key.partition_fields) + count]}
    name = data.draw(st.sampled_from(sorted(known)))
    others = [value for value in case.values[name] if comparable(value) != comparable(known[name])]
    contradiction = compare(name, "eq", data.draw(st.sampled_from(others)))
    where = contradiction & data.draw(st.sampled_from([contradiction, prop("S") == "a", ~(prop("S") > "b")]))
    expected: Any = []
    try:
        stored_filter(key, contradiction, known)
    except BadFilter:
        # No key can hold the other value
        expected = BadFilter
    with Traffic(things.account) as traffic:
        for read in (things.range, partial(things.take, 9), things.page):
            assert outcome(case.key, read, via, known, where=where) == expected
        ranges = partial(entities_of, ParallelReads(things).ranges)
        assert outcome(case.key, ranges, [known], via, where=where) == expected
    traffic.assert_no_scans()


def check_periods(case: Case, entities: Sequence[Mapping[str, Any]], whole: Any, expected: Expected) -> None:
    """Check that tables of periods answer like one set, with the instant in the key or not."""
    key, where = case.key, case.where
    in_key = [name for name in key.row_fields if any(isinstance(each[name], (datetime, Ticks)) for each in entities)]
    for at in {"At", *in_key[:1]}:
        periods = PeriodTables(connect("memory://"), "Things", Period.DAY, factory=partial(EntitySet, key=key), at=at)
        assert outcome(key, periods.scan, where) in (BadFilter, [])
        for number, fields in enumerate(entities):
            periods.insert({"At": LEAP_DAY + timedelta(days=number % 3), **fields})
        assert outcome(key, periods.scan, where) == whole
        assert outcome(key, periods.query, where, allow=ALL) == whole
        for known in ({name: each[name] for name in key.partition_fields} for each in entities):
            span = LONG_AGO, datetime(2100, 1, 1, tzinfo=timezone.utc)
            ranges = [outcome(key, periods.take, 9, known, where=where, allow=ALL)]
            with suppress(BadKey):
                # An instant behind other fields of the RowKey cannot be given alone
                ranges.append(outcome(key, periods.range, *span, known, where=where, allow=ALL))
            assert ranges in ([BadFilter] * len(ranges), [expected(key, known)] * len(ranges)), (at, known)
            assert whole is BadFilter or BadFilter not in ranges


def check_move(case: Case, entities: Sequence[Mapping[str, Any]], whole: Any, expected: Expected) -> None:
    """Check that the entities of a move answer by the old and the new key, before and after the cut-over."""
    storage, where = connect("memory://"), case.where
    old, new = EntitySet(storage, "Old", case.key), EntitySet(storage, "New", case.new)
    move = Rekey(old, new, refresh=0)
    for fields in entities:
        move.entities.insert(fields)
    if not move.copy().is_clean or not move.verify().is_clean:
        # A value fits the old key only
        return
    for primary in (case.key, case.new):
        found = [
            outcome(case.key, move.entities.scan, where),
            outcome(case.key, move.entities.query, where, allow=ALL),
        ]
        assert found in ([BadFilter] * 2, [expected(case.key, {})] * 2)
        assert primary is case.new or found == [whole] * 2
        for of in (case.key, case.new):
            for known in ({name: each[name] for name in of.partition_fields} for each in entities):
                ranges = [
                    outcome(case.key, move.entities.range, known, where=where, allow=ALL),
                    outcome(case.key, move.entities.take, 9, known, where=where, allow=ALL),
                    outcome(case.key, move.entities.page, known, where=where, allow=ALL),
                ]
                assert ranges in ([BadFilter] * 3, [expected(case.key, known)] * 3), (primary, known)
        if primary is case.key:
            move.cut_over()


def entities_of(read: Callable[..., Any], *args: Any, **options: Any) -> Any:
    return read(*args, **options).all_or_raise()


def is_plain(comparison: Comparison) -> bool:
    return not isinstance(comparison.value, date)


BOOKINGS = Key("{Venue}", "{Day:%Y-%m-%d}_{Hour:02d}")


@pytest.mark.parametrize(
    ("where", "sent"),
    [
        (prop("Venue") == "Hall", "PartitionKey eq 'Hall'"),
        (prop("Venue") != "Hall", "PartitionKey ne 'Hall'"),
        (prop("Venue").startswith("a."), "PartitionKey ge 'a.' and PartitionKey lt 'a0'"),
        (prop("Day") == date(2024, 2, 28), "RowKey ge '2024-02-28_' and RowKey lt '2024-02-28`'"),
        (parse("Day eq '2024-02-28' and Hour ge 9"), "RowKey ge '2024-02-28_09' and RowKey lt '2024-02-28`'"),
        (
            (prop("Day") == date(2024, 2, 28)) & ((prop("Hour") == 9) | (prop("Hour") == 11)) & (prop("Seats") > 2),
            "RowKey ge '2024-02-28_' and RowKey lt '2024-02-28`' and "
            "(RowKey eq '2024-02-28_09' or RowKey eq '2024-02-28_11') and Seats gt 2",
        ),
        (~(prop("Venue") == "Hall") | (prop("Seats") > 2), "not (PartitionKey eq 'Hall') or Seats gt 2"),
        (prop("Seats") > 2, "Seats gt 2"),
    ],
)
def test_conditions_on_key_fields_become_conditions_on_the_keys(where: Filter, sent: str) -> None:
    assert str(stored_filter(BOOKINGS, where)) == sent


@pytest.mark.parametrize(
    ("key", "where", "words"),
    [
        (BOOKINGS, prop("Hour") >= 9, "Hour is stored only inside the RowKey .* after Day; also compare Day with =="),
        (BOOKINGS, (prop("Day") >= date(2024, 1, 1)) & (prop("Hour") == 9), "also compare Day with =="),
        (BOOKINGS, prop("Hour") == "9", "it must be an int, not str|after Day"),
        (BOOKINGS, prop("Venue") == "a/b", "may not contain '/'"),
        (BOOKINGS, prop("Venue") == 5, "text must be a str, not int"),
        (Key("{Venue}_{Room}", "{Hour:02d}"), prop("Venue") > "a", "do not sort by a text field that is followed by"),
        (Key("{Venue}", "{At:ticks}"), prop("At") > 5, "must be a datetime or Ticks"),
    ],
)
def test_a_condition_that_the_keys_cannot_answer_is_rejected(key: Key, where: Filter, words: str) -> None:
    things = EntitySet(connect("memory://"), "Things", key)
    with pytest.raises(BadFilter, match=words):
        list(things.scan(where))
    with pytest.raises(BadFilter, match=words):
        explain(things).query(where)


def test_a_query_by_the_partitions_field_is_a_range_query() -> None:
    bookings = EntitySet(connect("memory://"), "Bookings", BOOKINGS)
    for hour in (9, 10, 11):
        bookings.insert({"Venue": "Hall", "Day": date(2024, 2, 28), "Hour": hour, "Seats": hour})
    where = (prop("Venue") == "Hall") & (prop("Day") == date(2024, 2, 28)) & (prop("Hour") > 9)
    assert explain(bookings).query(where).query_class is QueryClass.RANGE
    assert [each["Hour"] for each in bookings.query(where)] == [10, 11]
    assert BulkDelete(bookings).delete(where).entities == 2


class Status(Enum):
    OPEN = "open"
    PAID = "paid"


@dataclass
class Booking:
    venue: str
    day: date
    status: Status
    seats: int = 0


def test_a_model_compares_key_fields_with_values_of_their_types() -> None:
    key = Key("{venue}", "{day:%Y-%m-%d}_{status}")
    bookings = EntitySet(connect("memory://"), "Bookings", key, model=Booking)
    for day in (1, 2, 3):
        for status in Status:
            bookings.insert(Booking("Hall", date(2024, 1, day), status, seats=day))
    where = (prop("day") == date(2024, 1, 2)) & (prop("status") == Status.PAID)
    paid = [Booking("Hall", date(2024, 1, 2), Status.PAID, seats=2)]
    assert list(bookings.scan(where)) == paid
    assert list(bookings.range(venue="Hall", where=where)) == paid
    assert ParallelReads(bookings).ranges([{"venue": "Hall"}], where=where).entities[0].seats == 2
    assert len(list(bookings.scan(prop("day") > date(2024, 1, 1)))) == 4
    for call in (bookings.scan, lambda where: BulkDelete(bookings).delete(where, allow=ALL)):
        with pytest.raises(BadFilter, match="no such field"):
            list(call(prop("stauts") == "paid"))
        with pytest.raises(BadFilter, match="after day"):
            list(call(prop("status") == Status.PAID))
    assert BulkDelete(bookings).delete(where, allow=ALL).entities == 1
    assert BulkDelete(bookings).delete(venue="Hall", day=date(2024, 1, 3), status=Status.OPEN).entities == 1
    assert len(list(bookings.scan())) == 4


def test_the_buckets_and_periods_of_a_set_answer_alike() -> None:
    spread = PartitionSpread(connect("memory://"), "Spread", Key("{Venue}", "{Hour:02d}"), by=["Hour"], buckets=3)
    for hour in range(9):
        spread.insert({"Venue": "Hall", "Hour": hour})
    assert [each["Hour"] for each in spread.range(Venue="Hall", where=prop("Hour") >= 6, allow=ALL)] == [6, 7, 8]
    with pytest.raises(BadFilter, match="must be an int"):
        spread.take(1, Venue="Hall", where=prop("Hour") >= "6", allow=ALL)


def test_the_empty_text_is_below_every_other_text() -> None:
    things = EntitySet(connect(), "Things", Key("{A}", "{B}"))
    for text in ("", "x", "y"):
        things.insert({"A": "a", "B": text})
    assert [thing["B"] for thing in things.range(A="a", B=above(""))] == ["x", "y"]
    assert [thing["B"] for thing in things.range(A="a", B=at_most(""))] == [""]
    assert [thing["B"] for thing in things.query((prop("A") == "a") & (prop("B") > "") & (prop("B") < "y"))] == ["x"]
