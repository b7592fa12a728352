"""A value of a subclass, such as a member of an `IntEnum`, counts as its base type, wherever it is given."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, IntEnum
from typing import Any
from uuid import UUID

import pytest
from azure.data.tables import EdmType, EntityProperty

from tablepatterns import (
    BulkLoad,
    EncryptedProperties,
    EntityGroupTransaction,
    EntitySet,
    IntraPartitionIndex,
    Key,
    LargeProperties,
    LocalKey,
    Summary,
    WideEntity,
    prefix,
    prop,
)
from tablepatterns.edm import Int64, base_value

pytestmark = [pytest.mark.both_sdks, pytest.mark.few_on_azurite]


def misleading(self: object, _: str = "") -> str:
    return "another text"


class Level(IntEnum):
    HIGH = 7


class Color(str, Enum):
    RED = "red"


class Ratio(float, Enum):
    HALF = 0.5


class Number(int):
    __str__ = __repr__ = __format__ = misleading


class Text(str):
    __slots__ = ()
    __str__ = __repr__ = __format__ = misleading


class Big(Int64):
    __slots__ = ()
    __str__ = __repr__ = __format__ = misleading


class Share(float):
    __str__ = __repr__ = __format__ = misleading


class Id(UUID):
    __str__ = __repr__ = __format__ = misleading


class Content(bytes):
    def __bytes__(self) -> bytes:
        return b"other bytes"


VALUES: dict[str, tuple[Any, Any]] = {
    "IntEnum": (Level.HIGH, 7),
    "str Enum": (Color.RED, "red"),
    "float Enum": (Ratio.HALF, 0.5),
    "int": (Number(7), 7),
    "large int": (Number(2**40), Int64(2**40)),
    "Int64": (Big(7), Int64(7)),
    "str": (Text("red/blue"), "red/blue"),
    "float": (Share(0.5), 0.5),
    "UUID": (Id(int=7), UUID(int=7)),
    "bytes": (Content(b"red"), b"red"),
}
each_value = pytest.mark.parametrize(("value", "base"), VALUES.values(), ids=VALUES)
FORMATS = {
    "IntEnum": "03d",
    "str Enum": "escape",
    "float Enum": "float",
    "int": "+03d",
    "large int": "020d",
    "Int64": "03d",
    "str": "escape",
    "float": "float",
    "UUID": "uuid",
}
KEY = Key("{Team}", "{Number:03d}")
JONES = {"Team": "sales", "Number": 1}


def check(stored: Any, base: Any) -> None:
    assert (stored, type(stored)) == (base, type(base))


@each_value
async def test_each_write_stores_a_property_of_a_subclass(storage: Any, table_name: str, value: Any, base: Any) -> None:
    staff = EntitySet(storage, table_name, KEY)
    name = Text("Value")

    async def stored() -> Any:
        entity = await staff.get(JONES)
        await staff.delete(entity)
        return entity["Value"]

    await staff.insert(JONES | {name: value})
    check(await stored(), base)
    await staff.insert_or_replace(JONES | {name: value})
    check(await stored(), base)
    await staff.replace(await staff.insert(JONES) | {name: value})
    check(await stored(), base)
    await staff.merge(await staff.insert(JONES), {name: value})
    check(await stored(), base)
    await staff.insert(JONES)
    await staff.update(lambda entity: entity.update({name: value}), JONES)
    check(await stored(), base)
    await EntityGroupTransaction(storage, table_name).commit(staff.inserting(JONES | {name: value}))
    check(await stored(), base)
    await BulkLoad(staff).load([JONES | {name: value}])
    assert [entity["Number"] async for entity in staff.scan(prop("Value") == value)] == [1]
    check(await stored(), base)


@pytest.mark.parametrize("name", FORMATS)
async def test_a_key_of_a_subclass_finds_what_its_base_does(storage: Any, table_name: str, name: str) -> None:
    value, base = VALUES[name]
    key = Key("teams", f"{{Value:{FORMATS[name]}}}")
    assert key.format({"Value": value}) == key.format({"Value": base})
    assert [*map(type, key.format({"Value": value}))] == [str, str]
    entities = EntitySet(storage, table_name, key)
    await entities.insert({"Value": value})
    assert (await entities.get(Value=base))["Value"] == (await entities.get(Value=value))["Value"] == base
    assert len([entity async for entity in entities.scan(prop("Value") == value)]) == 1
    if isinstance(base, str):
        found = [entity async for entity in entities.range(Value=prefix(Text(base[:2])))]
        assert [entity["Value"] for entity in found] == [base]


@each_value
async def test_mapped_and_derived_values_are_read_as_their_base(
    storage: Any, table_name: str, value: Any, base: Any
) -> None:
    secret = EncryptedProperties(["Secret"], keys=LocalKey("key", bytes(32)))
    large = LargeProperties(["Text"], container=table_name.lower(), above=2)
    derived: list[Any] = []
    if isinstance(base, str):
        derived.append(IntraPartitionIndex(Key("{Team}", "value_{Value:escape}")))
    if isinstance(base, int):
        derived.append(Summary(Key("{Team}", "total"), sums={"Value": "Sum"}))
    staff = EntitySet(storage, table_name, KEY, mappings=[secret, large], derived=derived)
    text = value if isinstance(value, (str, bytes)) else Text("text")
    await staff.insert(JONES | {"Value": value, "Secret": value, "Text": text})
    entity = await staff.get(JONES)
    for name in ("Value", "Secret"):
        check(entity[name], base)
    check(entity["Text"], base_value(text))
    for derived_data in derived:
        if isinstance(derived_data, IntraPartitionIndex):
            check((await staff.find(derived_data, Team="sales", Value=value))["Value"], base)
        else:
            assert (await staff.totals(derived_data, Team="sales"))["Sum"] == base


@each_value
async def test_wide_entities_store_values_of_a_subclass(storage: Any, table_name: str, value: Any, base: Any) -> None:
    wide = WideEntity(storage, table_name, Key("{Team}", "wide"))
    await wide.insert({"Team": Text("sales"), "Value": value})
    check((await wide.get(Team="sales"))["Value"], base)


@pytest.mark.parametrize(
    ("value", "edm", "base"),
    [
        (Number(5), EdmType.INT32, 5),
        (Level.HIGH, EdmType.INT64, Int64(7)),
        (Text("a"), EdmType.STRING, "a"),
        (Number(5), EdmType.DOUBLE, 5.0),
    ],
    ids=str,
)
async def test_a_type_can_be_stated_of_a_value_of_a_subclass(
    storage: Any, table_name: str, value: Any, edm: Any, base: Any
) -> None:
    staff = EntitySet(storage, table_name, KEY)
    await staff.insert(JONES | {"Value": EntityProperty(value, edm)})
    check((await staff.get(JONES))["Value"], base)


async def test_keys_of_the_service_may_be_of_a_subclass(storage: Any, table_name: str) -> None:
    rows = EntitySet(storage, table_name, Key("{PartitionKey}", "{RowKey}"))
    await rows.insert({"PartitionKey": Color.RED, "RowKey": Text("row")})
    assert (await rows.get(PartitionKey="red", RowKey=Text("row"))).key == ("red", "row")
    assert len([row async for row in rows.scan(prop("PartitionKey") == Color.RED)]) == 1


@dataclass
class Member:
    team: str
    number: int
    grade: int = 0
    share: float = 0.0
    name: str = ""


async def test_a_field_of_a_model_takes_values_of_a_subclass(storage: Any, table_name: str) -> None:
    staff = EntitySet(storage, table_name, Key("{team}", "{number:03d}"), model=Member)
    jones = await staff.insert(Member(Color.RED, Level.HIGH, Number(3), Share(0.5), Text("jones")))
    read = await staff.get(team=Color.RED, number=Level.HIGH)
    assert read == jones == Member("red", 7, 3, 0.5, "jones")
    assert [type(field) for field in vars(read).values()] == [str, int, int, float, str]
    read = await staff.merge(read, {"grade": Level.HIGH, "name": Color.RED, "share": Ratio.HALF})
    assert [member async for member in staff.scan(prop("grade") == Level.HIGH)] == [read]
    assert (read.grade, read.name, read.share) == (7, "red", 0.5)
