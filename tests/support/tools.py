"""Skip the tests whose tools are missing, with the reason and the remedy; `--no-skips` fails them instead.

Python packages are no such tools, but for those of the extras `parquet`, `zstd` and `dask`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from shutil import which
from typing import Any, Final

import pytest

from support import azurite_server

_INSTALL: Final = "To run them: make test, where the npm registry and PyPI can be reached."


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--no-skips", action="store_true", help="fail a test that is skipped, for whatever reason")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("azurite", None) == "compose" and not hasattr(config, "workerinput"):
        try:
            azurite_server.compose()
        except azurite_server.AzuriteMissing as error:
            raise pytest.UsageError(f"--azurite=compose: {error}") from None


@cache
def _browser() -> str | None:
    from support.browser import BrowserMissing, program

    try:
        program()
    except BrowserMissing as error:
        return str(error)
    return None


@cache
def _node() -> str | None:
    from tools.site import assets

    script = Path(__file__).parents[1] / "node/node_modules/.ready"
    is_complete = all(list(assets.WHEELS.glob(f"{name}-{version}-*")) for name, version in assets.pinned_packages())
    if script.exists() and assets.are_installed() and is_complete:
        return None
    return f"The packages for Node and for Python in the browser are not installed. {_INSTALL}"


def _azurite() -> str | None:
    return None if azurite_server.PROGRAM.exists() else f"Azurite is not installed. {_INSTALL}"


def _clients() -> str | None:
    missing = [name for name in CLIENTS if find_spec(name) is None]
    if not missing:
        return None
    return f"Not installed: {', '.join(missing)}. To run them: make test-clients, where PyPI can be reached."


def _go() -> str | None:
    """Debian has the SDK as a package; elsewhere the tests are skipped."""
    if GO and (GO_PACKAGES / "src/github.com/Azure/azure-sdk-for-go/storage").exists():
        return None
    return "Go or its Azure SDK is missing: apt install golang-go golang-github-azure-azure-sdk-for-go-dev."


def _needs(package: str, extra: str) -> Callable[[], str | None]:
    text = f"{package} is not installed. To run them: pip install -e '.[{extra}]'."
    return lambda: None if find_spec(package) else text


def _zstd() -> str | None:
    return None if sys.version_info >= (3, 14) else _needs("backports", "zstd")()


GO: Final = which("go")
GO_PACKAGES: Final = Path("/usr/share/gocode")
"""Where Debian installs packages for Go."""
CLIENTS: Final = ("adlfs", "deltalake", "obstore", "pyarrow")
"""What `tests/clients/requirements.txt` installs."""
MISSING: Final[dict[str, Callable[[], str | None]]] = {
    "azurite": _azurite,
    "browser": _browser,
    "clients": _clients,
    "go": _go,
    "dask": _needs("distributed", "dask"),
    "node": _node,
    "parquet": _needs("pyarrow", "parquet"),
    "zstd": _zstd,
}
"""For each mark of a test that needs a tool, what returns a text if the tool is missing."""


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    is_elsewhere = item.config.getoption("azurite", None) == "compose"
    for mark, missing in MISSING.items():
        if item.get_closest_marker(mark) and not (mark == "azurite" and is_elsewhere) and (reason := missing()):
            pytest.skip(reason)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    return _without_skip(item.config, (yield))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    return _without_skip(collector.config, (yield))


def _without_skip(config: pytest.Config, report: Any) -> Any:
    # A test that fails as it is expected to is reported as skipped, too
    if report.skipped and not hasattr(report, "wasxfail") and config.getoption("no_skips"):
        report.outcome, report.longrepr = "failed", f"--no-skips: {report.longrepr[2].removeprefix('Skipped: ')}"
    return report
