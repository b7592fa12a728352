"""Count the attempts of many writers of one list, in simulated time."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator
from typing import Final

from tablepatterns import EntitySet, Key
from tablepatterns.errors import TooMuchContention
from tablepatterns.recipes.index_entities import IndexEntity
from tablepatterns_engine.account import Engine

from ..data import RecipeScale
from ..results import Writers
from .simulated import DistantStorage, simulate

AT_ONCE: Final = (1, 2, 4, 8, 16)
SPREADS: Final = (1, 16)
SECONDS: Final = (0.005, 0.015)
"""The minimum and maximum duration of a request in seconds."""

Employees = EntitySet[DistantStorage]


def contention(scale: RecipeScale) -> Iterator[Writers]:
    """Yield the results for different numbers of writers, for a list of one row and for a spread list."""
    for spread in SPREADS:
        for writers in AT_ONCE:
            # Recipes use the shared random generator for their backoff
            random.seed(writers)
            yield _measure(writers, spread, scale.inserts)


def _measure(writers: int, spread: int, inserts: int) -> Writers:
    engine, by_name = Engine(), IndexEntity("LastName", spread=spread)
    employees: Employees = EntitySet(
        DistantStorage(engine, SECONDS), "Employees", Key("{Department}", "empid_{EmployeeId:06d}"), derived=[by_name]
    )
    given_up, seconds = simulate(_all(employees, writers, inserts))
    attempts = engine.ledger.totals.by_operation["Transaction"]
    listed = simulate(_listed(employees, by_name, spread))[0]
    if listed != list(range(writers * inserts)):
        raise AssertionError(f"{writers} writers: {len(listed)} are listed of {writers * inserts}")
    return Writers(writers, spread, len(listed), attempts, given_up, round(seconds, 3))


async def _all(employees: Employees, writers: int, inserts: int) -> int:
    """Insert entities of one name, and return how often a writer gave up and started again."""
    await employees.create_table()
    shares = (range(writer * inserts, (writer + 1) * inserts) for writer in range(writers))
    return sum(await asyncio.gather(*(_write(employees, share) for share in shares)))


async def _write(employees: Employees, numbers: range) -> int:
    given_up = 0
    for number in numbers:
        given_up += await _insert(employees, number)
    return given_up


async def _insert(employees: Employees, number: int) -> int:
    """Insert an entity, and return how often its writer gave up."""
    try:
        await employees.insert({"Department": "Sales", "EmployeeId": number, "LastName": "Jones"})
    except TooMuchContention:
        return 1 + await _insert(employees, number)
    return 0


async def _listed(employees: Employees, by_name: IndexEntity, spread: int) -> list[int]:
    found = await employees.keys_of(by_name, Department="Sales", LastName="Jones")
    return sorted(keys["EmployeeId"] for keys in found)
