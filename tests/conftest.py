"""Fixtures for test bodies, and how each body runs on every backend."""

from __future__ import annotations

import asyncio
import gc
import inspect
import os
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Coroutine, Generator, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4
from zlib import crc32

import pytest
from hypothesis import HealthCheck, settings

from support import backends
from support.backends import Backend, awaited
from support.examples import EVERY_RUN, NIGHTLY
from support.live_bill import EXPECTED, bill, charged_as
from tablepatterns.connection import CONNECTION_VARIABLE
from tablepatterns_engine.account import Engine

# Its modules have the names of packages, which they would replace if doctests were collected from them
collect_ignore = ["support/plotting"]

pytest_plugins = [
    *("support.guide_checklist", "support.guarantees", "support.report_sections"),
    *("support.brief_reports", "support.plugin_options", "support.shared_azurite", "support.tools"),
    "pytester",
]

# On a backend, each example of a property creates a table
shared_fixtures = [HealthCheck.function_scoped_fixture]
# The same examples in every run, so that a failure is caused by the change; --nightly and `make fuzz` use more and
# other examples
settings.register_profile(
    "nightly", max_examples=NIGHTLY, deadline=None, print_blob=True, suppress_health_check=shared_fixtures
)
settings.register_profile(
    "steady", settings.get_profile("nightly"), max_examples=EVERY_RUN, derandomize=True, database=None
)
settings.load_profile("steady")

MARKERS = (
    *(f"{kind}: the body runs on this backend (set by the fixtures)" for kind in backends.KINDS),
    "azurite_deviates(name, reason): the body does not run on Azurite, which answers differently from the service",
    "node: the body runs the SDK for Node or Python for browsers, which `make test` installs",
    "go: the body runs a program in Go with Azure's SDK, which Debian has",
    "clients: the body runs another client of the Blob service, which `make test-clients` installs",
    "browser: the body looks at a page in Chromium",
    "dask: the body needs the extra dask",
    "parquet: the body needs the extra parquet",
    "zstd: the body needs the extra zstd, before Python 3.14",
    "owns_account(reason): the body does not run on a live account, whose settings it would change",
    "nightly: it takes long, and a smaller case of the same rule runs in every run; --nightly runs it too",
    "both_sdks: each case runs in memory with the sync and the async SDK; others with one of them, unless --nightly",
    "nightly_on_azurite: it runs in memory in every run, and on Azurite with --nightly",
    "few_on_azurite: its cases are values of one rule: on Azurite, the first and the last; all with --nightly",
    "few(number): its cases take long and show one rule: so many of them, evenly chosen; all with --nightly",
)
LONGEST = (
    *("tests/docs/test_site.py", "tests/docs/test_in_chromium.py", "tests/project/test_benchmarks.py"),
    *("tests/notebooks/test_notebooks.py", "tests/differential/test_services.py", "tests/cli/test_main.py"),
    *("tests/docs/test_lite.py", "tests/compositions/test_compositions.py", "tests/review/"),
)
"""The modules with tests that take seconds, the slowest first."""
RECIPES = ("tests/recipes/", "tests/entity_set/", "tests/compositions/")
"""Tests that reach a backend only through the SDK, which other tests compare on both backends."""
DEVIATIONS = pytest.StashKey[Counter[tuple[str, str]]]()
LIVE_REQUESTS = pytest.StashKey[Counter[str]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--nightly", action="store_true", help="run the tests marked as nightly too")
    parser.addoption("--live", action="store_true", help=f"run on the account in {CONNECTION_VARIABLE} too")


def pytest_configure(config: pytest.Config) -> None:
    for marker in MARKERS:
        config.addinivalue_line("markers", marker)
    if config.getoption("nightly"):
        settings.load_profile("nightly")
    config.stash[DEVIATIONS] = Counter()
    config.stash[LIVE_REQUESTS] = Counter()
    if config.getoption("live") and not os.environ.get(CONNECTION_VARIABLE):
        raise pytest.UsageError(f"--live needs {CONNECTION_VARIABLE}: the connection string of a storage account")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Use one process more than there are cores, since tests also wait: for Azurite, browsers, servers and timers."""
    return len(os.sched_getaffinity(0)) + 1 if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1) + 1


# ------------------------------------------------------------------ selecting backends


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "backend" in metafunc.fixturenames:
        kinds = [kind for kind in backends.KINDS if _runs_on(kind, metafunc)]
        metafunc.parametrize("backend", [each for kind in kinds for each in _styles(kind, metafunc)], indirect=True)


def _styles(kind: str, metafunc: pytest.Metafunc) -> Iterator[Any]:
    """Yield a kind of backend with the sync SDK, with the async one, or with both.

    Recipes are written once for both. A body that runs in memory with one of them runs on Azurite with the other, and
    with --nightly with both on each.
    """
    names, body = [kind, f"{kind}-aio"], metafunc.definition
    has_both = kind == "memory" and body.get_closest_marker("both_sdks")
    if kind != "live" and not has_both and not _is_complete(metafunc.config):
        is_aio = crc32(body.nodeid.encode()) % 2 == (kind == "memory")
        names = [names[is_aio]]
    for name in names:
        yield pytest.param(name, marks=getattr(pytest.mark, kind))


def _is_complete(config: pytest.Config) -> bool:
    """Return whether every test runs; guarantees are recorded with the full bounds."""
    return bool(config.getoption("nightly") or config.getoption("record_guarantees"))


def _runs_on(kind: str, metafunc: pytest.Metafunc) -> bool:
    body = metafunc.definition
    if kind == "memory":
        return True
    if "engine" in metafunc.fixturenames:
        return False
    if kind == "azurite":
        deviation = body.get_closest_marker("azurite_deviates")
        if deviation:
            name, reason = deviation.args
            metafunc.config.stash[DEVIATIONS][name, reason] += 1
        return deviation is None
    return bool(metafunc.config.getoption("live")) and body.get_closest_marker("owns_account") is None


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path: Path) -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    found = yield
    if not file_path.name.startswith("test_"):
        return found
    # Test modules have no doctests, and looking for them takes time
    return [each for each in found if type(each) is pytest.Module]


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Iterator[None]:
    # Tests and modules live until the end: looking for garbage among them takes a fifth of the time
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Iterator[None]:
    for item in items:
        if "azurite" in getattr(item, "fixturenames", ()):
            item.add_marker("azurite")
    if not _is_complete(config):
        left = {item for item in items if _is_left_to_the_night(item)}
        left.update(_further_cases_on_azurite([item for item in items if item not in left]))
        left.update(_further_cases([item for item in items if item not in left]))
        config.hook.pytest_deselected(items=[item for item in items if item in left])
        items[:] = [item for item in items if item not in left]
    yield
    # The shares of the processes depend on how many tests are left, of which -m and -k deselect some
    if not _is_complete(config):
        items[:] = _longest_first(items)


def _longest_first(items: list[pytest.Item]) -> list[pytest.Item]:
    """Order the tests so that each process starts with some of the slowest, and all end at about the same time.

    Each process takes an equal share from the beginning of the list, and later takes over tests of others.
    """
    processes = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    modules = [[item for item in items if item.nodeid.startswith(module)] for module in LONGEST]
    others = deque(item for item in items if not item.nodeid.startswith(LONGEST))
    ordered: list[pytest.Item] = []
    for process in range(processes):
        end = len(items) * (process + 1) // processes
        ordered += [item for module in modules[process::processes] for item in module]
        ordered += [others.popleft() for _ in range(min(end - len(ordered), len(others)))]
    return [*ordered, *others]


def _is_left_to_the_night(item: pytest.Item) -> bool:
    on_azurite = item.get_closest_marker("nightly_on_azurite") and item.get_closest_marker("azurite")
    return bool(item.get_closest_marker("nightly") or on_azurite)


def _further_cases_on_azurite(items: list[pytest.Item]) -> Iterator[pytest.Item]:
    """Yield the cases on Azurite that --nightly adds.

    Every run has the first test of each module of recipes, and the first and the last case of `few_on_azurite`.
    """
    groups: defaultdict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        if not isinstance(item, pytest.Function) or not hasattr(item, "callspec"):
            continue
        if str(item.callspec.params.get("backend", "")).startswith("azurite"):
            if item.nodeid.startswith(RECIPES):
                groups[item.nodeid.partition("::")[0]].append(item)
            elif item.get_closest_marker("few_on_azurite"):
                groups[item.nodeid.partition("[")[0]].append(item)
    for name, group in groups.items():
        yield from group[1:] if name.startswith(RECIPES) else group[1:-1]


def _further_cases(items: list[pytest.Item]) -> Iterator[pytest.Item]:
    """Yield all but a few evenly chosen cases of each test with the marker `few`."""
    groups: defaultdict[tuple[str, int], list[pytest.Item]] = defaultdict(list)
    for item in items:
        if marker := item.get_closest_marker("few"):
            groups[item.nodeid.partition("[")[0], marker.args[0]].append(item)
    for (_, number), group in groups.items():
        kept = {len(group) * at // number for at in range(number)}
        yield from (item for at, item in enumerate(group) if at not in kept)


# ------------------------------------------------------------------ running bodies


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    backend = pyfuncitem.funcargs.get("backend")
    run = backend.run if isinstance(backend, Backend) else asyncio.run
    body: Any = pyfuncitem.obj
    given = pyfuncitem.funcargs
    arguments = {name: given[name] for name in inspect.signature(body).parameters if name in given}
    if inspect.iscoroutinefunction(body):
        run(body(**arguments))
        return True
    property_of = getattr(body, "hypothesis", None)
    if property_of and inspect.iscoroutinefunction(property_of.inner_test):
        _run_property(body, arguments, run)
        return True
    return None


def _run_property(body: Any, arguments: dict[str, Any], run: Callable[..., Any]) -> None:
    inner: Callable[..., Coroutine[Any, Any, None]] = body.hypothesis.inner_test
    body.hypothesis.inner_test = lambda *args, **kwargs: run(inner(*args, **kwargs))
    try:
        body(**arguments)
    finally:
        body.hypothesis.inner_test = inner


# ------------------------------------------------------------------ fixtures


@pytest.fixture
def engine() -> Engine:
    """The in-memory engine, with its clock and its ledger. A body that requests it runs on no other backend."""
    return Engine()


@pytest.fixture
def backend(request: pytest.FixtureRequest) -> Iterator[Backend]:
    """The account that the body runs on, to connect to it again, for example with another credential."""
    name: str = request.param
    options: dict[str, Any] = {}
    if name.startswith("memory"):
        target: Any = request.getfixturevalue("engine")
    elif name.startswith("azurite"):
        target = request.getfixturevalue("azurite")
        # Without the SDK's retries, errors on this machine are reported immediately
        options["retry_total"] = 0
    else:
        target = "env"
        sent = request.config.stash[LIVE_REQUESTS]
        options["raw_request_hook"] = lambda call: sent.update([charged_as(call)])
    with backends.opened(name, target, **options) as backend:
        yield backend


@pytest.fixture
def storage(backend: Backend) -> Any:
    """A storage on which recipes are awaited, over the sync or the async SDK."""
    return backend.connect()


@pytest.fixture
def service(storage: Any) -> Any:
    """The SDK's table service client, to be awaited."""
    return awaited(storage.tables)


@pytest.fixture
def new_name(backend: Backend, storage: Any) -> Iterator[Callable[..., str]]:
    """A function that returns unique table names; the tables are deleted after the test.

    On a live account, the queues named after them are deleted, too; an Azurite loses them when it stops.
    """
    given: list[str] = []

    def name(prefix: str = "t") -> str:
        given.append(f"{prefix}{uuid4().hex}")
        return given[-1]

    yield name
    if backend.kind != "memory":
        backend.run(_drop(awaited(storage.tables), given))
    if backend.kind == "live":
        backend.run(_drop_queues(awaited(storage.queues), given))


@pytest.fixture
def table_name(new_name: Callable[..., str]) -> str:
    """The name of a table that does not exist yet."""
    return new_name()


@pytest.fixture
def new_table(service: Any, new_name: Callable[..., str]) -> Callable[..., Coroutine[Any, Any, Any]]:
    """A function that creates an empty table and returns its SDK client; both are awaited."""

    async def create(prefix: str = "t") -> Any:
        return await service.create_table(new_name(prefix))

    return create


@pytest.fixture
def table(backend: Backend, new_table: Callable[..., Coroutine[Any, Any, Any]]) -> Any:
    """The SDK's client of an empty table, to be awaited."""
    return backend.run(new_table())


async def _drop(service: Any, names: list[str]) -> None:
    for name in names:
        await service.delete_table(name)


async def _drop_queues(service: Any, named_after: list[str]) -> None:
    for name in named_after:
        found = [queue.name async for queue in service.list_queues(name_starts_with=name.lower())]
        for queue in found:
            await service.delete_queue(queue)


# ------------------------------------------------------------------ reporting


def pytest_report_header(config: pytest.Config) -> str | None:
    if not config.getoption("live"):
        return None
    return f"live account: what is made has random names and is deleted; all tests: {bill(EXPECTED)}"


def pytest_sessionfinish(session: pytest.Session) -> None:
    # Imported late: pytest does not rewrite the assertions of plugins that were imported before
    from support.report_sections import add_section
    from support.shared_azurite import REACHED

    config = session.config
    if REACHED in config.stash and config.stash[DEVIATIONS]:
        lines = [
            f"{name} ({count} {'body' if count == 1 else 'bodies'}): {reason}"
            for (name, reason), count in sorted(config.stash[DEVIATIONS].items())
        ]
        add_section(config, "not run on Azurite, which deviates", lines)
    if config.getoption("live"):
        sent = config.stash[LIVE_REQUESTS]
        add_section(config, "live account", [f"before retries: {bill(sent)}"])
