"""Typed fields: values are read back equal, and values of other types are rejected before any request."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum
from typing import Any, NewType
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.employees import rows_of
from support.examples import examples
from support.typed_staff import Address, Everything, Floor, Grade
from tablepatterns import EntitySet, Int64, Key, OneOf, Ticks
from tablepatterns.entity import measure
from tablepatterns.errors import BadDesign, BadKey, BadProperty, UnrecognizedEntity
from tablepatterns.models.record import Record
from tablepatterns_engine.account import Engine

# Python compares no instant of an hour that comes twice in one zone with the same instant in another
instants = st.datetimes(
    min_value=datetime(1700, 1, 1),
    max_value=datetime(9900, 1, 1),
    timezones=st.sampled_from([timezone.utc, timezone(timedelta(hours=5, minutes=30))]),
)
decimals = st.decimals(allow_nan=False, allow_infinity=False)
texts = st.text(max_size=20)
numbers = st.integers(-(2**63), 2**63 - 1)
addresses = st.builds(Address, texts, st.none() | st.dates(), st.sampled_from(Floor))
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=5,
)
everything = st.builds(
    Everything,
    st.just("all"),
    st.uuids(),
    texts,
    st.booleans(),
    numbers,
    st.floats(allow_nan=False),
    st.binary(max_size=20),
    instants,
    st.dates(),
    st.timedeltas(timedelta(days=-100_000_000), timedelta(days=100_000_000)),
    decimals,
    st.sampled_from(Grade),
    st.sampled_from(Floor),
    addresses,
    st.lists(st.none() | addresses, max_size=3),
    st.tuples(st.integers(), decimals),
    st.lists(st.uuids(), max_size=3).map(tuple),
    st.dictionaries(texts, instants, max_size=3),
    st.dictionaries(texts, json_values, max_size=3),
    st.none() | decimals,
    st.none() | addresses,
    numbers.map(Int64),
    instants.map(Ticks.of),
)
SOME = Everything(
    Group="all",
    Id=UUID(int=7),
    Text="naïve 🛫",
    Flag=True,
    Number=2**40,
    Real=0.5,
    Blob=b"x",
    At=datetime(2014, 8, 22, 2, 50, 32, tzinfo=ZoneInfo("Europe/Berlin")),
    Day=date(2014, 8, 22),
    Span=timedelta(days=-1, microseconds=3),
    Exact=Decimal("1250.50"),
    Rank=Grade.SENIOR,
    Level=Floor.FIRST,
    Home=Address("Köln", date(2001, 2, 3), Floor.FIRST),
    Homes=[Address("Bonn"), None],
    Pair=(2**70, Decimal("0.10")),
    Many=(UUID(int=1), UUID(int=2)),
    Named={"born": datetime(1, 1, 1, tzinfo=timezone.utc)},
    Anything={"a": [1, 2.5, None, True, {"b": "c"}]},
    Perhaps=None,
    PerhapsHome=None,
    Large=Int64(7),
    Moment=Ticks.parse("2014-08-22T00:50:32.1234567Z"),
)
KEY = Key("{Group}", "{Id:uuid}")


def types_of(storage: Any, table: str, of: type = Everything, key: Key = KEY) -> Any:
    return EntitySet(storage, table, key, model=OneOf(of))


@examples(60)
@given(value=everything)
def test_an_encoded_value_can_be_stored_and_decodes_equal(value: Everything) -> None:
    record = Record(Everything)
    stored = record.encoded(value)
    measure({"PartitionKey": "all", "RowKey": "one"} | stored)
    again = record.decoded(stored)
    assert again == value
    # A Decimal equals others with more zeros, and so does an instant of another zone
    assert str(again.Exact) == str(value.Exact)
    assert (again.At.tzinfo, again.At) == (timezone.utc, value.At)


@examples(15)
@given(value=everything)
async def test_any_value_comes_back_equal_from_a_table(storage: Any, new_name: Any, value: Everything) -> None:
    for model in (Everything, OneOf(Everything)):
        rows: Any = EntitySet(storage, new_name(), KEY, model=model)
        await rows.insert(value)
        found = await rows.get(Group="all", Id=value.Id)
        assert found == value
        assert await rows.replace(value) is value
    assert [type(getattr(found, each.name)) for each in fields(Everything)][:12] == [
        type(getattr(value, each.name)) if each.name != "Number" else type(found.Number) for each in fields(Everything)
    ][:12]


async def test_fields_are_stored_as_types_that_other_programs_read(storage: Any, table_name: str) -> None:
    types = types_of(storage, table_name)
    await types.insert(SOME)
    ((_, stored),) = (await rows_of(storage, table_name)).items()
    assert stored == {
        "EntityType": "Everything",
        "Text": "naïve 🛫",
        "Flag": True,
        "Number": 2**40,
        "Real": 0.5,
        "Blob": b"x",
        "At": datetime(2014, 8, 22, 0, 50, 32, tzinfo=timezone.utc),
        "Day": "2014-08-22",
        "Span": -86_399_999_997,
        "Exact": "1250.50",
        "Rank": "senior",
        "Level": 1,
        "Home": '{"City":"Köln","Level":1,"Since":"2001-02-03"}',
        "Homes": '[{"City":"Bonn","Level":0,"Since":null},null]',
        "Pair": '[1180591620717411303424,"0.10"]',
        "Many": '["00000000-0000-0000-0000-000000000001","00000000-0000-0000-0000-000000000002"]',
        "Named": '{"born":"0001-01-01T00:00:00+00:00"}',
        "Anything": '{"a":[1,2.5,null,true,{"b":"c"}]}',
        "Large": 7,
        "Moment": SOME.Moment,
    }
    assert type(stored["Span"]) is type(stored["Large"]) is Int64
    assert await types.get(Group="all", Id=SOME.Id) == SOME


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"Text": 7}, "Everything.Text = 7: the field must be str"),
    ({"Text": None}, "Everything.Text = None: the field must be str"),
    ({"Flag": 1}, "Flag = 1: the field must be bool"),
    ({"Number": True}, "Number = True: the field must be int"),
    ({"Number": 1.0}, "Number = 1.0: the field must be int"),
    ({"Number": 2**63}, "an integer has at most 64 bits; use Decimal"),
    ({"Real": "1"}, "the field must be float"),
    ({"Real": True}, "the field must be float"),
    ({"Real": 2**53 + 1}, "a float cannot represent all its digits; use Decimal"),
    ({"Real": 10**400}, "a float cannot represent it"),
    ({"Blob": "x"}, "the field must be bytes"),
    ({"At": datetime(2014, 8, 22)}, "is not an instant; add tzinfo=timezone.utc"),
    ({"At": date(2014, 8, 22)}, "the field must be an aware datetime"),
    ({"At": datetime(1600, 1, 1, tzinfo=timezone.utc)}, "Edm.DateTime begins at 1601"),
    ({"Day": datetime(2014, 8, 22, tzinfo=timezone.utc)}, "the field must be date"),
    ({"Span": 7}, "the field must be timedelta"),
    ({"Span": timedelta.max}, "it exceeds 64 bits"),
    ({"Exact": 0.1}, "the field must be Decimal"),
    ({"Exact": Decimal("NaN")}, "only finite numbers are stored"),
    ({"Rank": "senior"}, "the field must be Grade; use one of Grade's members"),
    ({"Level": Grade.SENIOR}, "the field must be Floor"),
    ({"Home": {"City": "Bonn"}}, "the field must be Address"),
    ({"Home": Address(7)}, "Everything.Home.City = 7: the field must be str"),  # type: ignore[arg-type]
    ({"Homes": (Address("Bonn"),)}, "the field must be a list of Address | None"),
    ({"Homes": [None, Address("Bonn", "2014-08-22")]}, r"Homes\[1\].Since = '2014-08-22': the field must be date"),  # type: ignore[arg-type]
    ({"Pair": (1,)}, r"the field must be a tuple of \(int, Decimal\)"),
    ({"Pair": (1, 1.5)}, r"Pair\[1\] = 1.5: the field must be Decimal"),
    ({"Many": [UUID(int=1)]}, r"the field must be a tuple of \(UUID, ...\)"),
    ({"Named": {7: SOME.At}}, "JSON keys are strings"),
    ({"Named": {"born": None}}, r"Named\['born'\] = None: the field must be an aware datetime"),
    ({"Anything": {1: 2}}, "JSON would not read it back equal"),
    ({"Anything": {"a": (1,)}}, "JSON would not read it back equal"),
    ({"Anything": {"a": float("nan")}}, "it has no JSON form"),
    ({"Anything": {"a": SOME.At}}, "it has no JSON form"),
    ({"Anything": []}, "read it back equal"),
    ({"Perhaps": 1}, "the field must be Decimal"),
]


@pytest.mark.guide("G-059")
@pytest.mark.parametrize(("change", "said"), WRONG, ids=[str(change)[:40] for change, _ in WRONG])
async def test_a_value_of_another_type_is_rejected_before_any_request(
    storage: Any, engine: Engine, table_name: str, change: dict[str, Any], said: str
) -> None:
    types = types_of(storage, table_name)
    await types.insert(SOME)
    with engine.ledger.span() as span:
        with pytest.raises(BadProperty, match=said):
            await types.insert(replace(SOME, Id=UUID(int=8), **change))
        with pytest.raises(BadProperty, match=said):
            await types.replace(replace(SOME, **change), force=True)
    assert span.records == []


async def test_a_key_of_another_type_is_a_bad_key(storage: Any, table_name: str) -> None:
    with pytest.raises(BadKey, match=r"Everything.Id = 'x': the field must be UUID"):
        await types_of(storage, table_name).insert(replace(SOME, Id="x"))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("stored", "said"),
    [
        ({"Text": 7}, "Text = 7: the field must be str"),
        ({"Number": "7"}, "Number = '7': the field must be int"),
        ({"At": "2014"}, "the field must be an aware datetime"),
        ({"Day": "2014-13-01"}, "the field must be date"),
        ({"Day": 7}, "the field must be date"),
        ({"Span": "1"}, "the field must be timedelta"),
        ({"Exact": "1,5"}, "the field must be Decimal"),
        ({"Rank": "head"}, "the field must be Grade; use a value of Grade"),
        ({"Home": "Bonn"}, "the field is stored as JSON, and this is not JSON"),
        ({"Home": 7}, "the field must be Address"),
        ({"Home": "[]"}, "the field must be Address"),
        ({"Home": "{}"}, "Home.City = None: nothing is stored"),
        ({"Homes": "{}"}, "the field must be a list"),
        ({"Pair": "[1]"}, "the field must be a tuple"),
        ({"Pair": "7"}, "the field must be a tuple"),
        ({"Many": '["x"]'}, r"Many\[0\] = 'x': the field must be UUID"),
        ({"Named": "[]"}, "the field must be a dict of str"),
        ({"Anything": "[]"}, "the field must be a dict of JSON values"),
        pytest.param({"Anything": "[" * 9_000}, "the field is stored as JSON, and this is not JSON", id="deep"),
        ({"Exact": "NaN"}, "only finite numbers are stored"),
    ],
)
async def test_a_stored_value_of_another_type_is_reported_with_its_field(
    storage: Any, table_name: str, stored: dict[str, Any], said: str
) -> None:
    types = types_of(storage, table_name)
    await types.insert(SOME)
    raw = EntitySet(storage, table_name, KEY)
    await raw.merge(await raw.get(Group="all", Id=SOME.Id), stored)
    with pytest.raises(UnrecognizedEntity, match=rf"{SOME.Id}.* is not a valid Everything: .*{said}"):
        await types.get(Group="all", Id=SOME.Id)


Badge = NewType("Badge", int)
ONE = Int64(1)
EXACTLY = Ticks.parse("1601-01-01T00:00:00.0000001Z")


@dataclass
class Defaults:
    """What is there where nothing is stored."""

    Group: str
    Number: int
    Badge: Badge = Badge(7)
    Skills: list[str] = field(default_factory=lambda: ["typing"])
    Perhaps: int | None = 5
    Wide: Int64 = ONE
    Exactly: Ticks = EXACTLY
    Ticked: list[Ticks] = field(default_factory=list)
    Boxed: list[Int64] = field(default_factory=list)
    Blobs: list[bytes] = field(default_factory=list)
    Reals: list[float] = field(default_factory=list)
    Spans: list[timedelta] = field(default_factory=list)
    Anything: list[Any] = field(default_factory=list)
    Length: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        if self.Number < 0:
            raise ValueError("no such number")
        self.Length = len(self.Group)


async def test_a_field_that_is_not_stored_has_its_default_or_is_none(storage: Any, table_name: str) -> None:
    key = Key("{Group}", "{Number:03d}")
    await EntitySet(storage, table_name, key).insert({"Group": "all", "Number": 1})
    types = types_of(storage, table_name, Defaults, key)
    assert await types.get(Group="all", Number=1) == Defaults("all", 1, Perhaps=None)
    full = Defaults("all", 2, Badge(8), [], 6, Int64(2), EXACTLY, [EXACTLY], [Int64(3)], [b"\x00"], [1.5])
    await types.insert(full)
    found = await types.get(Group="all", Number=2)
    assert (found, type(found.Wide), found.Exactly) == (full, Int64, EXACTLY)
    assert type(found.Boxed[0]) is Int64
    rows = await rows_of(storage, table_name)
    assert type(rows["all", "002"]["Wide"]) is Int64
    assert "Length" not in rows["all", "002"]
    for wrong, said in (
        ({"Wide": 2**63}, "64 bits"),
        ({"Wide": True}, "must be Int64"),
        ({"Exactly": 7}, "Ticks.of"),
        ({"Exactly": Ticks(7)}, "Edm.DateTime goes from 1601"),
        ({"Reals": [float("inf")]}, "no such number"),
        ({"Anything": nested(5_000)}, "too large or too deep to show: it has no JSON form"),
    ):
        with pytest.raises(BadProperty, match=said):
            await types.insert(replace(full, **wrong))


def nested(depth: int) -> list[Any]:
    """Return lists within lists, deeper than Python's own JSON goes."""
    found: list[Any] = []
    for _ in range(depth):
        found = [found]
    return found


async def test_a_timedelta_out_of_range_is_reported(storage: Any, table_name: str) -> None:
    key = Key("{Group}", "{Number:03d}")
    await EntitySet(storage, table_name, key).insert({"Group": "all", "Number": 1, "Spans": f"[{10**30}]"})
    with pytest.raises(UnrecognizedEntity, match=r"Spans\[0\] = 10{30}: the field must be timedelta"):
        await types_of(storage, table_name, Defaults, key).get(Group="all", Number=1)


async def test_a_class_may_reject_what_is_stored(storage: Any, table_name: str) -> None:
    key = Key("{Group}", "{Number:+04d}")
    await EntitySet(storage, table_name, key).insert({"Group": "all", "Number": -1})
    with pytest.raises(UnrecognizedEntity, match="its class rejects the fields") as refusal:
        await types_of(storage, table_name, Defaults, key).get(Group="all", Number=-1)
    assert str(refusal.value.__cause__) == "no such number"


class Mixed(Enum):
    """Values of several types."""

    ONE = 1
    TWO = "two"


def class_of(annotation: Any) -> type:
    return dataclass(type("Made", (), {"__annotations__": {"Group": str, "Id": UUID, "Odd": annotation}}))


@pytest.mark.parametrize(
    "annotation", [set[str], int | str, dict[int, str], object, Any, complex, Mixed, list[complex], Callable[[], int]]
)
def test_a_field_of_a_type_that_cannot_be_stored_is_rejected_at_once(annotation: Any) -> None:
    with pytest.raises(BadDesign, match=r"Made\.Odd"):
        Record(class_of(annotation))


@dataclass(frozen=True)
class Tree:
    """It holds itself."""

    Group: str
    Id: UUID
    Children: list[Tree] = field(default_factory=list)


async def test_a_class_may_hold_itself(storage: Any, table_name: str) -> None:
    types = types_of(storage, table_name, Tree)
    leaf = Tree("leaf", UUID(int=1))
    tree = Tree("all", UUID(int=2), [leaf, Tree("twig", UUID(int=3), [leaf])])
    await types.insert(tree)
    assert await types.get(Group="all", Id=tree.Id) == tree
