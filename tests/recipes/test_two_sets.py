"""Recipes that work on two sets reject sets between which they would lose, hide or reveal something."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Annotated, Any, Final

import pytest

import tablepatterns
from tablepatterns import (
    Archive,
    CopiedFields,
    EncryptedProperties,
    EntitySet,
    EntityTypes,
    InTable,
    Key,
    LargeProperties,
    LocalKey,
    OneOf,
    OneToMany,
    OneToOne,
    Rekey,
    SharedFields,
    Stored,
    WideEntity,
    aio,
    connect,
)
from tablepatterns.errors import BadDesign

KEY: Final = Key("{Department}", "{EmployeeId:06d}")
HEAD: Final = Key("{Department}", "department")
SECRET: Final = LocalKey("payroll", bytes(32))
SEALED: Final = EncryptedProperties(["Name"], keys=SECRET)
LARGE: Final = LargeProperties(["Name"], container="names")


@dataclass
class Employee:
    Department: str
    EmployeeId: int
    Name: str = ""


@dataclass
class Renamed:
    Department: str
    EmployeeId: int
    Name: Annotated[str, Stored("n")] = ""


@dataclass
class Manager(Employee):
    Reports: int = 0


def upgrade(fields: dict[str, Any]) -> dict[str, Any]:
    return fields


def staff(account: Any, table: str, key: Key = KEY, **options: Any) -> Any:
    return EntitySet(account, table, key, **options)


PLAIN: Final[dict[str, Any]] = {}
MODEL: Final = {"model": Employee}
ONE_OF: Final = {"model": OneOf(Employee, Manager)}
MODELS: Final[Mapping[str, tuple[dict[str, Any], dict[str, Any]]]] = {
    "another class": (MODEL, {"model": Manager}),
    "other stored names": (MODEL, {"model": Renamed}),
    "a model beside none": (PLAIN, MODEL),
    "fewer classes": (ONE_OF, {"model": OneOf(Employee)}),
    "another type property": (ONE_OF, {"model": OneOf(Employee, Manager, type_property="Kind")}),
    "a type property beside none": ({"model": OneOf(Employee)}, MODEL),
    "an earlier version": ({**MODEL, "versions": [(1, upgrade)]}, MODEL),
    "a later version": (MODEL, {**MODEL, "versions": [(1, upgrade)]}),
}
"""Two sets of which one cannot read the entities of the other as they were written."""
MAPPINGS: Final = {"not encrypted": ({"mappings": [SEALED]}, PLAIN), "not large": ({"mappings": [LARGE]}, PLAIN)}


def archived(one: Any, other: Any, one_options: Any = PLAIN, other_options: Any = PLAIN) -> object:
    return Archive(staff(one, "Current", **one_options), staff(other, "Former", **other_options))


def archived_children(one: Any, other: Any, one_options: Any = PLAIN, other_options: Any = PLAIN) -> object:
    heads, closed = staff(one, "Heads", HEAD), staff(one, "Closed", HEAD)
    relation: Any = OneToMany(heads, staff(one, "Current", **one_options))
    return Archive(heads, closed, children={relation: staff(other, "Former", **other_options)})


def rekeyed(one: Any, other: Any, one_options: Any = PLAIN, other_options: Any = PLAIN) -> object:
    return Rekey(staff(one, "Current", **one_options), staff(other, "Former", **other_options))


def copied(one: Any, other: Any) -> object:
    copies = CopiedFields(HEAD, refers={"EmployeeId": "Head"}, copies={"Name": "HeadName"}, store=InTable("Heads"))
    return staff(other, "Heads", HEAD, derived=[copies.filled_from(staff(one, "Current", derived=[copies]))])


ON_TWO_ACCOUNTS: Final[Mapping[str, tuple[Callable[[Any, Any], object], bool]]] = {
    "Archive": (archived, True),
    "Archive, children": (archived_children, True),
    "CopiedFields": (copied, False),
    "EntityTypes": (lambda one, other: EntityTypes(staff(one, "Current"), staff(other, "Current", HEAD)), False),
    "OneToMany": (lambda one, other: OneToMany(staff(one, "Heads", HEAD), staff(other, "Current")), True),
    "OneToOne": (lambda one, other: OneToOne(staff(one, "Current"), staff(other, "Former")), True),
    "Rekey": (rekeyed, True),
}
"""What takes two sets, and whether they may be on different accounts."""
OF_ONE_MODEL: Final = {"Archive": archived, "Archive, children": archived_children, "Rekey": rekeyed}


def test_each_recipe_of_two_sets_is_here() -> None:
    public = {name: getattr(tablepatterns, name) for name in dir(tablepatterns)}
    several = {name for name, member in public.items() if inspect.isclass(member) and _sets_of(member.__init__) > 1}
    assert several == {name for name in ON_TWO_ACCOUNTS if "," not in name} - {"CopiedFields"}


def _sets_of(function: Any) -> int:
    parameters = inspect.signature(function).parameters.values()
    of_sets = [each for each in parameters if "EntitySet[" in str(each.annotation)]
    return sum(2 if each.kind is each.VAR_POSITIONAL else 1 for each in of_sets)


@pytest.mark.parametrize("recipe", ON_TWO_ACCOUNTS)
def test_sync_and_async_sets_are_not_mixed(recipe: str) -> None:
    make, _ = ON_TWO_ACCOUNTS[recipe]
    for accounts in ((connect(), aio.connect()), (aio.connect(), connect())):
        with pytest.raises(BadDesign):
            make(*accounts)


@pytest.mark.parametrize("recipe", ON_TWO_ACCOUNTS)
def test_only_some_recipes_span_accounts(recipe: str) -> None:
    make, spans = ON_TWO_ACCOUNTS[recipe]
    one = connect()
    assert make(one, one) is not None
    if spans:
        assert make(connect(), connect()) is not None
    else:
        with pytest.raises(BadDesign, match="account"):
            make(connect(), connect())


@pytest.mark.parametrize("recipe", OF_ONE_MODEL)
@pytest.mark.parametrize("difference", MODELS)
def test_entities_only_move_to_a_set_that_reads_them(recipe: str, difference: str) -> None:
    make, options, storage = OF_ONE_MODEL[recipe], MODELS[difference], connect()
    for one, other in (options, options[::-1]):
        if recipe != "Rekey" and one and not other:
            # An archive without a model keeps every property, and the active set converts them
            assert make(storage, storage, one, other) is not None
            continue
        with pytest.raises(BadDesign, match="different models"):
            make(storage, storage, one, other)
    for same in options:
        assert make(connect(), connect(), same, same) is not None


@pytest.mark.parametrize("recipe", ["Archive", "Archive, children"])
@pytest.mark.parametrize("difference", MAPPINGS)
def test_an_archive_has_the_mappings_of_the_active_set(recipe: str, difference: str) -> None:
    one, other = MAPPINGS[difference]
    with pytest.raises(BadDesign, match="does not map Name"):
        OF_ONE_MODEL[recipe](connect(), connect(), one, other)
    assert OF_ONE_MODEL[recipe](connect(), connect(), one, one) is not None


def test_a_date_of_a_model_has_one_form_in_the_keys_of_both_sets() -> None:
    @dataclass
    class Flight:
        Day: date
        Number: int

    storage, by_day = connect(), Key("{Day:%Y-%m-%d}", "{Number:04d}")
    flights = staff(storage, "Flights", by_day, model=Flight)
    with pytest.raises(BadDesign, match="as a date"):
        Archive(flights, staff(storage, "Past", Key("past_{Day}", "{Number:04d}")))
    Archive(flights, staff(storage, "Earlier", Key("past_{Day:%Y-%m-%d}", "{Number:04d}")))


@pytest.mark.parametrize("on_two_accounts", [False, True])
def test_partners_are_linked_where_they_are(on_two_accounts: bool) -> None:
    one = connect()
    other = connect() if on_two_accounts else one
    first, second = staff(one, "Current"), staff(other, "Current", Key("{Department}", "photo_{EmployeeId:06d}"))
    key = {"Department": "Sales", "EmployeeId": 1}
    link = OneToOne(first, second, links=("PartnerPartition", "PartnerRow"))
    link.link(first.insert(key), second.insert(key))
    assert link.second_of(first.get(key))["PartnerRow"] == "000001"
    assert link.first_of(second.get(key))["PartnerRow"] == "photo_000001"


@pytest.mark.parametrize("links", [("Partner", "Partner"), ("Department", "Partner"), ("Partner", "EmployeeId")])
def test_links_are_two_properties_outside_of_the_keys(links: tuple[str, str]) -> None:
    storage = connect()
    with pytest.raises(BadDesign, match="links"):
        OneToOne(staff(storage, "Current"), staff(storage, "Former"), links=links)


def test_names_of_a_set_with_a_model_are_those_of_its_fields() -> None:
    """A misspelled name would leave a field in plain text, in the row, or as it is in all children."""
    storage, encrypted = connect(), EncryptedProperties(["Nmae"], keys=SECRET)
    for mapping in (encrypted, LargeProperties(["Nmae"], container="names")):
        for kind in (EntitySet, WideEntity):
            with pytest.raises(BadDesign, match="did you mean 'Name'"):
                kind(storage, "Staff", KEY, model=Employee, mappings=[mapping])
        staff(storage, "Staff", model=Employee, versions=[(1, upgrade)], mappings=[mapping])
    with pytest.raises(BadDesign, match="did you mean 'Name'"):
        SharedFields(staff(storage, "Staff", model=Employee), ["Nmae"])
    SharedFields(staff(storage, "Staff"), ["Nmae"])
