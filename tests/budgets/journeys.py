"""Loads, deletions, messages, archives and moves."""

from __future__ import annotations

from typing import Any

from budgets.budget import BY_ID, Call, budget, employee, first, staff
from budgets.derived import INTRA, TOTAL
from tablepatterns import (
    Archive,
    BlobArchive,
    BulkDelete,
    BulkLoad,
    EntitySet,
    EventualTransaction,
    Key,
    OneToMany,
    QueryClass,
    Worker,
    prop,
)
from tablepatterns.cost import Cost
from tablepatterns.recipes.partition_move import PartitionMove
from tablepatterns.recipes.rekey.rekey import Rekey

budget("BulkLoad", "load", 10, "1,000 entities of a partition", on=staff)(
    lambda entities: BulkLoad(entities).load([employee(number) for number in range(1000, 2000)])
)


@budget("BulkLoad", "load", 20, "the same with an index in the partition")
def load_indexed(account: Any) -> Call:
    entities = staff(account, INTRA)
    return lambda: BulkLoad(entities).load([employee(number) for number in range(1000, 2000)])


@budget("BulkLoad", "load", 12, "the same with a total in the partition, which is read once")
def load_summed(account: Any) -> Call:
    entities = staff(account, TOTAL)
    return lambda: BulkLoad(entities).load([employee(number) for number in range(1000, 2000)])


@budget("BulkDelete", "delete", 11, "1,000 entities of a partition")
def delete(account: Any) -> Call:
    entities = staff(account, numbers=())
    BulkLoad(entities).load([employee(number) for number in range(1000)])
    where = (prop("PartitionKey") == "empid_Sales") & (prop("Age") > 0)
    return lambda: BulkDelete(entities).delete(where, allow=QueryClass.PARTITION_SCAN)


def hiring(account: Any, *, remember: bool = False) -> Any:
    entities = staff(account)
    steps: Any = {"one": entities.insert_or_replace, "two": entities.insert_or_replace}
    work = EventualTransaction(account, "hiring", "hire", steps, remember=remember)
    work.start(employee(3))
    return work


budget("EventualTransaction", "start", Cost(queue=1), on=hiring)(lambda work: work.start(employee(4)))


@budget("Worker", "run_once", Cost(table=2, queue=2), "a message with 2 steps of 1 each")
def work(account: Any) -> Call:
    work = hiring(account)
    return lambda: Worker(account, [work]).run_once()


@budget("Worker", "run_once", Cost(table=2, queue=3), "the same with `remember`: 1 more after each step but the last")
def work_remembering(account: Any) -> Call:
    work = hiring(account, remember=True)
    return lambda: Worker(account, [work]).run_once()


@budget("Worker", "run_once", Cost(queue=1), "an empty queue")
def idle(account: Any) -> Call:
    worker = Worker(account, [hiring(account)])
    worker.drain()
    return worker.run_once


def with_poison(account: Any) -> Any:
    worker = Worker(account, [hiring(account)])
    worker.drain()
    account.queues.create_queue("hiring-poison")
    account.queues.get_queue_client("hiring").send_message("not a message of this package")
    return worker


@budget("Worker", "run_once", Cost(queue=3), "a message that cannot be read")
def poison(account: Any) -> Call:
    return with_poison(account).run_once


def poisoned(account: Any) -> Any:
    worker = with_poison(account)
    worker.run_once()
    return worker


budget("Worker", "poisoned", Cost(queue=1), on=poisoned)(lambda worker: worker.poisoned("hiring"))
budget("Worker", "requeue", Cost(queue=3), "1 message", on=poisoned)(lambda worker: worker.requeue("hiring"))
budget("Worker", "drop_poisoned", Cost(queue=2), "1 message", on=poisoned)(
    lambda worker: worker.drop_poisoned("hiring")
)


def archive(account: Any) -> Any:
    former = EntitySet(account, "Former", BY_ID)
    former.create_table()
    found = Archive(staff(account), former)
    found.archive(first(found.entity_set))
    return found


@budget("Archive", "archive", Cost(queue=1))
def ask(account: Any) -> Call:
    found = archive(account)
    other = found.entity_set.get(Department="Sales", EmployeeId=2)
    return lambda: found.archive(other)


@budget("Archive", "one move, by a worker", Cost(table=3, queue=2))
def move(account: Any) -> Call:
    found = archive(account)
    return lambda: Worker(account, [found]).run_once()


@budget("Archive", "one move, by a worker", Cost(table=8, queue=2), "with 1 child, which is listed and moved")
def move_with_child(account: Any) -> Call:
    staff(account)
    heads = EntitySet(account, "Staff", Key("empid_{Department}", "head"))
    heads.insert({"Department": "Sales"})
    children = OneToMany(heads, EntitySet(account, "Reviews", Key("{Department}", "{Year:04d}")))
    children.children.insert({"Department": "Sales", "Year": 2014})
    there = EntitySet(account, "FormerReviews", children.children.key)
    former = EntitySet(account, "Former", heads.key)
    there.create_table()
    former.create_table()
    found = Archive(heads, former, children={children: there})
    found.archive({"Department": "Sales"})
    return lambda: Worker(account, [found]).run_once()


@budget("Archive", "restore", Cost(queue=1))
def restore(account: Any) -> Call:
    found = archive(account)
    Worker(account, [found]).run_once()
    read = found.get(Department="Sales", EmployeeId=1)
    return lambda: found.restore(read)


@budget("Archive", "get", 1, "from a set")
def get_from_set(account: Any) -> Call:
    found = archive(account)
    Worker(account, [found]).run_once()
    return lambda: found.get(Department="Sales", EmployeeId=1)


def in_blobs(account: Any) -> Any:
    found = Archive(staff(account), BlobArchive(account, "former"))
    found.archive(first(found.entity_set))
    Worker(account, [found]).run_once()
    return found


@budget("Archive", "one move, by a worker", Cost(table=2, queue=2, blob_write=1), "to blobs")
def move_to_blobs(account: Any) -> Call:
    found = in_blobs(account)
    found.archive(found.entity_set.get(Department="Sales", EmployeeId=2))
    return lambda: Worker(account, [found]).run_once()


budget("Archive", "get", Cost(blob_read=1, blob_other=1), "from blobs", on=in_blobs)(
    lambda found: found.get(Department="Sales", EmployeeId=1)
)


@budget(
    "PartitionMove",
    "move",
    Cost(table=4, queue=2),
    "the message, the claim, the insert, the delete, the end of mark and message",
)
def move_partition(account: Any) -> Call:
    entities = staff(account)
    mover = PartitionMove(entities)
    mover.move(entities.get(Department="Sales", EmployeeId=2), Department="Marketing")
    read = first(entities)
    return lambda: mover.move(read, Department="Marketing")


BY_EMAIL = Key("{Email}", "employee")


def moving(account: Any, *, numbers: tuple[int, ...] = (1,), until: str = "copying") -> Any:
    """Return a move to new keys in a phase, as a process that has read the phase."""
    move = Rekey(staff(account, numbers=numbers), EntitySet(account, "StaffByEmail", BY_EMAIL))
    move.copy()
    if until == "copied":
        return move
    move.verify()
    if until != "copying":
        move.cut_over()
    if until == "committed":
        move.commit()
    # The queues exist, and the phase has just been read
    account.queues.create_queue(f"{move.queue}-poison")
    move.status()
    return move


budget("Rekey", "insert", Cost(table=4, queue=2), "until the move is committed", on=moving)(
    lambda move: move.entities.insert(employee(7))
)


@budget("Rekey", "replace", Cost(table=5, queue=2), "until the move is committed")
def replace_moving(account: Any) -> Call:
    return changing_moving(moving(account), Age=35)


@budget("Rekey", "replace", Cost(table=6, queue=2), "the same if the key of the copy changes")
def rekey_moving(account: Any) -> Call:
    return changing_moving(moving(account), Email="new@contoso.com")


@budget("Rekey", "delete", Cost(table=5, queue=2), "until the move is committed")
def delete_moving(account: Any) -> Call:
    move = moving(account)
    read = first(move.entities)
    return lambda: move.entities.delete(read)


@budget("Rekey", "insert", Cost(table=4, queue=2), "after the cut-over")
def insert_cut_over(account: Any) -> Call:
    move = moving(account, until="cut over")
    return lambda: move.entities.insert(employee(7))


@budget("Rekey", "replace", Cost(table=5, queue=2), "after the cut-over")
def replace_cut_over(account: Any) -> Call:
    return changing_moving(moving(account, until="cut over"), Age=35)


@budget("Rekey", "delete", Cost(table=5, queue=2), "after the cut-over")
def delete_cut_over(account: Any) -> Call:
    move = moving(account, until="cut over")
    read = first(move.entities)
    return lambda: move.entities.delete(read)


@budget("Rekey", "insert", 1, "once the move is committed")
def insert_committed(account: Any) -> Call:
    move = moving(account, until="committed")
    return lambda: move.entities.insert(employee(7))


@budget("Rekey", "replace", 1, "once the move is committed")
def replace_committed(account: Any) -> Call:
    move = moving(account, until="committed")
    return changing_moving(move, move.entities.get(Email="1@contoso.com"), Age=35)


budget("Rekey", "get", 1, "by the key of the primary table", on=moving)(lambda move: first(move.entities))


@budget("Rekey", "get", 2, "by the other key")
def get_by_other_key(account: Any) -> Call:
    move = moving(account, until="cut over")
    return lambda: first(move.entities)


@budget("Rekey", "copy", Cost(table=203, queue=2), "100 entities without a copy")
def copy_to_new_keys(account: Any) -> Call:
    move = moving(account)
    for number in range(100, 199):
        move.old_set.insert(employee(number))
    move.old_set.delete(first(move.old_set))
    move.new_set.delete(move.new_set.get(Email="1@contoso.com"))
    move.old_set.insert(employee(199))
    call: Call = move.copy
    return call


@budget("Rekey", "verify", 207, "100 entities and their copies")
def verify_new_keys(account: Any) -> Call:
    call: Call = moving(account, numbers=tuple(range(1, 101))).verify
    return call


@budget("Rekey", "cut_over", Cost(table=3, queue=5), "if no write is in progress")
def cut_over(account: Any) -> Call:
    call: Call = moving(account).cut_over
    return call


def changing_moving(move: Any, read: Any = None, **changes: Any) -> Call:
    entity = first(move.entities) if read is None else read
    entity.update(changes)
    return lambda: move.entities.replace(entity)
