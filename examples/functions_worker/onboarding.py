"""Onboard an employee: one message, and steps that write to two tables.

    python examples/functions_worker/onboarding.py

sends a message and processes it, in memory or on the account that the environment variable STORAGE names.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from tablepatterns import EntitySet, EventualTransaction, InterPartitionIndex, Key, Storage, Worker, connect
from tablepatterns.jobs import repair, verify

QUEUE = "onboarding"
INTENTS = "employees-intents"
"""The queue of the set of employees, whose index is in other partitions."""
BY_NAME = InterPartitionIndex(Key("name_{Name}", "empid_{Department}_{EmployeeId:06d}"))


class Onboarding:
    """The tables, the steps that write to them, and the worker that runs the steps."""

    def __init__(self, storage: Storage) -> None:
        by_number = Key("{Department}", "empid_{EmployeeId:06d}")
        self.employees = EntitySet(storage, "Employees", by_number, derived=[BY_NAME])
        self.badges = EntitySet(storage, "Badges", Key("{Building}", "{EmployeeId:06d}"))
        # host.json sets messageEncoding to none, since the host expects Base64 otherwise
        self.transaction = EventualTransaction(storage, QUEUE, "onboard", [self.register, self.order_badge])
        self.worker = Worker(storage, [self.transaction, self.employees.reconciler()])

    def register(self, body: Mapping[str, Any]) -> None:
        """Write the employee. The step is idempotent: running it again has the same result."""
        self.employees.insert_or_replace({name: body[name] for name in ("Department", "EmployeeId", "Name")})

    def order_badge(self, body: Mapping[str, Any]) -> None:
        """Order a badge, in another table and partition."""
        self.badges.insert_or_replace({name: body[name] for name in ("Building", "EmployeeId", "Name")})

    def maintain(self) -> int:
        """Check the index by name, repair what differs, and return how many rows that were."""
        report = verify(self.employees, BY_NAME, max_per_second=100)
        return repair(self.employees, BY_NAME, report)


def connected() -> Onboarding:
    """Return the onboarding on the account that STORAGE names."""
    return Onboarding(connect(os.environ.get("STORAGE", "memory://onboarding")))


def main() -> None:
    """Request the onboarding of one employee, and process the message."""
    onboarding = connected()
    onboarding.transaction.start({"Department": "Sales", "EmployeeId": 223, "Name": "Jones", "Building": "North"})
    print(onboarding.worker.drain())
    print("badges to print:", [badge["Name"] for badge in onboarding.badges.range(Building="North")])


if __name__ == "__main__":
    main()
