"""Tests of the help desk: they run in memory, and start nothing."""

# -- imports
from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timezone
from itertools import count, takewhile
from typing import Any

from help_desk import BY_AGENT, BY_STATUS, HelpDesk, Status, Ticket

from tablepatterns import Storage, connect
from tablepatterns.jobs import verify
from tablepatterns.testing import AccountTraffic
from tablepatterns_engine import Clock, Engine

LEAK = Ticket("contoso", 7, "the roof leaks", "kim", datetime(2026, 8, 22, tzinfo=timezone.utc))


# -- behavior
def test_a_closed_ticket_moves_in_each_list(azure_storage: Storage) -> None:
    desk = HelpDesk(azure_storage)
    desk.open(LEAK)
    assert desk.of_agent("kim") == desk.of_customer("contoso", Status.OPEN) == [LEAK]
    desk.request_close(LEAK, "closed: the roof is new")
    desk.worker.drain()
    assert desk.of_agent("kim") == desk.of_customer("contoso", Status.OPEN) == []
    assert [ticket.number for ticket in desk.of_customer("contoso", Status.CLOSED)] == [7]
    texts = [event.text for event in desk.events.latest(9, customer="contoso", number=7)]
    assert texts == ["closed: the roof is new", "opened: the roof leaks"]


# -- cost
def test_each_list_is_one_request(azure_storage: Storage, azure_traffic: AccountTraffic) -> None:
    desk = HelpDesk(azure_storage)
    desk.open(LEAK)
    before = len(azure_traffic.requests)
    desk.of_agent("kim")
    desk.of_customer("contoso", Status.OPEN)
    assert len(azure_traffic.requests) - before == 2


# -- crash
def crash_before(request: int) -> Callable[[Any], None]:
    """Return a hook that ends the process before one of its requests."""
    numbers = count(1)

    def hook(_: Any) -> None:
        if next(numbers) == request:
            raise SystemExit("crashed")

    return hook


def closes_with_a_crash(request: int) -> bool:
    """Close a ticket with a crash before a request, check the result, and return whether the process crashed."""
    clock = Clock()
    engine = Engine(clock=clock)
    desk = HelpDesk(connect(engine))
    desk.open(LEAK)
    desk.request_close(LEAK, "closed")
    crashed = False
    try:
        HelpDesk(connect(engine, raw_request_hook=crash_before(request))).worker.drain()
    except SystemExit:
        crashed = True
    clock.advance(3600)  # The leases of the crashed worker expire
    desk.worker.drain()
    assert desk.of_agent("kim") == desk.of_customer("contoso", Status.OPEN) == []
    assert verify(desk.tickets, BY_AGENT).is_clean
    assert verify(desk.tickets, BY_STATUS).is_clean
    events = desk.events.latest(9, customer="contoso", number=7)
    assert [event.text for event in events] == ["closed", "opened: the roof leaks"]
    return crashed


def test_a_ticket_is_closed_completely_wherever_the_worker_crashes() -> None:
    crashes = list(takewhile(closes_with_a_crash, count(1)))
    assert len(crashes) > 5
