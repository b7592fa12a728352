"""Mistakes with filters, keys, ranges, tokens, transactions and ETags: each is reported by the call that has it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, timezone
from typing import Any

import pytest

from tablepatterns import (
    BulkDelete,
    EntityGroupTransaction,
    EntitySet,
    IntraPartitionIndex,
    Key,
    QueryClass,
    at_least,
    between,
    connect,
    parse,
    prefix,
    prop,
)
from tablepatterns.errors import BadDesign, BadFilter, BadInput, BadKey, BadToken, DuplicateIndexValue

KEY = Key("{Venue}", "{Day:%Y-%m-%d}_{Hour:02d}")
DAY = date(2024, 2, 28)
ID = {"Venue": "Hall", "Day": DAY, "Hour": 9}


@dataclass
class Booking:
    Venue: str
    Day: date
    Hour: int
    Seats: int = 0
    Price: float = 0.0
    Paid: bool = False
    At: datetime = datetime(2024, 1, 1, tzinfo=timezone.utc)


@pytest.fixture
def bookings() -> Any:
    bookings = EntitySet(connect("memory://"), "Bookings", KEY)
    for hour in (9, 10, 11):
        bookings.insert(ID | {"Hour": hour, "Seats": hour})
    return bookings


def typed(bookings: Any) -> Any:
    """Return the same bookings as a set with a model."""
    return EntitySet(bookings.account, "Bookings", KEY, model=Booking)


def commit(bookings: Any, *changes: Any) -> Any:
    return EntityGroupTransaction(bookings.account, "Bookings").commit(*changes)


MISTAKES: dict[str, tuple[Callable[[Any], Any], type[BadInput], str]] = {
    "the case of a key field": (lambda b: b.scan(prop("venue") == "Hall"), BadFilter, "case-sensitive"),
    "the case of PartitionKey": (lambda b: b.query(prop("Partitionkey") == "Hall"), BadFilter, "use PartitionKey"),
    "row_key": (lambda b: b.scan(prop("row_key") == "x"), BadFilter, "use RowKey"),
    "a field that the model lacks": (lambda b: typed(b).scan(prop("Saets") > 9), BadFilter, "did you mean 'Seats'"),
    "text for a number": (lambda b: typed(b).scan(prop("Seats") == "9"), BadFilter, "must be int"),
    "a number for a bool": (
        lambda b: typed(b).range(Venue="Hall", Day=DAY, where=prop("Paid") == 1, allow=QueryClass.PARTITION_SCAN),
        BadFilter,
        "must be bool",
    ),
    "text for an instant": (lambda b: typed(b).scan(parse("At gt '2024-01-01'")), BadFilter, "an aware datetime"),
    "bounds in the wrong order": (lambda b: b.scan(prop("Seats").between(11, 9)), BadFilter, "swap the two"),
    "None": (lambda b: b.scan(prop("Seats") == None), BadFilter, "a missing property"),  # noqa: E711
    "a list": (lambda b: b.scan(prop("Venue") == ["Hall", "Room"]), BadFilter, "join several"),
    "a later key field alone": (lambda b: b.scan(prop("Hour") == 9), BadFilter, "after Day"),
    "text for the number in a key": (
        lambda b: b.range(ID | {"Hour": at_least(1)}, where=prop("Hour") == "9", allow=QueryClass.PARTITION_SCAN),
        BadFilter,
        "must be an int",
    ),
    "a forbidden character": (lambda b: b.scan(prop("Venue") == "a/b"), BadFilter, "may not contain '/'"),
    "several values of a key field": (lambda b: b.range(Venue=["Hall", "Room"]), BadKey, "a call for each value"),
    "a range where one is read": (lambda b: b.get(ID | {"Hour": between(9, 10)}), BadKey, "a call for each value"),
    "a Python range": (lambda b: b.range(ID | {"Hour": range(9, 11)}), BadKey, "with between"),
    "a prefix of a number": (lambda b: b.range(ID | {"Hour": prefix("1")}), BadKey, "only text has prefixes"),
    "a format outside braces": (lambda b: Key("{Venue}", "%Y-%m-%d"), BadDesign, "write {Day:"),
    "a token of another query": (
        lambda b: b.page(Venue="Hall", Day=DAY, size=1, token=b.page(Venue="Hall", size=1).token),
        BadToken,
        "repeat the first query",
    ),
    "a page as a token": (lambda b: b.page(Venue="Hall", token=b.page(Venue="Hall")), BadToken, "must be a str"),
    "an entity in a transaction": (lambda b: commit(b, ID | {"Hour": 12}), BadInput, "must be a change"),
    "an insert in a transaction": (lambda b: commit(b, b.insert(ID | {"Hour": 12})), BadInput, "must be a change"),
    "a copy of an entity": (lambda b: b.replace(dict(b.get(ID))), BadInput, "its ETag is unknown"),
    "an ETag and force": (lambda b: b.delete(ID, etag='W/"x"', force=True), BadInput, "not both"),
    "a bulk delete by a later field": (
        lambda b: BulkDelete(b).delete(prop("Hour") == 9, allow=QueryClass.TABLE_SCAN),
        BadFilter,
        "after Day",
    ),
    "intents without such data": (lambda b: b.process_intents(), BadInput, "remove this call"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_reported_in_the_callers_words(bookings: Any, name: str) -> None:
    call, kind, words = MISTAKES[name]

    def attempt() -> None:
        result = call(bookings)
        if hasattr(result, "__next__"):
            list(result)

    with pytest.raises(kind, match=words):
        attempt()


def test_a_filter_of_the_models_types_is_accepted(bookings: Any) -> None:
    bookings = typed(bookings)
    for where in (prop("Price") > 5, prop("Day") == DAY, prop("Paid") == False, prop("Seats") > 2**40):  # noqa: E712
        assert list(bookings.scan(where)) in ([], list(bookings.scan()))
    assert list(bookings.scan(prop("Timestamp") > datetime(2020, 1, 1).astimezone())) == list(bookings.scan())


def test_a_value_that_is_taken_is_named_with_its_field_and_index() -> None:
    index = IntraPartitionIndex(Key("{Department}", "email_{Email}"))
    staff = EntitySet(connect("memory://"), "Staff", Key("{Department}", "{Id:06d}"), derived=[index])
    staff.insert({"Department": "Sales", "Id": 1, "Email": "jo@x"})
    text = "Email 'jo@x' is already used by another entity in partition 'Sales' (unique index email_{Email}). "
    with pytest.raises(DuplicateIndexValue) as duplicate:
        staff.insert({"Department": "Sales", "Id": 2, "Email": "jo@x"})
    assert str(duplicate.value).startswith(text + "Nothing was written; choose another value.")
