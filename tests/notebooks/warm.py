"""Kernels that start in a moment: forked from one process that has loaded what notebooks import.

Each is a process of its own, with nothing of the notebook before it and nothing of the repository on its path.
"""

from __future__ import annotations

import os
import sys
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

from jupyter_client.manager import AsyncKernelManager
from jupyter_client.provisioning import LocalProvisioner

TESTS: Final = Path(__file__).parents[1]
LOADED: Final = ("ipykernel.kernelapp", "matplotlib.pyplot", "pandas", "tablepatterns", "tablepatterns.testing")
_SERVER: Final = get_context("forkserver")
_SERVER.set_forkserver_preload(list(LOADED))


class _Process:
    """A forked process, which Jupyter asks as it asks one from `subprocess`."""

    stdin = stdout = stderr = None

    def __init__(self, process: BaseProcess) -> None:
        self._process = process
        self.pid = process.pid

    def poll(self) -> int | None:
        return self._process.exitcode

    def wait(self) -> int | None:
        self._process.join()
        return self._process.exitcode

    def send_signal(self, number: int) -> None:
        os.kill(self.pid or 0, number)

    def kill(self) -> None:
        self._process.kill()

    def terminate(self) -> None:
        self._process.terminate()


class _Forked(LocalProvisioner):
    async def launch_kernel(self, cmd: list[str], **kwargs: Any) -> Any:
        arguments = cmd[cmd.index("ipykernel_launcher") + 1 :]
        process: Any = _SERVER.Process(target=_serve, args=(arguments, kwargs["cwd"], kwargs["env"]))
        process.start()
        self.process = _Process(process)  # type: ignore[assignment]
        self.pid, self.cwd = process.pid, kwargs["cwd"]
        return self.connection_info


class WarmKernels(AsyncKernelManager):
    """What starts the kernel of a notebook."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.kernel_id = str(uuid4())
        self.provisioner = _Forked(parent=self, kernel_id=self.kernel_id, kernel_spec=self.kernel_spec)


def _serve(arguments: list[str], folder: str, environment: dict[str, str]) -> None:
    import matplotlib as mpl
    import pandas as pd
    from ipykernel.kernelapp import launch_new_instance
    from zmq.utils.garbage import gc

    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.path[:] = ["", *(each for each in sys.path if each and Path(each) not in (TESTS, TESTS.parent))]
    # Both ask when they are imported whether a notebook imports them
    mpl.rcParams["backend"] = "module://matplotlib_inline.backend_inline"
    pd.set_option("display.max_columns", 20)
    # The kernel starts this thread with its first large picture, when the notebook may have forbidden threads
    gc.start()
    # So that it ends with the process that forked it
    launch_new_instance([*arguments, f"--IPKernelApp.parent_handle={os.getppid()}"])
