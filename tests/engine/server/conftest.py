"""Fixtures for tests of the server: a running server, and connections to its ports."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing

import pytest

from support.raw_http import Line
from tablepatterns_engine.account import Engine
from tablepatterns_engine.server.listeners import PORTS, Listeners
from tablepatterns_engine.serving import serving


@pytest.fixture
def listeners() -> Listeners:
    """The ports of the server."""
    return Listeners(ports=dict.fromkeys(PORTS, 0))


@pytest.fixture
def served(engine: Engine, listeners: Listeners) -> Iterator[str]:
    """The connection string of a server that runs."""
    with serving(engine, listeners) as connection_string:
        yield connection_string


@pytest.fixture
def port(served: str, listeners: Listeners) -> int:
    """The port of the Table service."""
    return next(port for port, service in listeners.services.items() if service == "table")


@pytest.fixture
def call(port: int) -> Iterator[Callable[..., Line]]:
    """A function that connects to the Table service, and sends something."""
    with ExitStack() as lines:

        def connect(data: bytes = b"") -> Line:
            line = lines.enter_context(closing(Line(port)))
            line.send(data)
            return line

        yield connect
