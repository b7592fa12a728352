"""The pytest plugin: for each test an account in memory, its clock, its faults and its traffic.

It is installed with the package, and pytest loads it in every run. It stands beside the package and not in it, so that
this loads neither the package nor the SDK: they are imported by the first test that asks for a fixture.

Each fixture can be overridden: an `azure_clock` of your own, say, is the clock of all the others.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    import tablepatterns.aio
    from tablepatterns import Storage
    from tablepatterns.testing import Clock, Engine, Faults
    from tablepatterns.testing.traffic import AccountTraffic


@pytest.fixture
def azure_clock() -> Clock:
    """The account's clock: it runs with real time, and `advance` and `set` move it."""
    from tablepatterns.testing import Clock

    return Clock()


@pytest.fixture
def azure_engine(azure_clock: Clock) -> Engine:
    """The account in memory, new for each test; all the other fixtures are about this one."""
    from tablepatterns.testing import Engine

    return Engine(clock=azure_clock)


@pytest.fixture
def storage(azure_engine: Engine) -> Iterator[Storage]:
    """A `tablepatterns.Storage` of the account: the SDK's own clients, and what recipes run on."""
    from tablepatterns import connect

    with connect(azure_engine) as storage:
        yield storage


@pytest.fixture
def aio_storage(azure_engine: Engine) -> Iterator[tablepatterns.aio.Storage]:
    """A `tablepatterns.aio.Storage` of the account; any event loop may use it, whichever plugin runs the test."""
    from tablepatterns import aio
    from tablepatterns.recipe import finish

    storage = aio.connect(azure_engine)
    yield storage
    # In memory nothing waits, so the clients can be closed where there is no event loop
    finish(storage.close())


@pytest.fixture
def azure_faults(azure_engine: Engine) -> Faults:
    """The account's faults: rules by which requests fail."""
    return azure_engine.faults


@pytest.fixture
def traffic(azure_engine: Engine) -> Iterator[AccountTraffic]:
    """The requests since this fixture was set up: those of the test, and of the fixtures named behind this one."""
    from tablepatterns.testing.traffic import AccountTraffic

    with AccountTraffic(azure_engine) as traffic, azure_engine.ledger.span(traffic):
        yield traffic
