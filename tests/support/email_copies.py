"""Shared by tests of inter-partition indexes: employees, and copies of them by email."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tablepatterns import EntitySet, InterPartitionIndex, Key

BY_ID = Key("empid_{Department}", "{EmployeeId:06d}")
BY_EMAIL = Key("email_{Department}", "{Email}")
ID = {"Department": "Sales", "EmployeeId": 223}
PRIMARY = ("empid_Sales", "000223")
COPY = ("email_Sales", "jonesj@contoso.com")
by_email = InterPartitionIndex(BY_EMAIL)
unique = InterPartitionIndex(BY_EMAIL, unique=True)


@contextmanager
def sets_of(backend: Any, storage: Any, table_name: str) -> Iterator[Callable[..., Any]]:
    """Yield a function that returns sets of one table; their queue is dropped afterwards."""
    queue = f"{table_name}-intents"

    def make(*derived: Any, **options: Any) -> Any:
        return EntitySet(storage, table_name, BY_ID, derived=derived or (by_email,), **options)

    yield make
    backend.run(storage.queue(queue).drop())


async def intents(storage: Any, table_name: str) -> int:
    """Return how many messages wait for the table."""
    return int(await storage.queue(f"{table_name}-intents").length())
