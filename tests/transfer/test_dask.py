"""A Dask cluster of two processes does each kind of work on a table, while its workers are killed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from support.maintained_set import KINDS, person
from support.worker_sets import killing, pictured_staff, restored_table, served, staff, staff_table, store_staff
from tablepatterns import BulkDelete, LargePropertyStore, QueryClass, connect, prop
from tablepatterns.jobs import Workers, count, verify
from tablepatterns_engine.account import Engine
from tablepatterns_transfer import compare_exports

pytestmark = [
    pytest.mark.dask,
    # Dask leaves sockets and loops to the garbage collector
    pytest.mark.filterwarnings("ignore"),
]
ROWS = 2_400


@pytest.fixture
def account(monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    with served(monkeypatch) as engine:
        # Workers tell the time by their own clocks, so that what is to be old is stored in the past
        engine.clock.set(datetime.now(timezone.utc) - timedelta(days=3))
        store_staff(connect(engine), ROWS, derived=[KINDS["near"]])
        yield engine


@pytest.fixture
def cluster(account: Engine) -> Iterator[Any]:
    from distributed import Client, LocalCluster

    local = LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None)
    with local, Client(local) as client:
        yield client


def shared(cluster: Any, source: Any, seconds: float = 0.1) -> Workers:
    return Workers(2, source=source, executor=cluster.get_executor, seconds=seconds)


@pytest.mark.parametrize("kills", [0, pytest.param(3, marks=pytest.mark.nightly)])
def test_a_cluster_exports_verifies_and_imports(cluster: Any, tmp_path: Path, kills: int) -> None:
    processes = lambda: set(cluster.run(os.getpid).values())  # noqa: E731 - a value
    with killing(seed=5, every=0.3, most=kills, workers_of=processes) as killed:
        manifest = staff_table().export(tmp_path / "new", workers=shared(cluster, staff_table))
        report = verify(staff(), KINDS["near"], workers=shared(cluster, staff))
        restored = restored_table().restore(tmp_path / "new", workers=shared(cluster, restored_table))
    assert len(killed) == kills or not kills
    assert manifest.rows == restored.rows == 2 * ROWS
    assert report.is_clean
    assert report.entities == ROWS
    restored_table().export(tmp_path / "again")
    assert compare_exports(tmp_path / "new", tmp_path / "again").are_none


def test_a_cluster_counts_and_deletes(cluster: Any) -> None:
    report = count(staff(), sum_of=["EmployeeId"], by_partition=True, workers=shared(cluster, staff))
    assert report == count(staff(), sum_of=["EmployeeId"], by_partition=True)
    assert (report.entities, len(report.partitions)) == (ROWS, 40)
    half = prop("EmployeeId") < ROWS // 2
    deleted = BulkDelete(staff()).delete(half, allow=QueryClass.TABLE_SCAN, workers=shared(cluster, staff))
    assert (deleted.entities, deleted.left) == (ROWS // 2, 0)
    assert sorted(entity["EmployeeId"] for entity in staff().scan()) == [*range(ROWS // 2, ROWS)]
    assert verify(staff(), KINDS["near"]).is_clean


def test_a_cluster_collects_orphans(account: Engine, cluster: Any) -> None:
    pictures = pictured_staff()
    for number in range(ROWS, ROWS + 20):
        pictures.insert(person(number, Department=f"D{number % 4}", Photo=bytes(200)))
    for number in range(ROWS, ROWS + 10):
        pictures.delete(pictures.get(Department=f"D{number % 4}", EmployeeId=number))
    account.clock.advance(86_400)
    store, how = LargePropertyStore(pictures), {"workers": shared(cluster, pictured_staff)}
    assert store.collect_orphans(**how).marked == 10
    account.clock.advance(86_400)
    assert store.collect_orphans(grace=timedelta(hours=1), **how).deleted == 10
    assert store.verify(grace=timedelta(0)).is_clean
    assert len([*pictures.range(Department="D0", where=prop("EmployeeId") >= ROWS + 10)]) == 2
