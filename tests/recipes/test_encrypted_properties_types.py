"""Types under encryption: a value of every type comes back as it was."""

from __future__ import annotations

import math
from datetime import datetime, timedelta, timezone
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.backends import awaited
from support.employees import jones
from support.encrypted_staff import KEY, SECRET, encrypted, staff_of
from support.examples import examples
from tablepatterns.edm import Int64, Ticks
from tablepatterns.entity import same_value
from tablepatterns.errors import BadProperty

EMPLOYEE = jones(Salary=90_000, Ssn=SECRET)


async def stored(storage: Any, table: str) -> list[dict[str, Any]]:
    client = awaited(storage.tables.get_table_client(table))
    return [dict(row) async for row in client.list_entities()]


INSTANTS = st.datetimes(min_value=datetime(1601, 1, 1), timezones=st.just(timezone(timedelta(hours=2)))).filter(
    lambda moment: moment >= datetime(1601, 1, 2, tzinfo=timezone.utc)
)
VALUES = st.one_of(
    st.text(),
    st.binary(),
    st.booleans(),
    st.integers(-(2**31), 2**31 - 1),
    st.integers(-(2**63), 2**63 - 1).map(Int64),
    st.floats(),
    st.uuids(),
    INSTANTS,
    st.integers(504911232000000000, Ticks.MAX).map(Ticks),
)


@examples(60)
@given(value=VALUES)
async def test_a_value_comes_back_with_its_type(storage: Any, new_name: Any, value: Any) -> None:
    staff = staff_of(storage, new_name(), encrypted("Value"))
    await staff.insert({**KEY, "Value": value})
    found = (await staff.get(**KEY))["Value"]
    assert same_value({"Value": found}, {"Value": value})


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ("", str),
        ("naïve 🛫 \ud800", str),
        (b"", bytes),
        (True, bool),
        (7, int),
        (5_000_000_000, Int64),
        (Int64(7), Int64),
        (math.inf, float),
        (UUID(int=7), UUID),
        (Ticks.parse("2014-08-22T00:50:32.8639974Z"), Ticks),
        (datetime(2014, 8, 22, 0, 50, 32, 863997, tzinfo=timezone.utc), datetime),
    ],
)
async def test_each_type_is_its_own(storage: Any, table_name: str, value: Any, kind: type) -> None:
    staff = staff_of(storage, table_name, encrypted("Value"))
    await staff.insert({**KEY, "Value": value})
    found = (await staff.get(**KEY))["Value"]
    assert type(found) is kind
    assert found == value


async def test_a_value_of_no_property_type_is_rejected_without_being_shown(storage: Any, table_name: str) -> None:
    with pytest.raises(BadProperty, match="list is not a property type") as refused:
        await staff_of(storage, table_name).insert({**KEY, "Ssn": [SECRET]})
    assert SECRET not in str(refused.value) + repr(refused.value.__cause__)
