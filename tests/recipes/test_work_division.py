"""Divide partitions among workers: each has one owner, the same everywhere."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.guarantees import explore_guarantee
from tablepatterns import EntitySet, HashDivision, Key
from tablepatterns.errors import BadDesign, BadInput
from tablepatterns_explore import World

PAGES = Key("{Site}", "{Page}")
SITES = [f"site{number:03d}" for number in range(300)]


@pytest.mark.guide("G-356")
@given(keys=st.lists(st.text() | st.just("\ud800"), unique=True), workers=st.integers(1, 9))
def test_shares_are_disjoint_and_complete(keys: list[str], workers: int) -> None:
    division = HashDivision(workers)
    shares = [division.owned_by(worker, keys) for worker in range(workers)]
    assert sorted(key for share in shares for key in share) == sorted(keys)


@given(keys=st.lists(st.text(), max_size=20), workers=st.integers(1, 9))
def test_one_worker_more_takes_partitions_and_moves_no_others(keys: list[str], workers: int) -> None:
    before, after = HashDivision(workers), HashDivision(workers + 1)
    assert all(after.owner(key) in (before.owner(key), workers) for key in keys)


def test_shares_are_about_equal_and_the_same_in_every_version() -> None:
    division = HashDivision(4)
    sizes = [len(division.owned_by(worker, SITES)) for worker in range(4)]
    assert sizes == [67, 78, 76, 79]
    assert [division.owner(site) for site in SITES[:8]] == [3, 1, 1, 2, 1, 3, 1, 1]


def test_unknown_worker_numbers_are_rejected() -> None:
    with pytest.raises(BadDesign):
        HashDivision(0)
    for worker in (-1, 2):
        with pytest.raises(BadInput):
            HashDivision(2).owned_by(worker, [])


@pytest.mark.guide("G-357")
@pytest.mark.guarantee("EntitySet", "workers that share all partitions lose no write of each other")
def test_workers_may_share_all_partitions() -> None:
    def two_workers(world: World) -> list[Any]:
        pages = EntitySet(world.storage, "Pages", PAGES)
        for site in SITES[:2]:
            world.run(pages.insert({"Site": site, "Page": "home", "Visits": 0}))

        async def work() -> None:
            for site in SITES[:2]:
                await pages.update(lambda page: page.update(Visits=page["Visits"] + 1), Site=site, Page="home")

        return [work(), work()]

    def all_are_counted(world: World) -> bool:
        rows = world.engine.tables.query("Pages").entities
        return [row.properties["Visits"] for row in rows] == [2, 2]

    explore_guarantee(two_workers, invariant=all_are_counted, preemptions=2)
