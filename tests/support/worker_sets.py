"""Sets as worker processes make them: with an account from the environment, of an engine that a test serves."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from azure.core.credentials import AzureNamedKeyCredential

import tablepatterns
import tablepatterns.aio
from support.maintained_set import BY_ID, KINDS, person
from tablepatterns import EncryptedProperties, EntitySet, Key, LargeProperties, LocalKey, Rekey
from tablepatterns.connection import CONNECTION_VARIABLE
from tablepatterns.jobs import workers
from tablepatterns.recipes.bulk_load.bulk_load import BulkLoad
from tablepatterns_engine.account import Engine
from tablepatterns_engine.serving import serving
from tablepatterns_transfer import TableTransfer

NO_CREDENTIAL = AzureNamedKeyCredential("x", "a2V5")
UNREADABLE = "TABLEPATTERNS_TEST_UNREADABLE"
"""The variable with the PartitionKey whose rows a worker cannot read."""
FAILURE = "TABLEPATTERNS_TEST_FAILURE"
"""The variable that says how it fails."""


def staff() -> EntitySet[Any, Any]:
    return EntitySet(tablepatterns.connect("env"), "Staff", BY_ID, derived=[KINDS["near"]])


def staff_table() -> TableTransfer[Any]:
    return TableTransfer(tablepatterns.connect("env"), "Staff")


def restored_table() -> TableTransfer[Any]:
    return TableTransfer(tablepatterns.connect("env"), "Restored")


def restored() -> EntitySet[Any, Any]:
    return EntitySet(tablepatterns.connect("env"), "Restored", BY_ID, derived=[KINDS["near"]])


def pictured_staff() -> EntitySet[Any, Any]:
    """Return a set whose pictures are in blobs, if they are not tiny."""
    pictures = LargeProperties(["Photo"], container="pictures", above=100)
    return EntitySet(tablepatterns.connect("env"), "Staff", BY_ID, mappings=[pictures])


def pictured_table() -> TableTransfer[Any]:
    return TableTransfer(pictured_staff().account, pictured_staff())


def restored_pictures() -> TableTransfer[Any]:
    storage, pictures = tablepatterns.connect("env"), LargeProperties(["Photo"], container="restored", above=100)
    return TableTransfer(storage, EntitySet(storage, "Restored", BY_ID, mappings=[pictures]))


def async_staff() -> EntitySet[Any, Any]:
    return EntitySet(tablepatterns.aio.connect("env"), "Staff", BY_ID, derived=[KINDS["near"]])


def staff_in_memory() -> EntitySet[Any, Any]:
    return EntitySet(tablepatterns.connect(), "Staff", BY_ID, derived=[KINDS["near"]])


def fragile_staff() -> EntitySet[Any, Any]:
    """Return a set that cannot read a certain partition, such as for lack of memory."""
    entities = staff()
    _break(entities.table)
    return entities


def fragile_table() -> TableTransfer[Any]:
    transfer = staff_table()
    _break(transfer.table)
    return transfer


def _break(table: Any) -> None:
    bomb, read = os.environ[UNREADABLE], table.page

    async def page(*args: Any, **options: Any) -> Any:
        rows = await read(*args, **options)
        if options["size"] > 1 and any(row["PartitionKey"] == bomb for row in rows.items):
            if os.environ[FAILURE] == "dies":
                os._exit(9)
            raise MemoryError
        return rows

    table.page = page


@dataclass
class Employee:
    Department: str
    EmployeeId: int
    Email: str
    FullName: str


def old_staff() -> EntitySet[Any, Any]:
    """Return a set of entities in the first version of the model, encrypted with the old key."""
    keys = [LocalKey("old", bytes(32)), LocalKey("new", bytes(range(32)))]
    return _sealed_staff(keys)


def paid_staff() -> EntitySet[Any, Any]:
    """Return the set with a new key."""
    return _sealed_staff([LocalKey("new", bytes(range(32))), LocalKey("old", bytes(32))])


def _sealed_staff(keys: list[LocalKey]) -> EntitySet[Any, Any]:
    encrypted = EncryptedProperties(["LastName"], keys=keys)
    return EntitySet(tablepatterns.connect("env"), "Staff", BY_ID, mappings=[encrypted])


def typed_staff() -> EntitySet[Any, Any]:
    """Return a set whose model has a new version."""
    versions = [(1, lambda fields: {"FullName": fields["FirstName"], **fields})]
    return EntitySet(tablepatterns.connect("env"), "Staff", BY_ID, model=Employee, versions=versions)


def rekeyed() -> Rekey[Any, Any]:
    """Return a move to keys by the email."""
    new_set = EntitySet(tablepatterns.connect("env"), "StaffByEmail", Key("{Email}", "{EmployeeId:06d}"))
    return Rekey(EntitySet(tablepatterns.connect("env"), "Staff", BY_ID), new_set)


def store_staff(storage: Any, count: int, partitions: int = 40, **options: Any) -> None:
    """Store so many people in so many partitions."""
    people = (person(number, Department=f"D{number % partitions}") for number in range(count))
    BulkLoad(EntitySet(storage, "Staff", BY_ID, **options)).load(people)


@contextmanager
def served(monkeypatch: Any, engine: Engine | None = None) -> Iterator[Engine]:
    """Serve an engine whose connection string is in the environment of this process and of its workers."""
    # What workers have loaded in this process is on the account of an earlier test
    workers._load_source.cache_clear()
    engine = engine or Engine()
    with serving(engine) as connection_string:
        monkeypatch.setenv(CONNECTION_VARIABLE, connection_string)
        yield engine


def child_processes() -> list[int]:
    """Return the ids of the processes of executors; a daemon is not one, such as the process that runs notebooks."""
    return [child.pid for child in multiprocessing.active_children() if child.pid and not child.daemon]


@contextmanager
def killing(
    seed: int, every: float, most: int, workers_of: Callable[[], Iterable[int]] = child_processes
) -> Iterator[list[int]]:
    """Kill a random worker at random moments, at most so many; yield the ids of those killed.

    :param workers_of: returns the ids of the processes that work now
    """
    chance, ended, killed = random.Random(seed), threading.Event(), list[int]()

    def kill() -> None:
        while len(killed) < most and not ended.wait(chance.uniform(0.5, 1.5) * every):
            if processes := sorted(workers_of()):
                killed.append(chance.choice(processes))
                with suppress(ProcessLookupError):
                    os.kill(killed[-1], signal.SIGKILL)

    thread = threading.Thread(target=kill)
    thread.start()
    try:
        yield killed
    finally:
        ended.set()
        thread.join()
