"""A Dask cluster of two processes exports, verifies and imports a table, while its workers are killed."""

from __future__ import annotations

import os
import random
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from support import worker_sets
from support.maintained_set import BY_ID, KINDS, person
from support.worker_sets import restored_table, staff, staff_table
from tablepatterns import EntitySet, connect
from tablepatterns.connection import CONNECTION_VARIABLE
from tablepatterns.jobs import Workers, verify, workers
from tablepatterns.recipes.bulk_load.bulk_load import BulkLoad
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
    workers._loaded.cache_clear()
    engine = Engine()
    people = (person(number, Department=f"D{number % 40}") for number in range(ROWS))
    BulkLoad(EntitySet(connect(engine), "Staff", BY_ID, derived=[KINDS["near"]])).load(people)
    with worker_sets.serving(engine) as connection_string:
        monkeypatch.setenv(CONNECTION_VARIABLE, connection_string)
        yield engine


@pytest.fixture
def cluster(account: Engine) -> Iterator[Any]:
    from distributed import Client, LocalCluster

    local = LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None)
    with local, Client(local) as client:
        yield client


@contextmanager
def killing(client: Any, most: int) -> Iterator[list[int]]:
    """Kill a worker process from time to time; the cluster starts another one."""
    ended, killed, chance = threading.Event(), list[int](), random.Random(5)

    def kill() -> None:
        while len(killed) < most and not ended.wait(1.0):
            pids = sorted(set(client.run(os.getpid).values()))
            if pids:
                killed.append(chance.choice(pids))
                with suppress(ProcessLookupError):
                    os.kill(killed[-1], signal.SIGKILL)

    thread = threading.Thread(target=kill)
    thread.start()
    try:
        yield killed
    finally:
        ended.set()
        thread.join()


@pytest.mark.parametrize("kills", [0, pytest.param(3, marks=pytest.mark.nightly)])
def test_a_cluster_exports_verifies_and_imports(cluster: Any, tmp_path: Path, kills: int) -> None:
    def shared(source: Any, seconds: float = 0.1) -> Workers:
        return Workers(2, source=source, executor=cluster.get_executor, seconds=seconds)

    with killing(cluster, kills) as killed:
        manifest = staff_table().export(tmp_path / "new", workers=shared(staff_table))
        report = verify(staff(), KINDS["near"], workers=shared(staff))
        restored = restored_table().restore(tmp_path / "new", workers=shared(restored_table))
    assert len(killed) == kills or not kills
    assert manifest.rows == restored.rows == 2 * ROWS
    assert report.is_clean
    assert report.entities == ROWS
    restored_table().export(tmp_path / "again")
    assert compare_exports(tmp_path / "new", tmp_path / "again").are_none
