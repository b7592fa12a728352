"""The pytest plugin: each test gets a new in-memory account, with its clock, faults and traffic.

Installing the package registers it, and pytest loads it in every run. It is a module next to the package, not inside
it, so that loading it imports neither the package nor the SDK: the first test that uses a fixture does.

Override a fixture to change all that build on it: your own `azure_clock` becomes the clock of all the others.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    import tablepatterns.aio
    from tablepatterns import Storage
    from tablepatterns.testing import AccountTraffic
    from tablepatterns_engine import Clock, Engine, Faults


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
def azure_storage(azure_engine: Engine) -> Iterator[Storage]:
    """A `tablepatterns.Storage` of the account: the SDK's own clients, on which recipes run."""
    from tablepatterns import connect

    with connect(azure_engine) as storage:
        yield storage


@pytest.fixture
def azure_aio_storage(azure_engine: Engine) -> Iterator[tablepatterns.aio.Storage]:
    """A `tablepatterns.aio.Storage` of the account; any event loop may use it, whichever plugin runs the test."""
    from tablepatterns import aio
    from tablepatterns.recipe import finish

    storage = aio.connect(azure_engine)
    yield storage
    # In memory nothing waits, so the clients can be closed without an event loop
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
def azure_traffic(azure_engine: Engine) -> Iterator[AccountTraffic]:
    """The requests since this fixture was set up: those of the test, and of fixtures requested after this one."""
    from tablepatterns.testing import AccountTraffic

    with AccountTraffic(azure_engine) as traffic:
        yield traffic
