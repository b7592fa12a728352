"""An object of every public class, and valid arguments for its calls, of which tests make one at a time invalid."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any, TypeAlias
from uuid import UUID

import tablepatterns as tp
from support.declared_objects import all_public_objects
from tablepatterns import Key

Made: TypeAlias = dict[str, Any]

NOW = datetime(2026, 7, 31, 12, tzinfo=timezone.utc)
STAFF = Key("{Department}", "empid_{EmployeeId:06d}")
JONES = {"Department": "Sales", "EmployeeId": 223}

EXEMPT = {
    "BlobLogHandler": "its methods are those of logging.Handler",
    "Drift": "verify returns it",
    "Finding": "an enumeration",
    "ParallelResult": "ParallelReads returns it",
    "Grant": "grant() returns it",
    "InBlobs": "a name, checked by what takes it",
    "InPartition": "it has no parameters",
    "InTable": "a name, checked by what takes it",
    "Int64": "an int",
    "Observer": "its methods are called by the library",
    "Mismatch": "an enumeration",
    "Page": "page returns it",
    "Period": "an enumeration",
    "Phase": "an enumeration",
    "QueryClass": "an enumeration",
    "Storage": "connect() returns it",
    "TablePatternsError": "an exception",
    "Ticks": "an int",
}
"""Public classes that callers do not create, or that are plain values, with the reason."""


@dataclass
class Employee:
    """A class whose objects are entities."""

    Department: str
    EmployeeId: int
    Name: str = ""


class Vault:
    """A fake client of a key vault."""

    key_id = "https://vault.example/keys/payroll/1"


def _sets(storage: tp.Storage) -> Made:
    by_email = tp.IntraPartitionIndex(Key("{Department}", "email_{Email}"))
    by_city = tp.InterPartitionIndex(Key("city_{City}", "city_{EmployeeId:06d}"))
    names = tp.IndexEntity("Name")
    total = tp.Summary(Key("{Department}", "total"))
    staff = tp.EntitySet(storage, "Staff", STAFF, derived=[by_email, by_city, names, total])
    plain = tp.EntitySet(storage, "Plain", STAFF)
    heads = tp.EntitySet(storage, "Heads", Key("{Department}", "head"))
    blob = tp.LargeProperties(["Photo"], container="photos")
    large = tp.EntitySet(storage, "Large", STAFF, mappings=[blob])
    key = tp.LocalKey.generate("k")
    encrypted = tp.EncryptedProperties(["Ssn"], keys=key, blind={"Ssn": "SsnHash"}, blind_key=bytes(range(32)))
    safe = tp.EntitySet(storage, "Safe", STAFF, mappings=[encrypted])
    copied = tp.CopiedFields(
        STAFF, refers={"Department": "Department", "EmployeeId": "Boss"}, copies={"BossName": "Name"}
    )
    return {
        "IntraPartitionIndex": by_email,
        "InterPartitionIndex": by_city,
        "IndexEntity": names,
        "Summary": total,
        "EntitySet": staff,
        "plain": plain,
        "heads": heads,
        "large": large,
        "safe": safe,
        "LargeProperties": blob,
        "LocalKey": key,
        "EncryptedProperties": encrypted,
        "CopiedFields": copied,
    }


def _recipes(storage: tp.Storage, sets: Made) -> Made:
    staff, plain, heads = sets["EntitySet"], sets["plain"], sets["heads"]
    by_time = Key("{Department}", "{At:inverted}")
    archive = tp.Archive(plain, tp.BlobArchive(storage, "archive"))
    return {
        "AccessPolicies": tp.AccessPolicies(storage, "Staff"),
        "Archive": archive,
        "BlobArchive": tp.BlobArchive(storage, "archive"),
        "BlobLog": tp.BlobLog(storage, "logs", "web"),
        "BulkDelete": tp.BulkDelete(staff),
        "BulkLoad": tp.BulkLoad(plain),
        "ChildSet": tp.ChildSet(storage, "Plain", STAFF, "_{Year:04d}"),
        "DataSeries": tp.DataSeries(storage, "Series", STAFF, 24, prefix="Hour", value_type=int),
        "SharedFields": tp.SharedFields(plain, ["Floor"]),
        "EntityGroupTransaction": tp.EntityGroupTransaction(storage, "Staff"),
        "EntityTypes": tp.EntityTypes(tp.EntitySet(storage, "Typed", STAFF, model=Employee)),
        "OneOf": tp.OneOf(Employee),
        "EventualTransaction": tp.EventualTransaction(storage, "welcome", "welcome", [len]),
        "HashDivision": tp.HashDivision(2),
        "Key": STAFF,
        "KeyRotation": tp.KeyRotation(sets["safe"]),
        "LargePropertyStore": tp.LargePropertyStore(sets["large"]),
        "LogEntry": tp.LogEntry(NOW, "INFO", "started"),
        "LogTail": tp.LogTail(storage, "Log", "{Department}"),
        "Lookup": tp.Lookup(heads),
        "OneToMany": tp.OneToMany(heads, plain),
        "OneToOne": tp.OneToOne(plain, tp.EntitySet(storage, "Twins", STAFF)),
        "ParallelReads": tp.ParallelReads(plain),
        "PartitionMove": tp.PartitionMove(plain),
        "Rekey": tp.Rekey(plain, tp.EntitySet(storage, "Rekeyed", STAFF)),
        "PartitionSpread": tp.PartitionSpread(storage, "Spread", by_time),
        "PeriodTables": tp.PeriodTables(
            storage,
            "Days",
            tp.Period.DAY,
            factory=lambda account, name: tp.EntitySet(account, name, by_time),
            retention=7,
        ),
        "KeyScope": tp.KeyScope(first_partition="a"),
        "Encrypted": tp.Encrypted(),
        "Large": tp.Large(),
        "Stored": tp.Stored("Email"),
        "Traffic": tp.Traffic(storage),
        "Upload": tp.Upload([b"photo"]),
        "VaultKey": tp.VaultKey(Vault()),
        "WideEntity": tp.WideEntity(storage, "Wide", STAFF),
        "Worker": tp.Worker(storage, [archive]),
        "Entity": tp.Entity(JONES),
    }


def made(storage: tp.Storage) -> Made:
    """Return an object of each public class, by the name of the class."""
    sets = _sets(storage)
    declared = {name: each.make(storage) for name, each in all_public_objects().items()}
    everything = sets | _recipes(storage, sets) | declared
    return {name: each for name, each in everything.items() if not name[0].islower()}


def _of(name: str) -> Callable[[Made], Any]:
    return lambda objects: objects[name]


def _is(value: object) -> Callable[[Made], Any]:
    return lambda objects: value


_ACCOUNT = lambda objects: objects["EntitySet"].account  # noqa: E731 - a table of functions

GIVEN: dict[str, Callable[[Made], Any]] = {
    "account": _ACCOUNT,
    "amount": _is(1),
    "asked": _is([JONES]),
    "by": _of("IntraPartitionIndex"),
    "change": _is(lambda entity: None),
    "changes": _is({"Floor": 3}),
    "child": _is("_{Year:04d}"),
    "client": _is(Vault()),
    "container": _is("photos"),
    "content": _is([b"photo"]),
    "count": _is(1),
    "derived": _of("IntraPartitionIndex"),
    "earliest": _is(NOW),
    "entities": _of("EntitySet"),
    "entity_set": _of("EntitySet"),
    "at": _is("Day"),
    "body": _is({"Name": "Jones"}),
    "bounds": _is(["M"]),
    "copies": _is({"Name": "BossName"}),
    "partition_keys": _is(["Sales"]),
    "partitions": _is([{"Department": "Sales"}]),
    "refers": _is({"EmployeeId": "Boss"}),
    "start": _is(NOW),
    "subject": _of("EntitySet"),
    "table_prefix": _is("Logins"),
    "until": _is(NOW),
    "parents": _of("EntitySet"),
    "children": _of("EntitySet"),
    "entity": _is(JONES),
    "expires": _is(timedelta(hours=1)),
    "fields": _is(JONES),
    "first": _is(JONES),
    "key": _is(STAFF),
    "keys": _is([JONES]),
    "kid": _is("k"),
    "level": _is("INFO"),
    "line": _is("text"),
    "factory": _is(lambda account, name: tp.EntitySet(account, name, STAFF)),
    "message": _is("started"),
    "moment": _is(NOW),
    "name": _is("Hour"),
    "prefix": _is("Hour"),
    "value_type": _is(int),
    "kind": _is("hire"),
    "names": _is(["Photo"]),
    "parent": _is(STAFF),
    "partition": _is("{Department}"),
    "partition_key": _is("{Department}"),
    "period": _is(tp.Period.DAY),
    "permissions": _is("r"),
    "points": _is(24),
    "queue": _is("staff-archive"),
    "queues": lambda objects: [objects["Archive"]],
    "row_key": _is("empid_{EmployeeId:06d}"),
    "rows": _is([JONES]),
    "second": _is(JONES),
    "secret": _is(bytes(32)),
    "service": _is("web"),
    "slot": _is(1),
    "steps": _is([len]),
    "storage": _ACCOUNT,
    "table": _is("Staff"),
    "target": _of("BlobArchive"),
    "value": _is(1),
    "values": _is({1: 1}),
    "via": _of("IntraPartitionIndex"),
    "where": _is(tp.prop("PartitionKey") == "Sales"),
    "worker": _is(0),
    "workers": _is(2),
    "id": _is(UUID(int=0)),
}
"""Valid arguments by parameter name, or by call and name, such as `DataSeries.set.value`."""

_FOR_SETS = "the sets call its methods"

MADE_FOR_THE_LIBRARY = {
    "BlobArchive": "an Archive calls its methods",
    "CopiedFields": _FOR_SETS,
    "Encrypted": _FOR_SETS,
    "EncryptedProperties": _FOR_SETS,
    "OneOf": "EntitySet reads its attributes",
    "IndexEntity": _FOR_SETS,
    "InterPartitionIndex": _FOR_SETS,
    "IntraPartitionIndex": _FOR_SETS,
    "Large": _FOR_SETS,
    "LargeProperties": _FOR_SETS,
    "LocalKey": "EncryptedProperties calls its methods",
    "Summary": _FOR_SETS,
    "Upload": "LargeProperties calls its methods",
    "VaultKey": "EncryptedProperties calls its methods",
}
"""Public classes of which callers use the constructor, with the reason."""

USED_ALL_THE_SAME = {"EncryptedProperties.blind", "LocalKey.generate"}
"""Other members of these classes that callers use."""

EXEMPT_CALLS = {
    "Archive.handle": "a Worker calls it",
    "Entity.be": "the sets call it",
    "EntitySet.received": "other recipes call it",
    "EventualTransaction.handle": "a Worker calls it",
    "PartitionMove.handle": "a Worker calls it",
    "Rekey.handle": "a Worker calls it",
    "Traffic.take": "an account calls it",
    "Worker.run": "it runs until it is stopped",
    "Traffic.wants": "an account calls it",
    "prefix": "its text is checked with the key that it is used with",
    "connect": "it has errors of its own, for a target that is not known",
}
"""Public callables that are left out, with the reason."""
