"""Orders move to another table when they are shipped: two tables, which no transaction spans."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from azure.core.exceptions import ResourceNotFoundError

from tablepatterns import Archive, EntitySet, Key, Worker
from tablepatterns_engine import Engine

from .design import Action, Design, Race, create_tables, rows_of


class Plain:
    """An order is inserted into the other table, then deleted from the first one."""

    def __init__(self, storage: Any) -> None:
        self.storage = storage
        self.orders = storage.tables.get_table_client("Orders")
        self.shipped = storage.tables.get_table_client("Shipped")

    async def prepare(self) -> None:
        await create_tables(self.storage, "Orders", "Shipped")

    async def place(self, Customer: str, OrderId: int, Amount: int) -> None:
        row = {"PartitionKey": Customer, "RowKey": f"{OrderId:06d}", "Amount": Amount}
        await self.orders.create_entity(row)

    async def change(self, Customer: str, OrderId: int, Amount: int) -> None:
        row = {"PartitionKey": Customer, "RowKey": f"{OrderId:06d}", "Amount": Amount}
        await self.orders.upsert_entity(row)

    async def ship(self, Customer: str, OrderId: int) -> None:
        order = await self.orders.get_entity(Customer, f"{OrderId:06d}")
        await self.shipped.create_entity(order)
        await self.orders.delete_entity(order)

    async def find(self, Customer: str, OrderId: int) -> Any:
        found = {}
        for table in (self.orders, self.shipped):
            try:
                found[table.table_name] = dict(await table.get_entity(Customer, f"{OrderId:06d}"))
            except ResourceNotFoundError:
                continue
        return found


class Patterned:
    """A message says that the order is to be moved. Any worker can complete the move, from any point."""

    def __init__(self, storage: Any) -> None:
        self.storage = storage
        key = Key("{Customer}", "{OrderId:06d}")
        self.orders = EntitySet(storage, "Orders", key)
        self.shipped = EntitySet(storage, "Shipped", key)
        self.archive = Archive(self.orders, self.shipped)
        self.worker = Worker(storage, [self.archive])

    async def prepare(self) -> None:
        await self.orders.create_table()
        await self.shipped.create_table()
        for queue in self.worker.queues:
            await self.storage.queues.create_queue(queue)

    async def place(self, Customer: str, OrderId: int, Amount: int) -> None:
        await self.orders.insert({"Customer": Customer, "OrderId": OrderId, "Amount": Amount})

    async def change(self, Customer: str, OrderId: int, Amount: int) -> None:
        await self.orders.update(lambda order: order.update(Amount=Amount), Customer=Customer, OrderId=OrderId)

    async def ship(self, Customer: str, OrderId: int) -> None:
        await self.archive.archive({"Customer": Customer, "OrderId": OrderId})
        await self.worker.run_once()

    async def find(self, Customer: str, OrderId: int) -> Any:
        found = {}
        for place in (self.orders, self.shipped):
            order = await place.get(Customer=Customer, OrderId=OrderId)
            if order is not None:
                found[place.table.name] = order
        return found


def problems(engine: Engine) -> Iterator[str]:
    """Yield which orders are in both tables."""
    for customer, order in sorted(rows_of(engine, "Orders").keys() & rows_of(engine, "Shipped").keys()):
        yield f"Order {order} of {customer} is in both tables: it may be shipped twice."


DESIGN = Design(
    title="Orders",
    text="Shipped orders move to another table. No transaction spans two tables.",
    pattern="Archive",
    page="patterns/archive",
    plain=Plain,
    patterned=Patterned,
    writes=(
        Action("ship", "Ship", {"Customer": "contoso", "OrderId": 1}),
        Action("place", "Place", {"Customer": "contoso", "OrderId": 2, "Amount": 80}),
    ),
    reads=(Action("find", "Find", {"Customer": "contoso", "OrderId": 1}),),
    sample=("place", {"Customer": "contoso", "OrderId": 1, "Amount": 30}),
    problems=problems,
    race=Race(
        "One process ships the order while another one changes its amount.",
        {
            "ann": ("ship", {"Customer": "contoso", "OrderId": 1}),
            "bob": ("change", {"Customer": "contoso", "OrderId": 1, "Amount": 45}),
        },
    ),
)
