"""The Azurite of a run: the processes that share the tests share it, too, each with an account of its own."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from support import azurite_server
from support.report_sections import add_section

REACHED = pytest.StashKey[str]()
"""The connection string, once a test of this process has requested it."""
_LOG = pytest.StashKey[Path]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--azurite", choices=("npm", "compose"), default="npm", help="whose Azurite the tests run on")


def pytest_configure(config: pytest.Config) -> None:
    of_all = _of_worker(config, "azurite_log")
    log = config.stash[_LOG] = Path(of_all or config.rootpath / f".azurite/{os.getpid()}.log")
    if not of_all:
        # Of an earlier process with the same number
        log.unlink(missing_ok=True)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    node.workerinput["azurite_log"] = str(node.config.stash[_LOG])


@pytest.fixture(scope="session")
def azurite(pytestconfig: pytest.Config) -> Iterator[str]:
    """The connection string of an account on Azurite for all tests of this process."""
    with _azurite(pytestconfig) as pytestconfig.stash[REACHED]:
        yield pytestconfig.stash[REACHED]


@contextmanager
def _azurite(config: pytest.Config) -> Iterator[str]:
    log, worker = config.stash[_LOG], _of_worker(config, "workerid")
    if config.getoption("azurite") == "compose":
        yield azurite_server.compose()
    elif worker:
        yield azurite_server.shared(log, int(worker.removeprefix("gw")))
    else:
        with azurite_server.azurite(log) as connection_string:
            yield connection_string


def pytest_sessionfinish(session: pytest.Session) -> None:
    log = session.config.stash[_LOG]
    if _of_worker(session.config, "workerid") or not log.exists():
        return
    azurite_server.stop_shared(log)
    if session.testsfailed:
        add_section(session.config, "Azurite", [f"log: {log}"])
    else:
        log.unlink()


def _of_worker(config: pytest.Config, name: str) -> str | None:
    """Return what the process that shares the tests out has given to this one, None outside xdist."""
    return getattr(config, "workerinput", {}).get(name)
