"""Fixtures for tests of other clients of the Blob service: a served account, and an empty container in it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from typing import NamedTuple
from urllib.parse import urlsplit
from uuid import uuid4

import pytest
from azure.storage.blob import ContainerClient

SECONDS_TO_STOP = 20


class Account(NamedTuple):
    """How clients reach an account."""

    name: str
    key: str
    url: str
    connection_string: str

    @property
    def host(self) -> str:
        return self.host_of("blob")

    def host_of(self, service: str) -> str:
        """Return the host and the port of a service."""
        return urlsplit(_fields(self.connection_string)[f"{service.capitalize()}Endpoint"]).netloc


def _fields(connection_string: str) -> Mapping[str, str]:
    return dict(field.split("=", 1) for field in connection_string.split(";") if field)


@pytest.fixture(scope="session")
def account() -> Iterator[Account]:
    """An account that another process serves: Delta Lake holds Python's lock while it waits for a response."""
    ports = [f"--{service}-port=0" for service in ("blob", "queue", "table")]
    command = [sys.executable, "-m", "tablepatterns", "serve", "--json", *ports]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        lines = iter(server.stdout.readline, "}\n")
        connection_string = json.loads("".join(lines) + "}")["connection_string"]
        fields = _fields(connection_string)
        yield Account(fields["AccountName"], fields["AccountKey"], fields["BlobEndpoint"], connection_string)
        server.terminate()
        assert server.wait(SECONDS_TO_STOP) == 0


@pytest.fixture
def container(account: Account) -> str:
    """The name of an empty container."""
    name = f"c{uuid4().hex}"
    with ContainerClient.from_connection_string(account.connection_string, name) as client:
        client.create_container()
    return name
