"""Threads on one account: transactions are never seen half done, and no write is lost."""

from __future__ import annotations

import random

import pytest

from support.table_states import delete, insert, op
from support.threads import run_together, succeeds
from tablepatterns.filters import parse
from tablepatterns_engine.tables.service import Tables

ACCOUNTS = [f"{n:02}" for n in range(10)]
TOTAL = 1000


@pytest.fixture
def bank(tables: Tables) -> Tables:
    tables.transact("People", [insert("bank", row, Balance=TOTAL // len(ACCOUNTS)) for row in ACCOUNTS])
    return tables


def number(value: object) -> int:
    assert isinstance(value, int)
    return value


def sum_of_balances(tables: Tables) -> int:
    page = tables.query("People", parse("PartitionKey eq 'bank'"))
    return sum(number(entity.get("Balance")) for entity in page.entities)


def transfer(tables: Tables, choose: random.Random) -> bool:
    """Move an amount from one account to another; return False if another writer was faster."""
    source, target = (tables.get("People", "bank", row) for row in choose.sample(ACCOUNTS, 2))
    amount = choose.randint(1, 5)
    moves = [
        op("merge", "bank", each.row_key, each.etag, Balance=number(each.get("Balance")) + change)
        for each, change in [(source, -amount), (target, amount)]
    ]
    return succeeds(lambda: tables.transact("People", moves), unless="UpdateConditionNotSatisfied")


def increment(tables: Tables) -> bool:
    before = tables.get("People", "p", "counter")
    after = op("merge", "p", "counter", before.etag, Count=number(before.get("Count")) + 1)
    return succeeds(lambda: tables.apply("People", after), unless="UpdateConditionNotSatisfied")


@pytest.mark.guide("G-068")
def test_no_reader_ever_sees_half_a_transaction(bank: Tables) -> None:
    def move(seed: int) -> None:
        choose = random.Random(seed)
        assert sum(transfer(bank, choose) for _ in range(300)) > 0

    def read() -> None:
        for _ in range(1000):
            assert sum_of_balances(bank) == TOTAL

    run_together(lambda: move(1), lambda: move(2), lambda: move(3), read)
    assert sum_of_balances(bank) == TOTAL


def test_conditional_writes_lose_no_increment(tables: Tables) -> None:
    tables.apply("People", insert("p", "counter", Count=0))

    def hundred_times() -> None:
        done = 0
        while done < 100:
            done += increment(tables)

    run_together(hundred_times, hundred_times, hundred_times)
    assert tables.get("People", "p", "counter").get("Count") == 300


def test_of_threads_that_insert_the_same_entity_one_succeeds(tables: Tables) -> None:
    made: list[str] = []

    def claim(row: str) -> None:
        if succeeds(lambda: tables.apply("People", insert("p", row)), unless="EntityAlreadyExists"):
            made.append(row)

    rows = [f"{n:03}" for n in range(200)]
    run_together(*[lambda: [claim(row) for row in rows] for _ in range(4)])
    assert sorted(made) == rows


def test_partitions_that_come_and_go_under_a_scan_leave_the_order_sound(tables: Tables) -> None:
    tables.apply("People", insert("stays", "r"))

    def churn(name: str) -> None:
        for _ in range(100):
            tables.transact("People", [insert(name, str(n)) for n in range(5)])
            tables.transact("People", [delete(name, str(n)) for n in range(5)])

    def scan() -> None:
        for _ in range(200):
            found = tables.query("People").entities
            assert len(found) % 5 == 1
            assert found[-1].partition_key == "stays"

    run_together(lambda: churn("a"), lambda: churn("b"), scan)
    assert len(tables.query("People").entities) == 1
