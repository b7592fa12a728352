"""Loads, deletions, messages, archives and moves."""

from __future__ import annotations

from typing import Any

from budgeting.budget import BY_ID, Call, budget, employee, first, staff
from budgeting.derived import INTRA, TOTAL
from tablepatterns import (
    Archive,
    BlobArchive,
    BulkDelete,
    BulkLoad,
    EntitySet,
    EventualTransaction,
    QueryClass,
    Worker,
    prop,
)
from tablepatterns.recipes.partition_move import PartitionMove


@budget("BulkLoad", "load", 10, "1,000 entities of a partition")
def load(account: Any) -> Call:
    entities = staff(account)
    return lambda: BulkLoad(entities).load([employee(number) for number in range(1000, 2000)])


@budget("BulkLoad", "load", 20, "the same with an index in the partition")
def load_indexed(account: Any) -> Call:
    entities = staff(account, INTRA)
    return lambda: BulkLoad(entities).load([employee(number) for number in range(1000, 2000)])


@budget("BulkLoad", "load", 12, "the same with a total in the partition, which is read once")
def load_summed(account: Any) -> Call:
    entities = staff(account, TOTAL)
    return lambda: BulkLoad(entities).load([employee(number) for number in range(1000, 2000)])


@budget("BulkDelete", "delete", 11, "1,000 entities of a partition: 1 to find them, 10 to delete")
def delete(account: Any) -> Call:
    entities = staff(account, numbers=())
    BulkLoad(entities).load([employee(number) for number in range(1000)])
    where = (prop("PartitionKey") == "empid_Sales") & (prop("Age") > 0)
    return lambda: BulkDelete(entities).delete(where, at_worst=QueryClass.PARTITION_SCAN)


def hiring(account: Any, *, remember: bool = False) -> Any:
    entities = staff(account)
    steps: Any = {"one": entities.insert_or_replace, "two": entities.insert_or_replace}
    work = EventualTransaction(account, "hiring", "hire", steps, remember=remember)
    work.start(employee(3))
    return work


@budget("EventualTransaction", "start", 1)
def start(account: Any) -> Call:
    work = hiring(account)
    return lambda: work.start(employee(4))


@budget("Worker", "run_once", 4, "a message with 2 steps of 1 each: 1 to receive, 1 to delete")
def work(account: Any) -> Call:
    work = hiring(account)
    return lambda: Worker(account, [work]).run_once()


@budget("Worker", "run_once", 5, "the same with `remember`: 1 more after each step but the last")
def work_remembering(account: Any) -> Call:
    work = hiring(account, remember=True)
    return lambda: Worker(account, [work]).run_once()


@budget("Worker", "run_once", 1, "an empty queue")
def idle(account: Any) -> Call:
    worker = Worker(account, [hiring(account)])
    worker.drain()
    return worker.run_once


@budget("Worker", "run_once", 3, "a message that nobody can read: received, copied to poison, deleted")
def poison(account: Any) -> Call:
    worker = Worker(account, [hiring(account)])
    worker.drain()
    client = account.queues.get_queue_client("hiring")
    account.queues.create_queue("hiring-poison")
    client.send_message("nobody reads this")
    return worker.run_once


def archive(account: Any) -> Any:
    former = EntitySet(account, "Former", BY_ID)
    former.create_table()
    found = Archive(staff(account), former)
    found.archive(first(found.source))
    return found


@budget("Archive", "archive", 1)
def ask(account: Any) -> Call:
    found = archive(account)
    other = found.source.get(Department="Sales", EmployeeId=2)
    return lambda: found.archive(other)


@budget("Archive", "one move, by a worker", 5, "receive, read, insert, delete, delete the message")
def move(account: Any) -> Call:
    found = archive(account)
    return lambda: Worker(account, [found]).run_once()


@budget("Archive", "restore", 1)
def restore(account: Any) -> Call:
    found = archive(account)
    Worker(account, [found]).run_once()
    read = found.get(Department="Sales", EmployeeId=1)
    return lambda: found.restore(read)


@budget("Archive", "get", 2, "from blobs: its properties, and its text")
def get_archived(account: Any) -> Call:
    found = Archive(staff(account), BlobArchive(account, "former"))
    found.archive(first(found.source))
    Worker(account, [found]).run_once()
    return lambda: found.get(Department="Sales", EmployeeId=1)


@budget("PartitionMove", "move", 6, "the message, the claim, the insert, the delete, the end of mark and message")
def move_partition(account: Any) -> Call:
    entities = staff(account)
    mover = PartitionMove(entities)
    mover.move(entities.get(Department="Sales", EmployeeId=2), Department="Marketing")
    read = first(entities)
    return lambda: mover.move(read, Department="Marketing")
