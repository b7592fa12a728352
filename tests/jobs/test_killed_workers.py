"""Count, delete and collect orphans with workers that are killed at random: the result is that without kills.

The workers are processes of this machine, or those of a Dask cluster.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta, timezone
from typing import Any, NamedTuple

import pytest

from support.maintained_set import KINDS, person
from support.worker_sets import child_processes, killing, pictured_staff, rekeyed, served, staff, store_staff
from tablepatterns import BulkDelete, EntitySet, Key, LargePropertyStore, QueryClass, connect, prop
from tablepatterns.jobs import Workers, count, verify
from tablepatterns_engine.account import Engine

NEAR = KINDS["near"]
MANY = pytest.mark.parametrize(("rows", "kills"), [(1_200, 1), pytest.param(6_000, 3, marks=pytest.mark.nightly)])
DAY = 86_400


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    with served(monkeypatch) as engine:
        yield engine


@contextmanager
def writing(entities: EntitySet[Any, Any], first: int, **changes: Any) -> Iterator[list[int]]:
    """Insert people one after the other, from a certain number on; yield the numbers of those inserted."""
    ended, numbers = threading.Event(), list[int]()

    def insert() -> None:
        while not ended.wait(0.02):
            number = first + len(numbers)
            entities.insert(person(number, Department=f"D{number % 40}", **changes))
            numbers.append(number)

    thread = threading.Thread(target=insert)
    thread.start()
    try:
        yield numbers
    finally:
        ended.set()
        thread.join()


class Cluster(NamedTuple):
    """Where workers run: what `Workers` needs for it, and the ids of their processes."""

    options: dict[str, Any]
    processes: Callable[[], Iterable[int]]

    @contextmanager
    def killing_at_work(self, seed: int, kills: int) -> Iterator[tuple[list[Any], list[int]]]:
        """Kill workers once the first range is done, so that they die at work; yield a list for the reports."""
        reports = list[Any]()
        with killing(seed, every=0.05, most=kills, workers_of=lambda: self.processes() if reports else ()) as killed:
            yield reports, killed


# Dask leaves sockets and loops to the garbage collector
DASK = (pytest.mark.dask, pytest.mark.filterwarnings("ignore"))
DASK_AT_NIGHT = pytest.mark.parametrize(
    "cluster", ["processes", pytest.param("dask", marks=(*DASK, pytest.mark.nightly))], indirect=True
)


@pytest.fixture(params=["processes", pytest.param("dask", marks=DASK)])
def cluster(engine: Engine, request: pytest.FixtureRequest) -> Iterator[Cluster]:
    if request.param == "processes":
        yield Cluster({}, child_processes)
        return
    from distributed import Client, LocalCluster

    local = LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None)
    with local, Client(local) as client:
        yield Cluster({"executor": client.get_executor}, lambda: client.run(os.getpid).values())


@DASK_AT_NIGHT
@MANY
def test_a_count_is_exact_whichever_processes_die(engine: Engine, cluster: Cluster, rows: int, kills: int) -> None:
    store_staff(connect(engine), rows, derived=[NEAR])
    expected = count(staff(), sum_of=["EmployeeId"], by_partition=True)
    with cluster.killing_at_work(11, kills) as (reports, killed):
        report = count(
            staff(),
            sum_of=["EmployeeId"],
            by_partition=True,
            workers=Workers(2, source=staff, seconds=0.0, **cluster.options),
            progress=reports.append,
        )
    assert killed
    assert report == expected
    assert (report.entities, report.sums) == (rows, {"EmployeeId": sum(range(rows))})


@MANY
@pytest.mark.few(1)
def test_a_deletion_deletes_what_matches_whichever_processes_die(
    engine: Engine, cluster: Cluster, rows: int, kills: int
) -> None:
    store_staff(connect(engine), rows, derived=[NEAR])
    # The writer inserts into the same partitions what does not match
    with writing(staff(), 10_000) as inserted, cluster.killing_at_work(12, kills) as (reports, killed):
        deleted = BulkDelete(staff()).delete(
            prop("EmployeeId") < rows - 300,
            allow=QueryClass.TABLE_SCAN,
            workers=Workers(2, source=staff, seconds=0.0, **cluster.options),
            progress=reports.append,
        )
    assert killed
    assert inserted
    # What a process deleted before it died is not in the report
    assert 0 < deleted.entities <= rows - 300
    assert deleted.left == 0
    expected = [*range(rows - 300, rows), *inserted]
    assert sorted(entity["EmployeeId"] for entity in staff().scan()) == expected
    assert verify(staff(), NEAR).is_clean
    # A row for each entity, and one derived from it
    assert count(EntitySet(connect("env"), "Staff", Key("{PartitionKey}", "{RowKey}"))).entities == 2 * len(expected)


@pytest.mark.nightly
@pytest.mark.parametrize(("orphans", "kills"), [(40, 1), (400, 3)])
def test_only_orphans_are_deleted_whichever_processes_die(
    engine: Engine, cluster: Cluster, orphans: int, kills: int
) -> None:
    photo = bytes(200)
    # Processes tell the time by their own clocks, so the blobs and their marks are stored in the past
    engine.clock.set(datetime.now(timezone.utc) - timedelta(days=3))
    entities = pictured_staff()
    for number in range(2 * orphans):
        entities.insert(person(number, Department=f"D{number % 40}", Photo=photo))
    for number in range(orphans):
        entities.delete(entities.get(Department=f"D{number % 40}", EmployeeId=number))
    engine.clock.advance(DAY)
    store = LargePropertyStore(entities)
    assert store.collect_orphans().marked == orphans
    engine.clock.advance(2 * DAY)
    with (
        writing(pictured_staff(), 10_000, Photo=photo) as inserted,
        cluster.killing_at_work(13, kills) as (reports, killed),
    ):
        report = store.collect_orphans(
            grace=timedelta(hours=1),
            workers=Workers(2, source=pictured_staff, **cluster.options),
            progress=reports.append,
        )
    assert killed
    assert inserted
    assert report.deleted <= orphans
    expected = [*range(orphans, 2 * orphans), *inserted]
    stored = list(entities.scan())
    assert sorted(entity["EmployeeId"] for entity in stored) == expected
    assert all(entity["Photo"] == photo for entity in stored)
    found = store.verify(grace=timedelta(0))
    assert found.is_clean


@pytest.mark.parametrize("cluster", ["processes"], indirect=True)
@pytest.mark.parametrize(("rows", "kills"), [(200, 1), pytest.param(3_000, 3, marks=pytest.mark.nightly)])
def test_a_move_is_verified_and_repaired_whichever_processes_die(
    engine: Engine, cluster: Cluster, rows: int, kills: int
) -> None:
    store_staff(connect(engine), rows)
    move = rekeyed()
    move.copy()
    copies = move.new_set
    for number in range(0, rows, 20):
        copies.delete(copies.get(Email=f"{number}@contoso.com", EmployeeId=number))
        stale = copies.get(Email=f"{number + 1}@contoso.com", EmployeeId=number + 1)
        copies.merge(stale, {"Age": 99})
    expected = move.verify()
    with cluster.killing_at_work(14, kills) as (reports, killed):
        share = Workers(2, source=rekeyed, seconds=0.0, **cluster.options)
        assert move.verify(workers=share, progress=reports.append) == expected
    assert killed
    assert len(expected.differences) == rows // 10
    assert not move.status().is_verified
    with cluster.killing_at_work(15, kills) as (reports, killed):
        move.repair(workers=Workers(2, source=rekeyed, seconds=0.0, **cluster.options), progress=reports.append)
    assert killed
    # Messages of workers that died are processed once their leases end
    assert move.verify(workers=2).is_clean
    assert move.status().is_verified
