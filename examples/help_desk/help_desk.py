"""A help desk on Azure Storage: tickets with attachments, and the events of each."""

# -- imports
from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Annotated, Any
from uuid import UUID, uuid4

from tablepatterns import (
    EntitySet,
    EventualTransaction,
    InterPartitionIndex,
    IntraPartitionIndex,
    Key,
    Large,
    LogTail,
    Storage,
    Worker,
    connect,
)
from tablepatterns.errors import EntityAlreadyExists


# -- models
class Status(Enum):
    OPEN = "open"
    CLOSED = "closed"


@dataclass
class Ticket:
    customer: str
    number: int
    subject: str
    agent: str
    opened: datetime
    status: Status = Status.OPEN
    screenshot: Annotated[bytes, Large()] = b""


@dataclass
class Event:
    customer: str
    number: int
    text: str
    at: datetime | None = None
    entry: UUID | None = None


# -- keys
TICKET = Key("customer_{customer}", "ticket_{number:06d}")
BY_STATUS = IntraPartitionIndex(Key("customer_{customer}", "status_{status}_{number:06d}"), name="by_status")
BY_AGENT = InterPartitionIndex(Key("agent_{agent}", "{status}_{number:06d}_{customer}"), name="by_agent")


# -- desk
class HelpDesk:
    def __init__(self, storage: Storage) -> None:
        self.now = storage.now
        self.tickets = EntitySet(storage, "Tickets", TICKET, model=Ticket, derived=[BY_STATUS, BY_AGENT])
        self.events = LogTail(storage, "Events", "{number:06d}_{customer}", at="at", entry="entry", model=Event)
        self.closing = EventualTransaction(storage, "closing", "close", [self.close, self.record])
        self.worker = Worker(storage, [self.closing, self.tickets.reconciler()])

    # -- open
    def open(self, ticket: Ticket) -> Ticket:
        """Store a new ticket, and its first event."""
        stored = self.tickets.insert(ticket)
        self.events.append(Event(ticket.customer, ticket.number, f"opened: {ticket.subject}"))
        return stored

    def of_agent(self, agent: str) -> list[Ticket]:
        """Return the open tickets of an agent, by number."""
        return list(self.tickets.range(BY_AGENT, agent=agent, status=Status.OPEN))

    def of_customer(self, customer: str, status: Status) -> list[Ticket]:
        """Return the tickets of a customer that have a status, by number."""
        return list(self.tickets.range(BY_STATUS, customer=customer, status=status))

    # -- request_close
    def request_close(self, ticket: Ticket, text: str) -> None:
        """Send one message; the worker then closes the ticket and records why."""
        body = {"customer": ticket.customer, "number": ticket.number, "text": text}
        self.closing.start(body | {"at": self.now().isoformat(), "entry": str(uuid4())})

    # -- steps
    def close(self, body: Mapping[str, Any]) -> None:
        """Close the ticket. Closing it again changes nothing."""
        ticket = self.tickets.get(customer=body["customer"], number=body["number"])
        if ticket is not None and ticket.status is Status.OPEN:
            self.tickets.update(ticket, status=Status.CLOSED)

    def record(self, body: Mapping[str, Any]) -> None:
        """Record the event. The message has its id, so a second delivery finds it."""
        at, entry = datetime.fromisoformat(body["at"]), UUID(body["entry"])
        with suppress(EntityAlreadyExists):
            self.events.append(Event(body["customer"], body["number"], body["text"], at, entry))


# -- demo
def demo(desk: HelpDesk) -> None:
    printer = Ticket("contoso", 1, "the printer smokes", "kim", desk.now(), screenshot=bytes(200_000))
    desk.open(printer)
    desk.open(Ticket("contoso", 2, "no network", "kim", desk.now()))
    print("kim has", [ticket.number for ticket in desk.of_agent("kim")])
    desk.request_close(printer, "closed: it was a feature")
    print(desk.worker.drain())
    print("kim has", [ticket.number for ticket in desk.of_agent("kim")])
    for ticket in desk.of_customer("contoso", Status.CLOSED):
        print(ticket.number, ticket.subject, len(ticket.screenshot), "bytes")
    print([event.text for event in desk.events.latest(2, customer="contoso", number=1)])


# -- main
desk = HelpDesk(connect(os.environ.get("STORAGE", "memory://help-desk")))
tickets, worker = desk.tickets, desk.worker

if __name__ == "__main__":
    demo(desk)
