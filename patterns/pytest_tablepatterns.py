"""The pytest plugin: each test gets a new in-memory account, with its clock, faults and traffic.

With `--azure-storage`, tests run on a real account or an emulator instead, and each leaves nothing there.

Installing the package registers it, and pytest loads it in every run. It is a module next to the package, not inside
it, so that loading it imports neither the package nor the SDK: the first test that uses a fixture does.

Override a fixture to change all that build on it: your own `azure_clock` becomes the clock of all the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast
from uuid import uuid4

import pytest

if TYPE_CHECKING:
    import tablepatterns.aio
    from tablepatterns import Storage
    from tablepatterns.traffic import Traffic
    from tablepatterns_engine import Clock, Engine, Faults

_NEED_ENGINE = ("azure_engine", "azure_clock", "azure_faults")
_NEED_MEMORY = ("azure_patched",)
_CREATED = {"CreateTable": (201, 204), "CreateQueue": (201,), "CreateContainer": (201,)}
"""The operations that create something, with their status if it was not there before."""
_MAX_REQUESTS = 10_000_000


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.getgroup("tablepatterns").addoption(
        "--azure-storage",
        default="memory",
        metavar="ACCOUNT",
        help="the account of the fixtures: memory (the default), serve (the in-memory engine, over HTTP), azurite, "
        "env (the connection string in AZURE_STORAGE_CONNECTION_STRING), or a connection string",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Check the option before any test runs."""
    config.addinivalue_line("markers", "needs_azure_engine: --azure-storage cannot provide its fixtures")
    account = _account_of(config)
    if account in {"memory", "serve"}:
        return
    from tablepatterns.connection import resolve
    from tablepatterns.errors import BadTarget

    try:
        if resolve(account).memory is None:
            return
    except BadTarget as error:
        raise pytest.UsageError(f"--azure-storage: {error}; or use memory or serve") from None
    raise pytest.UsageError('--azure-storage: use "memory" for the in-memory engine')


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that need the in-memory engine, so that the others can be selected."""
    for item in items:
        if _needed(item):
            item.add_marker("needs_azure_engine")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Fail a test whose fixtures the chosen account cannot provide."""
    needed = _needed(item)
    if needed:
        rule = "needs the in-memory engine in this process, and --azure-storage names another account"
        pytest.fail(f"{needed[0]} {rule}. Leave such tests out: -m 'not needs_azure_engine'", pytrace=False)


def _needed(item: pytest.Item) -> list[str]:
    """Return the fixtures of a test that the chosen account cannot provide, its own first."""
    missing = {"memory": (), "serve": _NEED_MEMORY}.get(_account_of(item.config), (*_NEED_ENGINE, *_NEED_MEMORY))
    return [name for name in getattr(item, "fixturenames", ()) if name in missing]


def _account_of(config: pytest.Config) -> str:
    return str(config.getoption("azure_storage"))


@pytest.fixture
def azure_clock() -> Clock:
    """The account's clock: it runs with real time, and `advance` and `set` move it."""
    from tablepatterns_engine import Clock

    return Clock()


@pytest.fixture
def azure_engine(azure_clock: Clock) -> Engine:
    """The in-memory account, new for each test; all the other fixtures use it."""
    from tablepatterns_engine import Engine

    return Engine(clock=azure_clock)


@pytest.fixture
def azure_name() -> Callable[[str], str]:
    """A function that returns a new name for a table, queue or container, which begins with the given text."""
    return lambda prefix: f"{prefix}{uuid4().hex}"


@pytest.fixture(scope="session")
def _azure_account(pytestconfig: pytest.Config) -> str:
    """The account that all tests share, once it has responded."""
    from azure.core.exceptions import AzureError

    from tablepatterns import connect

    account, reason = _account_of(pytestconfig), ""
    with connect(account, retry_total=0) as storage:
        try:
            next(iter(cast("Any", storage.tables).list_tables(results_per_page=1)), None)
        except AzureError as error:
            reason = str(error).splitlines()[0]
    if reason:
        pytest.fail(f"--azure-storage: {storage.target.address} does not respond: {reason}", pytrace=False)
    return account


@pytest.fixture
def _azure_target(request: pytest.FixtureRequest) -> Iterator[Any]:
    """What `connect` takes, for the clients of one test."""
    account = _account_of(request.config)
    if account == "memory":
        yield request.getfixturevalue("azure_engine")
    elif account == "serve":
        from tablepatterns_engine.serving import serving

        with serving(request.getfixturevalue("azure_engine")) as connection_string:
            yield connection_string
    else:
        yield from _isolated(request.getfixturevalue("_azure_account"))


def _isolated(target: str) -> Iterator[str]:
    """Yield an account that others may use, delete what the test created, and fail if it used anything else."""
    from azure.core.exceptions import ResourceNotFoundError

    from tablepatterns import connect
    from tablepatterns.traffic import Traffic

    with connect(target) as storage:
        with Traffic(storage, everywhere=True, max_requests=_MAX_REQUESTS) as traffic:
            yield target
        created: set[tuple[str, str]] = set()
        used: set[tuple[str, str]] = set()
        for request in traffic.requests:
            if request.resource is None:
                continue
            if request.status in _CREATED.get(request.operation, ()):
                created.add((request.service, request.resource))
            # A conflict is with what existed
            elif 0 < request.status < 400 or (request.operation in _CREATED and request.status == 409):
                used.add((request.service, request.resource))
        deletions: dict[str, Callable[[str], object]] = {
            "table": cast("Any", storage.tables).delete_table,
            "queue": storage.queues.delete_queue,
            "blob": storage.blobs.delete_container,
        }
        for service, name in sorted(created):
            with suppress(ResourceNotFoundError):
                deletions[service](name)
    foreign = sorted(f"{service} {name!r}" for service, name in used - created)
    if foreign:
        rule = f"This test used {', '.join(foreign)}, which it did not create with azure_storage or azure_aio_storage"
        hint = "others may use it, and it is not deleted. Delete it, or take a new name from azure_name."
        pytest.fail(f"{rule}: {hint}", pytrace=False)


@pytest.fixture
def azure_storage(_azure_target: Any) -> Iterator[Storage]:
    """A `tablepatterns.Storage` of the account: the SDK's own clients, on which recipes run."""
    from tablepatterns import connect

    with connect(_azure_target) as storage:
        yield storage


@pytest.fixture
def azure_aio_storage(_azure_target: Any) -> Iterator[tablepatterns.aio.Storage]:
    """A `tablepatterns.aio.Storage` of the account; any event loop may use it, whichever plugin runs the test."""
    from azure.core.pipeline.transport import AsyncioRequestsTransport

    from tablepatterns import aio
    from tablepatterns.recipe import finish

    # aiohttp's connections belong to one event loop, and only that could close them
    options = {"transport": AsyncioRequestsTransport()} if isinstance(_azure_target, str) else {}
    storage = aio.connect(_azure_target, **options)
    yield storage
    # Nothing that is closed waits, so it needs no event loop
    finish(storage.close())


@pytest.fixture
def azure_patched(azure_engine: Engine) -> Iterator[Engine]:
    """The account, which also answers the SDK clients that the code under test creates by itself."""
    from tablepatterns_engine import patch_azure

    with patch_azure(azure_engine) as engine:
        yield engine


@pytest.fixture
def azure_faults(azure_engine: Engine) -> Faults:
    """The account's faults: rules that make requests fail."""
    return azure_engine.faults


@pytest.fixture
def azure_traffic(request: pytest.FixtureRequest) -> Iterator[Traffic]:
    """The requests since this fixture was set up: those of the test, and of fixtures requested after this one."""
    from tablepatterns.testing import AccountTraffic
    from tablepatterns.traffic import Traffic

    if _account_of(request.config) not in {"memory", "serve"}:
        with Traffic(request.getfixturevalue("azure_storage"), everywhere=True) as traffic:
            yield traffic
        return
    engine: Engine = request.getfixturevalue("azure_engine")
    with AccountTraffic(engine) as recorded, engine.ledger.span(recorded):
        yield recorded
