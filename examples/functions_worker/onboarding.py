"""Onboard an employee: one message, and steps that write to two tables.

    python examples/functions_worker/onboarding.py

sends a message and processes it, in memory or on the account that the environment variable STORAGE names.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from tablepatterns import EntitySet, EventualTransaction, Key, Storage, Worker, connect

QUEUE = "onboarding"


class Onboarding:
    """The tables, the steps that write to them, and the worker that runs the steps."""

    def __init__(self, storage: Storage) -> None:
        self.employees = EntitySet(storage, "Employees", Key("{Department}", "empid_{EmployeeId:06d}"))
        self.badges = EntitySet(storage, "Badges", Key("{Building}", "{EmployeeId:06d}"))
        # Azure Functions expects Base64, unless host.json says otherwise; a Worker reads both
        steps = [self.register, self.order_badge]
        self.transaction = EventualTransaction(storage, QUEUE, "onboard", steps, base64=True)
        self.worker = Worker(storage, [self.transaction])

    def register(self, body: Mapping[str, Any]) -> None:
        """Write the employee. The step is idempotent: running it again has the same result."""
        self.employees.insert_or_replace({name: body[name] for name in ("Department", "EmployeeId", "Name")})

    def order_badge(self, body: Mapping[str, Any]) -> None:
        """Order a badge, in another table and partition."""
        self.badges.insert_or_replace({name: body[name] for name in ("Building", "EmployeeId", "Name")})


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
