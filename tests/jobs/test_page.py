"""The programs of docs/beyond-one-machine.md run as they are shown, on processes and on a cluster."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.worker_sets import served
from tablepatterns import BulkLoad, EntitySet, Key, connect

PAGE = Path(__file__).parents[2] / "docs" / "beyond-one-machine.md"
TOTAL = "Counts(entities=300, sums={'Delay': 8850}, partitions={})"


@pytest.fixture(autouse=True)
def account(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with served(monkeypatch) as engine:
        flights = EntitySet(connect(engine), "Flights", Key("{Origin}", "{Number:08d}"))
        BulkLoad(flights).load({"Origin": f"A{n % 20:02d}", "Number": n, "Delay": n % 60} for n in range(300))
        yield


def programs() -> list[str]:
    return re.findall(r"^```python\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)


def test_processes_share_the_work(tmp_path: Path) -> None:
    program = tmp_path / "app.py"
    program.write_text(programs()[0])
    ended = subprocess.run([sys.executable, program], check=True, capture_output=True, text=True)
    assert ended.stdout.strip() == TOTAL
    command = [sys.executable, "-m", "tablepatterns", "count", "app:flights", "--sum", "Delay", "--workers", "2"]
    ended = subprocess.run(command, check=True, capture_output=True, text=True, cwd=tmp_path)
    assert "300" in ended.stdout
    assert "8850" in ended.stdout


@pytest.mark.dask
@pytest.mark.filterwarnings("ignore")
def test_a_cluster_shares_the_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from distributed import LocalCluster

    (tmp_path / "cluster_app.py").write_text(programs()[0])
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", ":".join(map(str, sys.path)))
    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster:
        program = programs()[1].replace("tcp://10.0.0.4:8786", cluster.scheduler_address)
        names: dict[str, Any] = {}
        exec("from cluster_app import *\n" + program.replace("count(", "total = count("), names)  # noqa: S102
        names["client"].close()
    assert names["total"].entities == 300
