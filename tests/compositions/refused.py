"""Designs that are rejected when they are created, before any request, with the reason."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from compositions.fields import NOON
from compositions.homes import Home
from compositions.mappings import BLIND_KEY, SECRET
from tablepatterns import (
    Archive,
    BlobArchive,
    ChildSet,
    DataSeries,
    EntitySet,
    EntityTypes,
    IntraPartitionIndex,
    Key,
    LogTail,
    PartitionSpread,
    Period,
    PeriodTables,
    WideEntity,
    connect,
)
from tablepatterns.entity_set.placement import InBlobs
from tablepatterns.errors import BadDesign
from tablepatterns.recipes.denormalize import CopiedFields
from tablepatterns.recipes.encrypted_properties.encrypted_properties import EncryptedProperties
from tablepatterns.recipes.encrypted_properties.key_rotation import KeyRotation
from tablepatterns.recipes.index_entities import IndexEntity
from tablepatterns.recipes.inter_partition_index import InterPartitionIndex
from tablepatterns.recipes.large_properties.large_properties import LargeProperties
from tablepatterns.recipes.large_properties.large_values import LargePropertyStore
from tablepatterns.recipes.one_to_many import OneToMany
from tablepatterns.recipes.summary import Summary
from tablepatterns_engine.account import Engine
from tablepatterns_engine.clock import Clock

KEY = Key(Home.partition, Home.row)
BY_EMAIL = IntraPartitionIndex(Key(Home.partition, "email_{Email}"))
SEALED = EncryptedProperties(["Ssn", "Email", "Salary"], keys=SECRET)
LARGE = LargeProperties(["Photo", "Email", "Salary"], container="large")
COSMOS = (
    "DefaultEndpointsProtocol=https;AccountName=a;AccountKey=a2V5;TableEndpoint=https://a.table.cosmos.azure.com:443/"
)


class Refused(NamedTuple):
    """A rejected combination of two parts.

    :param parts: the two parts
    :param what: how they are combined
    :param make: a function that creates the design
    """

    parts: tuple[str, str]
    what: str
    make: Callable[[Any], object]


@dataclass(frozen=True)
class Person:
    """A class with another key than the employees."""

    Name: str


def staff(account: Any, *derived: Any, mappings: Any = (), table: str = "Staff", key: Key = KEY, **more: Any) -> Any:
    return EntitySet(account, table, key, derived=derived, mappings=mappings, **more)


def wide(account: Any, *mappings: Any, **options: Any) -> Any:
    return WideEntity(account, "Staff", KEY, mappings=mappings, **options)


def periods(account: Any, make: Callable[[Any, str], Any], **options: Any) -> Any:
    return PeriodTables(account, "Logins", Period.DAY, factory=make, **options)


def spread(account: Any, make: Callable[[Any, str, Key], Any] | None = None) -> Any:
    return PartitionSpread(account, "Staff", KEY, buckets=3, factory=make)


def _derived_of(name: str, mapping: Any, what: str) -> tuple[Refused, ...]:
    """Return all kinds of derived data that could read an encoded field."""
    email = Key("email_{Department}", "{Email}")
    kinds: dict[str, Any] = {
        "IntraPartitionIndex": BY_EMAIL,
        "InterPartitionIndex": InterPartitionIndex(email),
        "IndexEntity": IndexEntity("Email"),
        "Summary": Summary(Key(Home.partition, "total"), sums={"Salary": "Payroll"}),
        "CopiedFields": CopiedFields(
            Key(Home.partition, "manager"), refers={"EmployeeId": "Manager"}, copies={"Email": "ManagerEmail"}
        ),
    }

    def making(derived: Any) -> Callable[[Any], object]:
        return lambda account: staff(account, derived, mappings=[mapping])

    return tuple(Refused((kind, name), f"of {what} property", making(derived)) for kind, derived in kinds.items())


REFUSED: tuple[Refused, ...] = (
    *_derived_of("EncryptedProperties", SEALED, "an encrypted"),
    *_derived_of("LargeProperties", LARGE, "a large"),
    Refused(
        ("IntraPartitionIndex", "EncryptedProperties"),
        "that includes an encrypted property without EncryptedWith",
        lambda account: staff(
            account,
            IntraPartitionIndex(Key(Home.partition, "name_{LastName}"), include=["Ssn"]),
            mappings=[SEALED],
        ),
    ),
    Refused(
        ("IntraPartitionIndex", "IntraPartitionIndex"),
        "with overlapping RowKeys",
        lambda account: staff(account, BY_EMAIL, IntraPartitionIndex(Key(Home.partition, "email_{LastName}"))),
    ),
    Refused(
        ("IntraPartitionIndex", "PartitionSpread"),
        "whose PartitionKey lacks the bucket",
        lambda account: spread(account, lambda inner, table, key: staff(inner, BY_EMAIL, table=table, key=key)),
    ),
    Refused(
        ("InterPartitionIndex", "PartitionSpread"),
        "in one table, without a RowKey prefix",
        lambda account: spread(
            account,
            lambda inner, table, key: staff(
                inner, InterPartitionIndex(Key("{Department}", "{Email}")), table=table, key=key
            ),
        ),
    ),
    Refused(
        ("InterPartitionIndex", "PeriodTables"),
        "in another table",
        lambda account: periods(
            account,
            lambda inner, table: staff(
                inner, InterPartitionIndex(Key("email_{Department}", "{Email}"), table="Emails"), table=table
            ),
        ),
    ),
    Refused(
        ("IndexEntity", "PeriodTables"),
        "in blobs",
        lambda account: periods(
            account,
            lambda inner, table: staff(
                inner, IndexEntity("Department", "LastName", store=InBlobs("lists")), table=table
            ),
        ),
    ),
    Refused(
        ("EncryptedProperties", "EntitySet"),
        "of a key field",
        lambda account: staff(account, mappings=[EncryptedProperties(["EmployeeId"], keys=SECRET)]),
    ),
    Refused(
        ("EncryptedProperties", "EncryptedProperties"),
        "twice in one set",
        lambda account: staff(account, mappings=[SEALED, EncryptedProperties(["Notes"], keys=SECRET)]),
    ),
    Refused(
        ("EncryptedProperties", "EncryptedProperties, blind"),
        "with a hash of a property that is not encrypted",
        lambda account: EncryptedProperties(["Ssn"], keys=SECRET, blind={"Age": "AgeHash"}, blind_key=BLIND_KEY),
    ),
    Refused(
        ("LargeProperties", "EntitySet"),
        "of a key field",
        lambda account: staff(account, mappings=[LargeProperties(["Department"], container="large")]),
    ),
    Refused(
        ("EncryptedProperties", "Archive"),
        "to a set that stores plain text",
        lambda account: Archive(staff(account, mappings=[SEALED]), staff(account, table="Former")),
    ),
    Refused(
        ("EncryptedProperties", "Archive"),
        "to blobs",
        lambda account: Archive(staff(account, mappings=[SEALED]), BlobArchive(account, "former")),
    ),
    Refused(
        ("LargeProperties", "Archive"),
        "to a set without blobs",
        lambda account: Archive(staff(account, mappings=[LARGE]), staff(account, table="Former")),
    ),
    Refused(
        ("Archive", "EntitySet"),
        "to a set with other key fields",
        lambda account: Archive(staff(account), staff(account, table="Former", key=Key("{Name}", "former"))),
    ),
    Refused(
        ("KeyRotation", "EntitySet"), "of a set that encrypts nothing", lambda account: KeyRotation(staff(account))
    ),
    Refused(
        ("WideEntity", "EncryptedProperties"),
        "whose `properties` lack EncryptedWith",
        lambda account: wide(account, SEALED, properties=["Email", "Salary", "Ssn"]),
    ),
    Refused(
        ("WideEntity", "LargeProperties"),
        "of a key field",
        lambda account: wide(account, LargeProperties(["Department"], container="large")),
    ),
    Refused(
        ("KeyRotation", "WideEntity"), "of entities that are not encrypted", lambda account: KeyRotation(wide(account))
    ),
    Refused(
        ("LargePropertyStore", "WideEntity"),
        "of entities without large values",
        lambda account: LargePropertyStore(wide(account)),
    ),
    Refused(
        ("LargePropertyStore", "EntitySet"),
        "of a set without large values",
        lambda account: LargePropertyStore(staff(account)),
    ),
    Refused(
        ("PeriodTables", "LogTail"),
        "with times in another field",
        lambda account: periods(
            account, lambda inner, table: LogTail(inner, table, Home.partition, at="ClaimedAt"), at="At"
        ),
    ),
    Refused(
        ("PeriodTables", "WideEntity"),
        "instead of a set",
        lambda account: periods(account, lambda inner, table: WideEntity(inner, table, Key("{Employee}", ""))),
    ),
    Refused(
        ("PeriodTables", "PartitionSpread"),
        "instead of a set",
        lambda account: periods(account, lambda inner, table: PartitionSpread(inner, table, KEY, buckets=3)),
    ),
    Refused(
        ("PartitionSpread", "ChildSet"),
        "with a key that has no bucket",
        lambda account: spread(account, lambda inner, table, key: ChildSet(inner, table, KEY, "_{Year:04d}")),
    ),
    Refused(
        ("ChildSet", "EntitySet"),
        "if the parent's key has no fixed length",
        lambda account: ChildSet(account, "Staff", Key("{Department}", "{Name}"), "_{Year:04d}"),
    ),
    Refused(
        ("EntityTypes", "EntitySet"),
        "for sets in two tables",
        lambda account: EntityTypes(
            staff(account, key=Key("{Name}", "person")),
            staff(account, table="Others", key=Key("{Name}", "other")),
        ),
    ),
    Refused(
        ("EntityTypes", "EntitySet"),
        "for a class without the key fields",
        lambda account: EntityTypes(staff(account, model=Person)),
    ),
    Refused(
        ("OneToMany", "EntitySet"),
        "if the children of a parent are not one range",
        lambda account: OneToMany(
            staff(account, key=Key("{Department}", "head")), staff(account, key=Key("{City}", "empid_{EmployeeId:06d}"))
        ),
    ),
    Refused(
        ("EntitySet", "EntitySet"),
        "in one table, with keys that can overlap",
        lambda account: beside_text(account, lambda inner: staff(inner, key=Key(Home.partition, "p_{Person}_{Day}"))),
    ),
    Refused(
        ("LogTail", "EntitySet"),
        "in one table, with keys that can overlap",
        lambda account: beside_text(account, lambda inner: LogTail(inner, "Staff", Home.partition)),
    ),
    Refused(
        ("WideEntity", "EntitySet"),
        "in one table, with keys that can overlap",
        lambda account: beside_text(account, wide),
    ),
    Refused(
        ("DataSeries", "EntitySet"),
        "in one table, with keys that can overlap",
        lambda account: [
            staff(account),
            DataSeries(account, "Staff", KEY, 24, prefix="Hour", value_type=int),
        ],
    ),
    Refused(("LogTail", "Cosmos DB"), "which does not sort", lambda account: LogTail(cosmos(), "Claims", "{Employee}")),
    Refused(("PartitionSpread", "Cosmos DB"), "which does not sort", lambda account: spread(cosmos())),
)


def beside_text(account: Any, make: Callable[[Any], object]) -> object:
    """Make something in the table of a set whose RowKeys are any text."""
    return [staff(account, key=Key(Home.partition, "{Email}")), make(account)]


def cosmos() -> Any:
    return connect(COSMOS)


def reason(refused: Refused) -> str:
    """Return the text of the error that rejects a design."""
    # A fixed time, for the names of periods
    with connect(Engine(clock=Clock(NOON))) as storage:
        try:
            made = refused.make(storage)
        except BadDesign as error:
            assert storage.engine is not None
            assert storage.engine.ledger.totals.requests == 0
            return f"{error.subject}: {error.rule}; {error.hint}"
    raise AssertionError(f"{' x '.join(refused.parts)} {refused.what} is not refused: {made}")
