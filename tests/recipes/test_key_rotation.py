"""Key rotation: entities under an old key are encrypted again, and the old key is removed when none is left."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest

from support.employees import BY_EMAIL, BY_ID, jones
from support.guarantees import explore_guarantee
from tablepatterns import BulkLoad, EncryptedProperties, EntitySet, IntraPartitionIndex, Key, KeyRotation, LocalKey
from tablepatterns.entity_set.internals import mappings_of
from tablepatterns.errors import BadDesign, BadInput, DecryptionFailed, EntityChanged, EntityNotFound, UnknownKey
from tablepatterns.recipes.encrypted_properties import cipher
from tablepatterns.recipes.encrypted_properties.key_rotation import PLAIN, RotationProgress
from tablepatterns.sdk.operation import Operation
from tablepatterns_explore import World
from tablepatterns_explore.explore import Counterexample

SSN = "078-05-1120"
OLD, NEW = LocalKey("old", bytes(range(32))), LocalKey("new", bytes(range(32, 64)))
BLIND = {"Ssn": "SsnHash"}
BY_SSN = IntraPartitionIndex(Key("{Department}", "ssn_{SsnHash}"))


def staff_of(storage: Any, table: str, keys: Any, *derived: Any, names: Any = ("Ssn",), **options: Any) -> Any:
    return EntitySet(
        storage, table, BY_ID, derived=derived, mappings=[EncryptedProperties(names, keys=keys, **options)]
    )


async def hire(staff: Any, *numbers: int) -> None:
    for number in numbers:
        await staff.insert(jones(EmployeeId=number, Ssn=f"{SSN}-{number}", Email=f"{number}@contoso.com"))


async def test_all_is_under_the_new_key_and_the_old_one_can_go(storage: Any, table_name: str) -> None:
    by_email = IntraPartitionIndex(BY_EMAIL)
    await hire(staff_of(storage, table_name, OLD, by_email), 1, 2)
    staff = staff_of(storage, table_name, [NEW, OLD], by_email)
    await hire(staff, 3)
    rotation = KeyRotation(staff)
    assert await rotation.in_use() == {"old": 4, "new": 2}
    assert await rotation.rotate() == RotationProgress(seen=3, rewritten=2)
    assert await rotation.in_use() == {"new": 6}
    after = staff_of(storage, table_name, NEW, by_email)
    assert [found["Ssn"] async for found in after.range(Department="Sales")] == [f"{SSN}-{n}" for n in (1, 2, 3)]
    assert (await after.find(by_email, Department="Sales", Email="2@contoso.com"))["Ssn"] == f"{SSN}-2"
    with pytest.raises(UnknownKey):
        await staff_of(storage, table_name, OLD, by_email).get(Department="Sales", EmployeeId=1)


async def test_what_is_current_is_left_alone(storage: Any, engine: Any, table_name: str) -> None:
    staff = staff_of(storage, table_name, NEW)
    await hire(staff, 1, 2, 3)
    with engine.ledger.span() as span:
        assert await KeyRotation(staff).rotate() == RotationProgress(seen=3, rewritten=0)
    assert span.totals.requests == 1


async def test_it_is_spread_over_time(storage: Any, engine: Any, table_name: str) -> None:
    await hire(staff_of(storage, table_name, OLD), 1, 2, 3, 4, 5)
    before = engine.clock.now()
    done = await KeyRotation(staff_of(storage, table_name, [NEW, OLD])).rotate(max_per_second=0.1)
    assert done.rewritten == 5
    assert 39 <= (engine.clock.now() - before) / 10_000_000 < 60
    with pytest.raises(BadInput, match="above 0"):
        await KeyRotation(staff_of(storage, table_name, [NEW, OLD])).rotate(max_per_second=0)


async def test_plain_entities_and_new_properties_are_encrypted(storage: Any, table_name: str) -> None:
    await hire(EntitySet(storage, table_name, BY_ID), 1)
    await hire(staff_of(storage, table_name, NEW), 2)
    staff = staff_of(storage, table_name, NEW, names=["Ssn", "Age"])
    rotation = KeyRotation(staff)
    assert await rotation.in_use() == {PLAIN: 1, "new": 1}
    assert await rotation.rotate() == RotationProgress(seen=2, rewritten=2)
    strict = staff_of(storage, table_name, NEW, names=["Ssn", "Age"], require=True)
    assert [found["Age"] async for found in strict.range(Department="Sales")] == [34, 34]


async def test_a_new_key_for_blind_indexes_moves_their_rows(storage: Any, table_name: str) -> None:
    await hire(staff_of(storage, table_name, NEW, BY_SSN, blind=BLIND, blind_key=bytes(32)), 1)
    staff = staff_of(storage, table_name, NEW, BY_SSN, blind=BLIND, blind_key=bytes(range(32)))
    assert await KeyRotation(staff).rotate() == RotationProgress(seen=1, rewritten=1)
    (mapping,) = mappings_of(staff).mappings
    asked = mapping.blind(table_name, Ssn=f"{SSN}-1")
    assert (await staff.find(BY_SSN, Department="Sales", **asked))["EmployeeId"] == 1


async def test_it_resumes_where_it_was_interrupted(storage: Any, engine: Any, table_name: str) -> None:
    await hire(staff_of(storage, table_name, OLD), 1)
    plain = ({"Department": "Sales", "EmployeeId": number} for number in range(2, 1003))
    await BulkLoad(EntitySet(storage, table_name, BY_ID)).load(plain)
    staff = staff_of(storage, table_name, [NEW, OLD])
    seen: list[RotationProgress] = []
    whole = await KeyRotation(staff).rotate(progress=seen.append)
    assert whole == RotationProgress(seen=1002, rewritten=1)
    assert [each.seen for each in seen] == [1000, 1002]
    assert await KeyRotation(staff).rotate(resume=seen[0].token) == RotationProgress(seen=2, rewritten=0)


async def test_an_entity_that_cannot_be_decrypted_stops_it(storage: Any, table_name: str) -> None:
    await hire(staff_of(storage, table_name, OLD), 1)
    with pytest.raises(UnknownKey):
        await KeyRotation(staff_of(storage, table_name, NEW)).rotate()
    row = {"PartitionKey": "Sales", "RowKey": "empid_000002", "Ssn": b"", "EncryptedWith": "{}"}
    await storage.table(table_name).submit(Operation.insert(row))
    rotation = KeyRotation(staff_of(storage, table_name, NEW))
    for call in (rotation.in_use, rotation.rotate):
        with pytest.raises(DecryptionFailed, match="cannot be read"):
            await call()


def test_a_set_that_encrypts_nothing_is_rejected(storage: Any, table_name: str) -> None:
    with pytest.raises(BadDesign, match="no mapping for encrypted properties"):
        KeyRotation(EntitySet(storage, table_name, BY_ID))


# -- schedules


def no_chance(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the ciphers draw what they need from what a schedule can repeat."""

    class Repeatable:
        @staticmethod
        def urandom(size: int) -> bytes:
            return (uuid4().bytes * 3)[:size]

    monkeypatch.setattr(cipher, "os", Repeatable)


def entity_of(world: World) -> dict[str, Any]:
    staff = staff_of(world.storage, "Staff", NEW, names=["Ssn"])
    found: dict[str, Any] = world.run(staff.get(Department="Sales", EmployeeId=1))
    return found


def rotating(rotation: Callable[[Any], Any]) -> Callable[[World], dict[str, Any]]:
    """Return what makes a writer with the new key, who adds one to an age, beside a rotation."""

    def older(employee: Any) -> None:
        employee["Age"] += 1

    def make(world: World) -> dict[str, Any]:
        world.run(hire(staff_of(world.storage, "Staff", OLD), 1))
        staff = staff_of(world.storage, "Staff", [NEW, OLD])
        return {
            "writer": staff.update(older, Department="Sales", EmployeeId=1),
            "rotation": rotation(staff),
        }

    return make


def nothing_is_lost(world: World) -> None:
    if "rotation" in world.returned:
        found = entity_of(world)
        assert found["Ssn"] == f"{SSN}-1"
        assert found["Age"] >= 34 + ("writer" in world.returned), "a birthday was lost"


@pytest.mark.guarantee(
    "KeyRotation", "no concurrent write is lost, and at the end everything is encrypted with the current key"
)
@pytest.mark.parametrize("bound", [{"crashes": 1}, {"lost_responses": 1}])
def test_a_writer_runs_during_a_rotation(monkeypatch: pytest.MonkeyPatch, bound: dict[str, int]) -> None:
    no_chance(monkeypatch)
    make = rotating(lambda staff: KeyRotation(staff).rotate())
    result = explore_guarantee(make, invariant=nothing_is_lost, **bound)
    assert result.states > 20


async def careless(staff: Any) -> None:
    """Write over whatever is there by now."""
    found = await staff.get(Department="Sales", EmployeeId=1)
    await staff.replace(found, force=True)


def test_a_rotation_that_writes_unconditionally_loses_a_change(monkeypatch: pytest.MonkeyPatch) -> None:
    no_chance(monkeypatch)
    with pytest.raises(Counterexample, match="a birthday was lost"):
        explore_guarantee(rotating(careless), invariant=nothing_is_lost, expected=(EntityChanged, EntityNotFound))
