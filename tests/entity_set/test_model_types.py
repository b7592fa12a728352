"""Every type of a field is stored exactly, or rejected at construction with what to use instead."""

from __future__ import annotations

import enum
import sys
from dataclasses import dataclass, make_dataclass
from datetime import date, datetime, time, timezone
from decimal import Decimal
from ipaddress import IPv4Address, IPv4Network, IPv6Address
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, NewType, Optional, TypedDict

import annotated_types
import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tablepatterns import Encrypted, EncryptedProperties, EntitySet, Key, LocalKey, QueryClass, connect, prop
from tablepatterns.errors import BadDesign, BadFilter, BadProperty, UnrecognizedEntity

KEY = Key("{room}", "row")
UTC_NOW = datetime(2026, 7, 31, 12, tzinfo=timezone.utc)
UserId = NewType("UserId", int)
Percent = NewType("Percent", Annotated[int, annotated_types.Ge(0)])  # type: ignore[valid-newtype]


class Perm(enum.IntFlag):
    READ = 1
    WRITE = 2


class Color(str, enum.Enum):
    RED = "red"


class Pair(NamedTuple):
    one: int


class Dict(TypedDict):
    one: int


SUPPORTED: dict[str, tuple[Any, Any, list[str]]] = {
    "AwareDatetime": (pydantic.AwareDatetime, UTC_NOW, ["==", ">="]),
    "PastDatetime": (pydantic.PastDatetime, datetime(2020, 1, 1, tzinfo=timezone.utc), ["==", ">="]),
    "PastDate": (pydantic.PastDate, date(2020, 1, 1), ["==", ">="]),
    "EmailStr": (pydantic.EmailStr, "jo@contoso.com", ["==", ">="]),
    "HttpUrl": (pydantic.HttpUrl, pydantic.HttpUrl("https://contoso.com/a?b=c"), ["=="]),
    "AnyUrl": (pydantic.AnyUrl, pydantic.AnyUrl("ftp://contoso.com"), ["=="]),
    "PositiveInt": (pydantic.PositiveInt, 5, ["==", ">="]),
    "conint": (pydantic.conint(ge=0, le=10), 5, ["==", ">="]),
    "constr": (pydantic.constr(max_length=3), "abc", ["==", ">="]),
    "UUID4": (pydantic.UUID4, __import__("uuid").uuid4(), ["=="]),
    "Literal of str": (Literal["a", "b"], "b", ["==", ">="]),
    "Literal of int": (Literal[1, 2], 2, ["==", ">="]),
    "Literal and None": (Literal["a", None], "a", ["=="]),
    "time": (time, time(12, 30, 0, 5), ["==", ">="]),
    "IPv4Address": (IPv4Address, IPv4Address("10.0.0.1"), ["=="]),
    "IPv6Address": (IPv6Address, IPv6Address("::1"), ["=="]),
    "IPv4Network": (IPv4Network, IPv4Network("10.0.0.0/8"), ["=="]),
    "NewType": (UserId, 5, ["==", ">="]),
    "NewType of Annotated": (Percent, 5, ["==", ">="]),
    "Annotated": (Annotated[int, annotated_types.Gt(1)], 5, ["==", ">="]),
    "Annotated of Optional": (Annotated[Annotated[int, annotated_types.Gt(1)] | None, "note"], 5, ["==", ">="]),
    "Optional": (Optional[time], time(1), ["=="]),  # noqa: UP045 - as in older programs
    "Union with None": (None | IPv4Address, IPv4Address("10.0.0.1"), ["=="]),
    "IntFlag": (Perm, Perm.READ | Perm.WRITE, ["=="]),
    "str enum": (Color, Color.RED, ["=="]),
    "list of Literal": (list[Literal["a", "b"]], ["a", "b"], []),
    "list of IPv4Address": (list[IPv4Address], [IPv4Address("10.0.0.1")], []),
    "dict of time": (dict[str, time], {"a": time(1)}, []),
}
REFUSED: dict[str, tuple[Any, str]] = {
    "NaiveDatetime": (pydantic.NaiveDatetime, "use datetime with a time zone"),
    "Path": (Path, "use str"),
    "FilePath": (pydantic.FilePath, "use str"),
    "set": (set[str], r"use list\[...\]"),
    "bare set": (set, r"use list\[...\]"),
    "frozenset": (frozenset[int], r"use list\[...\]"),
    "complex": (complex, "use two floats"),
    "union": (int | str, "use one of its types, or one type and None"),
    "union and None": (int | str | None, "use one of its types"),
    "mixed Literal": (Literal["a", 1], "all str or all int"),
    "Literal of bool": (Literal[True], "all str or all int"),
    "Literal of enum": (Literal[Color.RED], "all str or all int"),
    "NamedTuple": (Pair, "use a dataclass"),
    "TypedDict": (Dict, r"use dict\[str"),
    "ByteSize": (pydantic.ByteSize, "use int"),
    "Any": (Any, "use one of str"),
    "object": (object, "use one of str"),
    "type": (type, "use one of str"),
    "SecretStr": (pydantic.SecretStr, r"Annotated\[SecretStr, Encrypted\(\)\]"),
    "SecretBytes": (pydantic.SecretBytes, r"Encrypted\(\)"),
    "SecretStr or None": (pydantic.SecretStr | None, r"Encrypted\(\)"),
    "list of SecretStr": (list[pydantic.SecretStr], r"Encrypted\(\)"),
    "dict of SecretStr": (dict[str, pydantic.SecretStr | None], r"Encrypted\(\)"),
    "tuple of Path": (tuple[Path, ...], "use str"),
}


def models_of(kind: Any) -> list[Any]:
    of_pydantic: Any = pydantic.create_model("Model", room=(str, ...), x=(kind, ...))
    return [make_dataclass("Model", [("room", str), ("x", kind)]), of_pydantic]


@pytest.mark.parametrize("name", SUPPORTED)
def test_a_supported_type_comes_back_equal_and_is_compared(name: str) -> None:
    kind, value, operators = SUPPORTED[name]
    if name == "EmailStr":
        models = [make_dataclass("Model", [("room", str), ("x", kind)])]
    else:
        models = models_of(kind)
    for model in models:
        rows: Any = EntitySet(connect(), "Rows", KEY, model=model)
        row = rows.insert(model(room="red", x=value))
        read = rows.get(room="red")
        assert read == row
        assert type(read.x) is type(value)
        read.x = value
        rows.replace(read)
        if not operators:
            continue
        where = {"==": prop("x") == value, ">=": prop("x") >= value}
        for operator in ("==", ">="):
            if operator in operators:
                found = list(rows.query(where[operator], allow=QueryClass.TABLE_SCAN))
                assert found == [row], operator
            elif name not in ("UUID4", "Literal and None", "Optional"):
                with pytest.raises(BadFilter):
                    list(rows.query(where[operator], allow=QueryClass.TABLE_SCAN))


@pytest.mark.parametrize("name", REFUSED)
def test_a_type_that_is_not_supported_is_rejected_with_what_to_use(name: str) -> None:
    kind, hint = REFUSED[name]
    for model in [make_dataclass("Model", [("room", str), ("x", kind)])]:
        with pytest.raises(BadDesign, match=hint):
            EntitySet(connect(), "Rows", KEY, model=model)


def test_a_value_of_another_type_is_rejected() -> None:
    values: dict[str, list[Any]] = {
        "Literal of str": ["c", 1],
        "Literal of int": [3, True, "1"],
        "time": ["12:00", time(1, tzinfo=timezone.utc)],
        "IPv4Address": ["10.0.0.1"],
        "HttpUrl": ["https://contoso.com"],
        "AwareDatetime": [datetime(2026, 1, 1), "2026"],
        "EmailStr": [5],
    }
    for name, wrong in values.items():
        model = make_dataclass("Model", [("room", str), ("x", SUPPORTED[name][0])])
        rows: Any = EntitySet(connect(), "Rows", KEY, model=model)
        for value in wrong:
            with pytest.raises(BadProperty, match=r"Model\.x"):
                rows.insert(model("red", value))
        rows.without_model().insert({"room": "red", "x": 7.5})
        with pytest.raises(UnrecognizedEntity):
            rows.get(room="red")


@given(st.lists(st.times(), min_size=2, max_size=5))
def test_times_sort(times: list[time]) -> None:
    model = make_dataclass("Model", [("room", str), ("x", time)])
    rows: Any = EntitySet(connect(), "Rows", Key("{room}", "{x}"), model=model)
    for value in set(times):
        rows.insert(model("red", value))
    assert [each.x for each in rows.range(room="red")] == sorted(set(times))


class Login(pydantic.BaseModel):
    room: str
    password: Annotated[pydantic.SecretStr, Encrypted()]
    token: Annotated[pydantic.SecretBytes | None, Encrypted()] = None


def test_a_secret_is_encrypted_and_never_shown() -> None:
    storage = connect()
    mapping = EncryptedProperties(keys=LocalKey.generate("1"))
    logins: Any = EntitySet(storage, "Logins", KEY, model=Login, mappings=[mapping])
    secret = pydantic.SecretStr("hunter2")
    login = logins.insert(Login(room="red", password=secret, token=pydantic.SecretBytes(b"hunter2")))
    assert logins.get(room="red") == login
    row = storage.tables.get_table_client("Logins").get_entity("red", "row")
    assert "hunter2" not in repr(row)
    assert b"hunter2" not in repr(dict(row)).encode()
    with pytest.raises(BadFilter) as caught:
        list(logins.query(prop("password") == "hunter2", allow=QueryClass.TABLE_SCAN))
    assert "hunter2" not in str(caught.value)
    with pytest.raises(BadProperty) as wrong:
        logins.update(login, password="hunter2")
    assert "hunter2" not in str(wrong.value)


def test_a_secret_key_field_is_rejected() -> None:
    model = make_dataclass("Model", [("room", pydantic.SecretStr)])
    with pytest.raises(BadDesign):
        EntitySet(connect(), "Rows", KEY, model=model)


class Aliased(pydantic.BaseModel):
    room: str = pydantic.Field(validation_alias=pydantic.AliasChoices("Room", "room"))
    amount: Decimal = pydantic.Field(Decimal(1), alias="Amount")


def test_a_class_of_pydantic_with_aliases_is_read() -> None:
    rows: Any = EntitySet(connect(), "Rows", KEY, model=Aliased)
    row = rows.insert(Aliased(Room="red", Amount=Decimal("2.50")))
    assert rows.get(room="red") == row


if sys.version_info >= (3, 12):

    def test_a_type_alias_is_resolved() -> None:
        from typing import TypeAliasType

        alias = TypeAliasType("alias", int)
        model = make_dataclass("Model", [("room", str), ("x", alias)])  # type: ignore[misc]
        rows: Any = EntitySet(connect(), "Rows", KEY, model=model)
        assert rows.insert(model("red", 5)).x == 5


@dataclass
class Scalars:
    room: str
    when: time
    ip: IPv4Address


def test_the_stored_forms_are_stable() -> None:
    rows = EntitySet(connect(), "Rows", KEY, model=Scalars)
    rows.insert(Scalars("red", time(9, 5), IPv4Address("10.0.0.1")))
    assert rows.without_model().get(room="red") == {"room": "red", "when": "09:05:00.000000", "ip": "10.0.0.1"}
