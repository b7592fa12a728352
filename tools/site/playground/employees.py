"""Employees are looked up by number and by email: a second key, in another partition."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from azure.core.exceptions import ResourceNotFoundError

from tablepatterns import EntitySet, InterPartitionIndex, Key, Worker
from tablepatterns_engine import Engine

from .design import Action, Design, Race, create_tables, rows_of


class Plain:
    """Each employee is stored twice, under both keys, by one request after the other."""

    def __init__(self, storage: Any) -> None:
        self.storage = storage
        self.table = storage.tables.get_table_client("Employees")

    async def prepare(self) -> None:
        await create_tables(self.storage, "Employees")

    async def insert(self, EmployeeId: int, Email: str) -> None:
        employee = {"EmployeeId": EmployeeId, "Email": Email}
        await self.table.create_entity({"PartitionKey": "empid", "RowKey": f"{EmployeeId:06d}", **employee})
        await self.table.create_entity({"PartitionKey": "email", "RowKey": Email, **employee})

    async def change_email(self, EmployeeId: int, Email: str) -> None:
        employee = await self.table.get_entity("empid", f"{EmployeeId:06d}")
        old, employee["Email"] = employee["Email"], Email
        await self.table.update_entity(employee, mode="replace")
        await self.table.upsert_entity({"PartitionKey": "email", "RowKey": Email, "EmployeeId": EmployeeId})
        await self.table.delete_entity("email", old)

    async def find_by_email(self, Email: str) -> Any:
        try:
            return dict(await self.table.get_entity("email", Email))
        except ResourceNotFoundError:
            return None

    async def list_by_email(self) -> Any:
        return [row["RowKey"] async for row in self.table.query_entities("PartitionKey eq 'email'")]


class Patterned:
    """The set stores the copies. A message that it sends first names the copies that a crash may leave stale.

    The index is unique: the set reserves an email before it writes the employee.
    """

    def __init__(self, storage: Any) -> None:
        self.by_email = InterPartitionIndex(Key("email", "{Email}"), unique=True)
        by_number = Key("empid", "{EmployeeId:06d}")
        self.employees = EntitySet(storage, "Employees", by_number, derived=[self.by_email])
        self.worker = Worker(storage, [self.employees.reconciler()])

    async def prepare(self) -> None:
        await self.employees.create_table()

    async def insert(self, EmployeeId: int, Email: str) -> None:
        await self.employees.insert({"EmployeeId": EmployeeId, "Email": Email})

    async def change_email(self, EmployeeId: int, Email: str) -> None:
        await self.employees.update(lambda employee: employee.update(Email=Email), EmployeeId=EmployeeId)

    async def find_by_email(self, Email: str) -> Any:
        return await self.employees.find(self.by_email, Email=Email)

    async def list_by_email(self) -> Any:
        return [employee["Email"] async for employee in self.employees.range(self.by_email)]


def problems(engine: Engine) -> Iterator[str]:
    """Yield where the copies do not match the employees."""
    rows = rows_of(engine, "Employees")
    owners = Counter(properties["Email"] for (partition, _), properties in rows.items() if partition == "empid")
    for email, count in owners.items():
        if count > 1:
            yield f"{count} employees have the email {email}, and it finds only one of them."
    emails = {properties["Email"]: row for (partition, row), properties in rows.items() if partition == "empid"}
    # A reservation finds nothing until the employee has been written
    copies = {row for (partition, row), stored in rows.items() if partition == "email" and "IntentId" not in stored}
    for email in sorted(emails.keys() - copies):
        yield f"Employee {emails[email]} cannot be found by email: {email} has no copy."
    for email in sorted(copies - emails.keys()):
        yield f"The copy {email} is left over: no employee has that email."


DESIGN = Design(
    title="Employees",
    text="Find employees by number and by email. Each employee is stored twice, in different partitions.",
    pattern="Inter-partition secondary index",
    page="patterns/inter_partition_index",
    plain=Plain,
    patterned=Patterned,
    writes=(
        Action("insert", "Insert", {"EmployeeId": 223, "Email": "jonesj@contoso.com"}),
        Action("change_email", "Change email", {"EmployeeId": 152, "Email": "annie@contoso.com"}),
    ),
    reads=(
        Action("find_by_email", "Find by email", {"Email": "jonesj@contoso.com"}),
        Action("list_by_email", "List by email"),
    ),
    sample=("insert", {"EmployeeId": 152, "Email": "ann@contoso.com"}),
    problems=problems,
    race=Race(
        "Two processes give employee 152 a new email at the same time.",
        {
            "ann": ("change_email", {"EmployeeId": 152, "Email": "annie@contoso.com"}),
            "bob": ("change_email", {"EmployeeId": 152, "Email": "anna@contoso.com"}),
        },
    ),
)
