"""A field of a model is in a key in a format that keeps the order of its values, or is rejected, everywhere alike."""

from __future__ import annotations

import enum
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import make_dataclass
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from functools import partial
from ipaddress import IPv4Address
from itertools import product
from math import isfinite
from pathlib import Path
from typing import Any, Literal
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.examples import examples
from tablepatterns import (
    ChildSet,
    CopiedFields,
    EntitySet,
    IndexEntity,
    Int64,
    InTable,
    InterPartitionIndex,
    IntraPartitionIndex,
    Key,
    LogTail,
    PartitionSpread,
    Summary,
    Ticks,
    WideEntity,
    above,
    at_least,
    at_most,
    below,
    between,
    connect,
    prefix,
    prop,
)
from tablepatterns.edm import ordinal
from tablepatterns.errors import BadDesign, BadFilter, BadKey
from tablepatterns.jobs import verify


class Grade(enum.Enum):
    HIGH = "high"
    LOW = "low"


class Level(enum.IntEnum):
    ONE = 1
    TWO = 2


FORMATS = ["", "escape", "019d", "+019d", "float", "ticks", "inverted", "%Y-%m-%d", "%Y-%m-%dT%H:%M:%S.%f", "uuid"]
INSTANTS = st.datetimes(datetime(1700, 1, 1), datetime(2900, 1, 1), timezones=st.just(timezone.utc))
WHOLE = st.integers(0, 2**62)
TYPES: dict[str, tuple[Any, Any, list[str]]] = {
    "str": (str, st.text("abyz09é\ue000\U0001f600", min_size=1, max_size=3), ["", "escape"]),
    "Literal of str": (Literal["a", "b"], st.sampled_from("ab"), ["", "escape"]),
    "Literal of int": (Literal[1, 20], st.sampled_from([1, 20]), ["019d", "+019d"]),
    "Enum of str": (Grade, st.sampled_from(Grade), ["", "escape"]),
    "Enum of int": (Level, st.sampled_from(Level), ["019d", "+019d"]),
    "int": (int, WHOLE, ["019d", "+019d"]),
    "int or None": (int | None, WHOLE, ["019d", "+019d"]),
    "Int64": (Int64, WHOLE.map(Int64), ["019d", "+019d"]),
    "float": (float, st.floats(allow_nan=False), ["float"]),
    "bool": (bool, st.booleans(), []),
    "bytes": (bytes, st.binary(), []),
    "UUID": (UUID, st.uuids(), ["uuid"]),
    "datetime": (datetime, INSTANTS, ["ticks", "inverted", "%Y-%m-%dT%H:%M:%S.%f"]),
    "Ticks": (Ticks, INSTANTS.map(Ticks.of), ["ticks", "inverted"]),
    "date": (date, st.dates(), ["", "escape", "%Y-%m-%d"]),
    "time": (time, st.times(), ["", "escape"]),
    "timedelta": (timedelta, WHOLE.map(lambda number: timedelta(microseconds=number)), ["019d", "+019d"]),
    "Decimal": (Decimal, st.none(), []),
    "IPv4Address": (IPv4Address, st.none(), []),
    "list": (list[str], st.none(), []),
}
ROOM = Key("{room}", "room")
PLACES: dict[str, Callable[[Any, Any, str], Any]] = {
    "RowKey": lambda on, model, field: EntitySet(on, "Rows", Key("{room}", "x_" + field), model=model),
    "PartitionKey": lambda on, model, field: EntitySet(on, "Rows", Key(field, "x"), model=model),
    "IntraPartitionIndex": lambda on, model, field: EntitySet(
        on, "Rows", ROOM, model=model, derived=[IntraPartitionIndex(Key("{room}", "x_" + field))]
    ),
    "InterPartitionIndex": lambda on, model, field: EntitySet(
        on, "Rows", ROOM, model=model, derived=[InterPartitionIndex(Key("x", "x_" + field))]
    ),
    "unique InterPartitionIndex": lambda on, model, field: EntitySet(
        on, "Rows", ROOM, model=model, derived=[InterPartitionIndex(Key(field, "x"), unique=True, table="Others")]
    ),
    "Summary": lambda on, model, field: EntitySet(
        on, "Rows", ROOM, model=model, derived=[Summary(Key("{room}", "x_" + field))]
    ),
    "Summary elsewhere": lambda on, model, field: EntitySet(
        on, "Rows", ROOM, model=model, derived=[Summary(Key(field, "x"), store=InTable("Sums"))]
    ),
    "IndexEntity": lambda on, model, field: EntitySet(
        on, "Rows", ROOM, model=model, derived=[IndexEntity("x", key=Key("{room}", "x_" + field))]
    ),
    "CopiedFields": lambda on, model, field: EntitySet(
        on,
        "Rows",
        ROOM,
        model=model,
        derived=[CopiedFields(Key("{room}", "x_" + field), refers={}, copies={"note": "Note"})],
    ),
    "ChildSet": lambda on, model, field: ChildSet(on, "Rows", Key("{room}", "{at:ticks}"), "_" + field, model=model),
    "LogTail": lambda on, model, field: LogTail(on, "Rows", field, at="at", entry="entry", model=model),
    "PartitionSpread": lambda on, model, field: PartitionSpread(
        on,
        "Rows",
        Key("{room}", "x_" + field),
        by=["room"],
        bucket="bucket",
        factory=lambda account, table, key: EntitySet(account, table, key, model=model),
    ),
    "WideEntity": lambda on, model, field: WideEntity(on, "Rows", Key("{room}", "x_" + field), model=model),
}


def model_of(kind: Any) -> Any:
    fields = [("room", str), ("x", kind), ("note", str, ""), ("bucket", int, 0)]
    return make_dataclass("Row", [*fields, ("at", datetime | None, None), ("entry", UUID | None, None)])


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.few(10)
def test_every_place_accepts_the_same_formats(name: str) -> None:
    kind, _, accepted = TYPES[name]
    model = model_of(kind)
    for spec, place in product(FORMATS, PLACES):
        field = f"{{x:{spec}}}" if spec else "{x}"
        # A connection rejects sets whose rows could have the same keys
        if spec in accepted:
            PLACES[place](connect(), model, field)
            continue
        with pytest.raises(BadDesign) as caught:
            PLACES[place](connect(), model, field)
        said = str(caught.value).replace("06d", "019d")
        assert field.removesuffix(":%M:%S.%f}") in said, place
        for hint in accepted:
            assert (f"{{x:{hint}" if hint else "{x}").removesuffix(":%M:%S.%f") in said, place


def test_an_index_entity_without_a_key_says_which_to_give() -> None:
    with pytest.raises(BadDesign, match=r"write \{x:06d\}"):
        EntitySet(connect(), "Rows", ROOM, model=model_of(int), derived=[IndexEntity("x")])


PAIRS = [(name, spec) for name, (_, _, accepted) in TYPES.items() for spec in accepted]


@pytest.mark.parametrize("place", ["RowKey", "IntraPartitionIndex", "InterPartitionIndex"])
@pytest.mark.parametrize(("name", "spec"), PAIRS)
@given(data=st.data())
@examples(20)
@pytest.mark.few(45)
def test_keys_sort_as_the_values_do(name: str, spec: str, place: str, data: st.DataObject) -> None:
    kind, strategy, _ = TYPES[name]
    values = data.draw(st.lists(strategy, unique=True, min_size=1, max_size=5))
    model, storage = model_of(kind), connect()
    rows: Any = PLACES[place](storage, model, f"{{x:{spec}}}" if spec else "{x}")
    for number, value in enumerate(values):
        rows.insert(model("red" if place == "RowKey" else f"room{number}", value))
    in_order = sorted(values, key=lambda value: ordinal(value) if kind is str else getattr(value, "value", value))
    in_order = in_order[::-1] if spec == "inverted" else in_order
    if place == "IntraPartitionIndex":
        assert [rows.find(rows.derived[0], room=f"room{at}", x=value).x for at, value in enumerate(values)] == values
        return
    via = [] if place == "RowKey" else [rows.derived[0]]
    partition = {"room": "red"} if place == "RowKey" else {}
    found = list(rows.range(*via, **partition))
    assert [each.x for each in found] == in_order
    low, high = sorted((in_order[0], in_order[-1]), key=in_order.index)
    span = between(high, low) if spec == "inverted" else between(low, high)
    if not is_enum(kind):
        assert [each.x for each in rows.range(*via, **partition, x=span)] == in_order
    # What is read from an index can be written back
    for each in found:
        each.note = "seen"
        rows.replace(each)
    assert {each.note for each in rows.range(*via, **partition)} == {"seen"}
    if via:
        assert verify(rows, via[0]).drifts == ()


def is_not_infinite(value: object) -> bool:
    return not isinstance(value, float) or isfinite(value)


def is_enum(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, enum.Enum)


@pytest.mark.parametrize("place", ["RowKey", "IntraPartitionIndex", "InterPartitionIndex"])
@pytest.mark.parametrize(("name", "spec"), PAIRS)
@given(data=st.data())
@examples(5)
@pytest.mark.few(45)
def test_a_range_and_a_comparison_accept_the_same_types(name: str, spec: str, place: str, data: st.DataObject) -> None:
    """The members of an enum have no order, and their values may sort in any: neither may select by it."""
    kind, strategy, _ = TYPES[name]
    # A key can hold an infinity, for which a filter has no literal
    value, x = data.draw(strategy.filter(is_not_infinite)), prop("x")
    rows: Any = PLACES[place](connect(), model_of(kind), f"{{x:{spec}}}" if spec else "{x}")
    via = [] if place == "RowKey" else [rows.derived[0]]
    partition = {} if place == "InterPartitionIndex" else {"room": "red"}
    pairs = [
        (above(value), x > value),
        (at_least(value), x >= value),
        (at_most(value), x <= value),
        (below(value), x < value),
        (between(value, value), x.between(value, value)),
    ]
    if kind in (str, Grade):
        pairs.append((prefix("h"), x.startswith("h")))
    for span, where in pairs:
        for read in (rows.range, partial(rows.take, 9), rows.page):
            for error, options in ((BadKey, {"x": span}), (BadFilter, {"where": where})):
                is_rejected = pytest.raises(error, match="have no order") if is_enum(kind) else nullcontext()
                with is_rejected:
                    result = read(*via, **partition, **options)
                    assert list(getattr(result, "items", result)) == []


@pytest.mark.parametrize("spec", ["", "%Y-%m-%d"])
async def test_lists_totals_and_copies_of_a_date(spec: str, storage: Any, new_name: Any) -> None:
    field, day = f"{{x:{spec}}}" if spec else "{x}", date(2026, 7, 31)
    model = model_of(date)
    totals, listed = Summary(Key("{room}", "sum_" + field)), IndexEntity("x", key=Key("{room}", "list_" + field))
    elsewhere = Summary(Key(field, "sum"), store=InTable(new_name()), name="elsewhere")
    rows: Any = EntitySet(storage, new_name(), ROOM, model=model, derived=[totals, listed, elsewhere])
    red = await rows.insert(model("red", day))
    assert (await rows.totals(totals, room="red", x=day))["Count"] == 1
    assert (await rows.totals(elsewhere, x=day))["Count"] == 1
    assert await rows.find_all(listed, room="red", x=day) == [red]
    assert await rows.keys_of(listed, room="red", x=day) == [{"room": "red"}]
    assert (await verify(rows, listed)).drifts == () == (await verify(rows, elsewhere)).drifts
    red.x = date(2026, 8, 1)
    await rows.replace(red)
    assert await rows.find_all(listed, room="red", x=day) == []
    assert (await rows.totals(totals, room="red", x=day))["Count"] == 0
    assert (await rows.totals(elsewhere, x=date(2026, 8, 1)))["Count"] == 1


def test_a_text_is_not_converted_to_a_date_in_a_key() -> None:
    key = Key("{Room}", "{Day:%Y-%m-%d}")
    with pytest.raises(BadKey, match="must be a date, not str"):
        EntitySet(connect(), "Rows", key).insert({"Room": "red", "Day": "2026-07-31"})


def test_the_page_has_the_formats_of_each_type() -> None:
    page = Path("docs/models.md").read_text(encoding="utf-8")
    rows = [
        line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith("| ") and line.count("|") == 5
    ]
    said = {row[0]: row[3] for row in rows}
    labels = {
        "str": "`str`, ",
        "int": "`int`, ",
        "Literal of str": "`str`, ",
        "Literal of int": "`int`, ",
        "Int64": "`int`, ",
        "float": "`float`",
        "bool": "`bool`, ",
        "bytes": "`bool`, ",
        "UUID": "`UUID`",
        "datetime": "aware `datetime`",
        "Ticks": "`Ticks`",
        "date": "`date`",
        "time": "`time`",
        "timedelta": "`timedelta`",
        "Decimal": "`Decimal`",
        "IPv4Address": "`IPv4Address`",
        "list": "a nested class",
    }
    for name, label in labels.items():
        (cell,) = [text for first, text in said.items() if first.startswith(label)]
        accepted = [f"`{{x:{spec}}}`".replace("019", "06").replace(":}", "}") for spec in TYPES[name][2]]
        formats = [each.replace(":%M:%S.%f", "") for each in accepted]
        assert cell.startswith("no") if not formats else cell == ", ".join(formats), name
