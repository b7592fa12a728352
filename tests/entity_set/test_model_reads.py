"""Reads of entities that do not fit the model raise, skip or report them."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import datetime, timezone
from typing import Any

import pytest

from entity_set.test_model_rules import KEY, KEYS, OfDataclass, OfPydantic, made
from tablepatterns import (
    ChildSet,
    EntitySet,
    IndexEntity,
    IntraPartitionIndex,
    Key,
    LogTail,
    QueryClass,
    WideEntity,
    connect,
    prop,
)
from tablepatterns.errors import BadDesign, UnrecognizedEntity
from tablepatterns.jobs import migrate, verify

AT = datetime(2026, 7, 31, tzinfo=timezone.utc)


BY_SEATS = IntraPartitionIndex(Key("{room}", "seats_{seats:04d}_{hour:04d}"))
LISTED = IndexEntity("limit", key=Key("{room}", "limit_{limit:04d}"))


def spoil(bookings: Any, hours: list[int]) -> None:
    for hour in hours:
        bookings.without_model().update(lambda each: {**each, "seats": 500}, room="red", hour=hour)


def bookings_with(on_unrecognized: Any, *, bad: list[int]) -> Any:
    bookings: Any = EntitySet(
        connect(), "Bookings", KEY, model=OfPydantic, derived=[BY_SEATS, LISTED], on_unrecognized=on_unrecognized
    )
    for hour in range(6):
        bookings.insert(made(OfPydantic, hour=hour))
    spoil(bookings, bad)
    return bookings


READS: dict[str, Callable[[Any], Any]] = {
    "get": lambda on: [on.get(room="red", hour=0)],
    "get_many": lambda on: on.get_many([{"room": "red", "hour": hour} for hour in range(6)]),
    "find": lambda on: [on.find(BY_SEATS, room="red", seats=500, hour=0)],
    "range": lambda on: list(on.range(room="red")),
    "range of an index": lambda on: list(on.range(BY_SEATS, room="red")),
    "page": lambda on: on.page(room="red").items,
    "take": lambda on: on.take(6, room="red"),
    "query": lambda on: list(on.query(prop("PartitionKey") == "red", allow=QueryClass.PARTITION_SCAN)),
    "scan": lambda on: list(on.scan()),
    "find_all": lambda on: on.find_all(LISTED, room="red", limit=100),
}


@pytest.mark.parametrize("name", READS)
def test_reads_raise_skip_or_report_what_does_not_fit(name: str, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(UnrecognizedEntity, match="seats"):
        READS[name](bookings_with("raise", bad=[0, 3]))
    with caplog.at_level(logging.WARNING, "tablepatterns"):
        read = READS[name](bookings_with("skip", bad=[0, 3]))
    hours = [each.hour for each in read if each is not None]
    assert hours == ([] if name in ("get", "find") else [1, 2, 4, 5])
    if name == "get_many":
        assert [each is None for each in read] == [True, False, False, True, False, False]
    # A command that ran in this process before lets the package log more
    warnings = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert len(warnings) == (1 if name in ("get", "find") else 2)
    reported: list[UnrecognizedEntity] = []
    assert READS[name](bookings_with(reported.append, bad=[0, 3])) == read
    assert reported[0].key is not None
    assert [each.key[1] for each in reported if each.key][:1] == (
        ["seats_0500_0000"] if name in ("find", "range of an index") else ["0000"]
    )


@pytest.mark.parametrize("bad", [[0], [0, 1, 2], [1, 3, 5], list(range(6))])
def test_take_reads_on_behind_what_it_skips_and_reports_it_once(bad: list[int]) -> None:
    reported: list[UnrecognizedEntity] = []
    bookings = bookings_with(reported.append, bad=bad)
    good = [hour for hour in range(6) if hour not in bad]
    assert [each.hour for each in bookings.take(2, room="red")] == good[:2]
    assert len({each.key for each in reported}) == len(reported)


def test_the_newest_entries_of_logs_are_not_fewer() -> None:
    log: Any = LogTail(connect(), "Log", "{room}", at="at", entry="entry", model=OfDataclass, on_unrecognized="skip")
    for room in ("red", "blue"):
        for hour in range(4):
            log.append(OfDataclass(room, hour, at=AT.replace(hour=hour)))
    for room in ("red", "blue"):
        for entity in [each for each in log.without_model().range(room=room) if each["hour"] in (3, 2)]:
            log.without_model().merge(entity, {"seats": 500})
    assert [each.hour for each in log.latest(2, room="red")] == [1, 0]
    both = log.latest_of_each(2, [{"room": "red"}, {"room": "blue"}])
    assert [[each.hour for each in one] for one in both] == [[1, 0], [1, 0]]
    assert log.latest_of_each(2, []) == []
    assert [each.hour for each in log.between(AT, None, room="red")] == [1, 0]


def test_what_does_not_fit_can_be_replaced_and_verified() -> None:
    bookings = bookings_with("skip", bad=[0])
    assert verify(bookings, BY_SEATS).drifts == ()
    assert migrate(bookings).rewritten == 0
    bookings.insert_or_replace(made(OfPydantic, hour=0, seats=5))
    assert bookings.get(room="red", hour=0).seats == 5
    bookings.without_model().update(lambda each: {**each, "seats": 500}, room="red", hour=0)
    assert bookings.update(made(OfPydantic, hour=0), seats=7).seats == 7
    with pytest.raises(TypeError):
        bookings.update(lambda each: 1 + "", room="red", hour=1)  # type: ignore[operator]


def test_wide_entities_and_children_skip_too() -> None:
    storage = connect()
    wide: Any = WideEntity(storage, "Wide", KEY, model=OfDataclass, on_unrecognized="skip")
    wide.insert(made(OfDataclass))
    wide.without_model().update(lambda each: {**each, "seats": 500}, KEYS)
    assert wide.get(KEYS) is None
    parent = Key("{room}", "{hour:04d}")
    children: Any = ChildSet(storage, "Children", parent, "_{limit:04d}", model=OfDataclass, on_unrecognized="skip")
    for limit in (10, 20):
        children.insert(made(OfDataclass, limit=limit))
    children.without_model().update(lambda each: {**each, "seats": 500}, {**KEYS, "limit": 10})
    assert [each.limit for each in children.children(KEYS)] == [20]
    assert [each.limit for each in children.family(KEYS)[1]] == [20]


def test_only_a_set_with_a_model_has_something_to_skip() -> None:
    with pytest.raises(BadDesign, match="no model"):
        EntitySet(connect(), "Bookings", KEY, on_unrecognized="skip")
    with pytest.raises(BadDesign, match="on_unrecognized"):
        EntitySet(connect(), "Bookings", KEY, model=OfDataclass, on_unrecognized="ignore")  # type: ignore[arg-type]
