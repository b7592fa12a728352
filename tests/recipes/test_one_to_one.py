"""Partners by equal keys, and by the keys that each stores of the other."""

from __future__ import annotations

from typing import Any

import pytest

from support.guarantees import explore_guarantee
from tablepatterns import EntitySet, Key, OneToOne, connect
from tablepatterns.errors import BadDesign, BadInput, EntityChanged
from tablepatterns_engine.account import Engine
from tablepatterns_explore import Counterexample, World

STAFF = Key("{Department}", "empid_{EmployeeId:06d}")
LINKS = ("PartnerPartitionKey", "PartnerRowKey")
JONES = {"Department": "Sales", "EmployeeId": 223}
CAR = {"Maker": "Fiat", "Number": "1"}


def linked(storage: Any, staff: str, cars: str) -> Any:
    return OneToOne(EntitySet(storage, staff, STAFF), EntitySet(storage, cars, Key("{Maker}", "{Number}")), links=LINKS)


@pytest.mark.guide("G-275")
async def test_an_implicit_partner_is_found_by_its_key(storage: Any, engine: Engine, new_name: Any) -> None:
    staff = EntitySet(storage, new_name(), STAFF)
    photos = EntitySet(storage, new_name(), Key("{EmployeeId:06d}", "photo_{Department}"))
    pair = OneToOne(staff, photos)
    jones = await staff.insert(JONES)
    assert await pair.second_of(jones) is None
    photo = await photos.insert({**JONES, "Photo": b"GIF89a"})
    with engine.ledger.span() as span:
        assert (await pair.second_of(jones))["Photo"] == b"GIF89a"
    assert span.totals.requests == 1
    assert await pair.first_of(photo) == JONES
    with pytest.raises(BadInput, match="links"):
        await pair.link(jones, photo)


def test_a_convention_needs_the_same_fields() -> None:
    storage = connect()
    with pytest.raises(BadDesign, match="links"):
        OneToOne(EntitySet(storage, "Staff", STAFF), EntitySet(storage, "Cars", Key("{Maker}", "{Number}")))


@pytest.mark.guide("G-276")
async def test_each_holds_the_keys_of_the_other_and_links_resolve_both_ways(storage: Any, new_name: Any) -> None:
    drives = linked(storage, new_name(), new_name())
    jones, car = await drives.first.insert(JONES), await drives.second.insert(CAR)
    assert await drives.second_of(jones) is None
    await drives.link(jones, car)
    jones, car = await drives.first.get(**JONES), await drives.second.get(**CAR)
    assert [jones[name] for name in LINKS] == ["Fiat", "1"]
    assert [car[name] for name in LINKS] == ["Sales", "empid_000223"]
    assert (await drives.second_of(jones))["Number"] == "1"
    assert (await drives.first_of(car))["EmployeeId"] == 223
    await drives.unlink(jones, car)
    assert await drives.second_of(await drives.first.get(**JONES)) is None
    assert await drives.first.get(**JONES) == JONES


async def test_a_link_that_was_begun_is_cleared_without_that_of_the_other_partner(storage: Any, new_name: Any) -> None:
    drives = linked(storage, new_name(), new_name())
    jones, car = await drives.first.insert(JONES), await drives.second.insert(CAR)
    smith = await drives.first.insert({"Department": "Sales", "EmployeeId": 224})
    await drives.link(smith, car)
    begun = await drives.first.replace(jones | dict(zip(LINKS, ("Fiat", "1"), strict=True)))
    car = await drives.second.get(**CAR)
    await drives.unlink(begun, car)
    assert await drives.first.get(**JONES) == JONES
    assert (await drives.first_of(await drives.second.get(**CAR)))["EmployeeId"] == 224
    with pytest.raises(BadInput, match="not linked"):
        await drives.unlink(await drives.first.get(**JONES), car)


async def test_in_one_partition_a_link_is_one_transaction(storage: Any, engine: Engine, table_name: str) -> None:
    desks = EntitySet(storage, table_name, Key("{Department}", "desk_{Desk:03d}"))
    sits = OneToOne(EntitySet(storage, table_name, STAFF), desks, links=LINKS)
    jones, desk = await sits.first.insert(JONES), await desks.insert({"Department": "Sales", "Desk": 7})
    with engine.ledger.span() as span:
        await sits.link(jones, desk)
    assert span.totals.requests == 1
    assert (await sits.second_of(jones))["Desk"] == 7


async def test_an_entity_with_a_partner_cannot_be_linked_to_another(storage: Any, new_name: Any) -> None:
    drives = linked(storage, new_name(), new_name())
    jones, car = await drives.first.insert(JONES), await drives.second.insert(CAR)
    other = await drives.first.insert({**JONES, "EmployeeId": 1})
    await drives.link(jones, car)
    with pytest.raises(BadInput, match="unlink"):
        await drives.link(other, car)
    await drives.link(jones, car)
    assert (await drives.second_of(jones))["Number"] == "1"
    assert await drives.second_of(other) is None


async def test_a_link_to_an_entity_that_changed_is_rejected_and_does_not_exist(storage: Any, new_name: Any) -> None:
    drives = linked(storage, new_name(), new_name())
    jones, car = await drives.first.insert(JONES), await drives.second.insert(CAR)
    await drives.second.merge(CAR, {"Colour": "red"}, force=True)
    with pytest.raises(EntityChanged):
        await drives.link(jones, car)
    jones = await drives.first.get(**JONES)
    assert await drives.second_of(jones) is None
    await drives.link(jones, await drives.second.get(**CAR))
    assert (await drives.second_of(jones))["Colour"] == "red"


async def test_a_deleted_partner_or_an_invalid_link_is_none(storage: Any, new_name: Any) -> None:
    drives = linked(storage, new_name(), new_name())
    jones, car = await drives.first.insert(JONES), await drives.second.insert(CAR)
    await drives.link(jones, car)
    await drives.second.delete(car)
    assert await drives.second_of(jones) is None
    assert await drives.second_of({**JONES, LINKS[0]: "Fiat"}) is None
    assert await drives.second_of({**JONES, LINKS[0]: 7, LINKS[1]: "1"}) is None
    assert await drives.second_of({**JONES, LINKS[0]: "Fiat", LINKS[1]: b"1"}) is None


# ------------------------------------------------------------------ explored


def two_who_want_one_car(world: World) -> list[Any]:
    drives = linked(world.storage, "Staff", "Cars")
    others = [{**JONES, "EmployeeId": number} for number in (1, 2)]
    people = [world.run(drives.first.insert(each)) for each in others]
    world.run(drives.second.insert(CAR))
    return [drives.link(person, world.run(drives.second.get(**CAR))) for person in people]


def a_link_is_known_on_both_sides(world: World) -> None:
    """At most one employee has the car, and a link that succeeded is there, unless the other actor crashed."""
    drives = linked(world.storage, "Staff", "Cars")
    people = [world.run(drives.first.get(Department="Sales", EmployeeId=number)) for number in (1, 2)]
    drivers = [person["EmployeeId"] for person in people if world.run(drives.second_of(person)) is not None]
    assert len(drivers) <= 1
    driver = world.run(drives.first_of(world.run(drives.second.get(**CAR))))
    assert drivers == ([] if driver is None else [driver["EmployeeId"]])
    winners = ["AB".index(name) + 1 for name in world.returned]
    assert set(winners) <= set(drivers)


@pytest.mark.guarantee(
    "OneToOne", "a link exists on both sides or on none; if two entities claim one partner, one gets it"
)
@pytest.mark.parametrize("faults", [{"crashes": 1}, {"lost_responses": 1}], ids=str)
def test_of_two_links_one_exists_on_both_sides_after_any_fault(faults: dict[str, int]) -> None:
    result = explore_guarantee(
        two_who_want_one_car, invariant=a_link_is_known_on_both_sides, expected=(EntityChanged,), **faults
    )
    assert result.states >= 10


def test_trusting_one_side_of_a_link_fails() -> None:
    def believed(world: World) -> None:
        drives = linked(world.storage, "Staff", "Cars")
        people = [world.run(drives.first.get(Department="Sales", EmployeeId=number)) for number in (1, 2)]
        assert sum(LINKS[0] in person for person in people) <= 1

    with pytest.raises(Counterexample):
        explore_guarantee(two_who_want_one_car, invariant=believed, expected=(EntityChanged,))
