"""The explorations that `benchmarks.explorer` measures: employees, archives, orders and moves to new keys."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final, NamedTuple

from tablepatterns import (
    Archive,
    EntitySet,
    EventualTransaction,
    IndexEntity,
    InTable,
    InterPartitionIndex,
    IntraPartitionIndex,
    Key,
    Rekey,
    Summary,
    Worker,
)
from tablepatterns_explore import World

BY_ID: Final = Key("empid_{Department}", "{EmployeeId:06d}")
ID: Final = {"Department": "Sales", "EmployeeId": 223}
JONES: Final = {**ID, "LastName": "Jones", "Email": "jo", "Salary": 1}


def staff(world: World, *derived: Any) -> Any:
    return EntitySet(world.storage, "Staff", BY_ID, derived=derived)


def indexed(world: World) -> Any:
    return staff(world, InterPartitionIndex(Key("email_{Department}", "{Email}")))


def with_five_kinds(world: World) -> Any:
    in_table = InTable()
    return staff(
        world,
        InterPartitionIndex(Key("email_{Department}", "{Email}")),
        IntraPartitionIndex(Key("empid_{Department}", "email_{Email}_{EmployeeId:06d}")),
        Summary(Key("empid_{Department}", "total"), count="Count"),
        Summary(Key("total_{Department}", "sum"), sums={"Salary": "Payroll"}, store=in_table),
        IndexEntity("Department", "LastName", key=Key("name_{Department}", "{LastName}"), store=in_table),
    )


def archive(world: World) -> Any:
    return Archive(staff(world), EntitySet(world.storage, "Former", BY_ID), queue="moves")


def orders(world: World) -> Any:
    rows = EntitySet(world.storage, "Steps", Key("{Order}-{Step}", ""))
    steps = {name: partial(take_step, rows, name) for name in ("pay", "ship")}
    return EventualTransaction(world.storage, "orders", "order", steps, remember=True)


def take_step(rows: Any, name: str, body: Any) -> Any:
    return rows.insert_or_replace({**body, "Step": name})


def rekey(world: World) -> Any:
    new = EntitySet(world.storage, "StaffByEmail", Key("{Email}", "staff"))
    return Rekey(staff(world), new, queue="rekey", name="staff", lease=60, max_pause=1)


def raise_salary(employee: Any) -> None:
    employee["Salary"] += 1


def two_inserts(world: World, made: Callable[[World], Any]) -> list[Any]:
    world.run(made(world).create_table())
    world.engine.queues.create("staff-intents")
    return [made(world).insert({**JONES, "EmployeeId": number, "Email": f"{number}"}) for number in (1, 2)]


def moves_and_an_update(world: World) -> list[Any]:
    for name in ("Staff", "Former"):
        world.engine.tables.create(name)
    world.run(staff(world).insert(JONES))
    world.run(archive(world).archive(ID))
    return [*workers(world, archive, 2), staff(world).update(raise_salary, **ID)]


def workers(world: World, handler: Callable[[World], Any], count: int) -> list[Any]:
    return [Worker(world.storage, [handler(world)]).run_once() for _ in range(count)]


def three_workers(world: World, text: str = "") -> list[Any]:
    world.engine.tables.create("Steps")
    for queue in ("orders", "orders-poison"):
        world.engine.queues.create(queue)
    if text:
        world.engine.queues.put("orders", text)
    else:
        world.run(orders(world).start({"Order": "4711"}))
    return workers(world, orders, 3)


def an_update_and_a_copy(world: World) -> list[Any]:
    world.engine.queues.create("rekey")
    world.run(rekey(world).new_set.create_table())
    world.run(staff(world).insert(JONES))
    world.run(rekey(world).verify())
    return [rekey(world).entities.update(raise_salary, **ID), rekey(world).copy()]


class Exploration(NamedTuple):
    """Actors, the handler of the messages that they leave, and the bound."""

    make: Callable[[World], Any]
    handler: Callable[[World], Any]
    bound: dict[str, Any]

    def drained(self, world: World) -> None:
        """Process all messages, as a worker does after crashes."""
        world.run(world.storage.sleep(3600))
        world.run(Worker(world.storage, [self.handler(world)]).drain())


CRASH: Final = {"crashes": 1, "preemptions": 1}
EXPLORATIONS: Final = {
    "archive": Exploration(moves_and_an_update, archive, CRASH),
    "inter-partition index": Exploration(
        partial(two_inserts, made=indexed), lambda world: indexed(world).reconciler(), {**CRASH, "crashes": 2}
    ),
    "eventual transaction": Exploration(three_workers, orders, CRASH),
    "rekey": Exploration(an_update_and_a_copy, rekey, CRASH),
    "worker": Exploration(partial(three_workers, text="{"), orders, {"stalls": [31], "preemptions": 1}),
    "five derived kinds": Exploration(
        partial(two_inserts, made=with_five_kinds),
        lambda world: with_five_kinds(world).reconciler(),
        {"preemptions": 0},
    ),
}
