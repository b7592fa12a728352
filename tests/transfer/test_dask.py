"""A Dask cluster of two processes exports, verifies and imports a table, while its workers are killed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.maintained_set import KINDS
from support.worker_sets import killing, restored_table, served, staff, staff_table, store_staff
from tablepatterns import connect
from tablepatterns.jobs import Workers, verify
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


@pytest.mark.nightly
@pytest.mark.parametrize("kills", [0, 3])
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
