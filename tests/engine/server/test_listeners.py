"""The ports: by default on this machine only; ports in use are rejected."""

from __future__ import annotations

from contextlib import closing

import pytest

from tablepatterns.errors import BadInput
from tablepatterns_engine.account import Engine
from tablepatterns_engine.server.listeners import PORTS, Listeners

ANY = dict.fromkeys(PORTS, 0)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "localhost"])
def test_a_loopback_address_is_listened_on(host: str) -> None:
    with closing(Listeners(host, ANY)) as listeners:
        assert sorted(listeners.services.values()) == ["blob", "queue", "table"]


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "", "no such host", "192.0.2.1"])  # noqa: S104
def test_any_other_address_is_rejected_with_the_reason(host: str) -> None:
    with pytest.raises(BadInput, match="leave it at 127"):
        Listeners(host, ANY)


def test_every_address_is_listened_on_where_that_is_allowed() -> None:
    with closing(Listeners("0.0.0.0", ANY, anywhere=True)) as listeners:  # noqa: S104
        assert len(listeners.sockets) == 3


def test_a_port_that_is_taken_is_rejected_and_the_others_are_free_again() -> None:
    with closing(Listeners(ports=ANY)) as first:
        taken = next(iter(first.services))
        with closing(Listeners(ports={"blob": 0})) as free:
            (port,) = free.services
        with pytest.raises(OSError, match="in use"):
            Listeners(ports={"blob": port, "queue": taken})
    with closing(Listeners(ports={"blob": port})) as again:
        assert list(again.services) == [port]


def test_the_connection_string_names_account_key_and_every_service() -> None:
    engine = Engine("contoso", "c2VjcmV0")
    with closing(Listeners(ports=ANY)) as listeners:
        by_service = {service: port for port, service in listeners.services.items()}
        assert listeners.connection_string(engine) == (
            "DefaultEndpointsProtocol=http;AccountName=contoso;AccountKey=c2VjcmV0;"
            f"BlobEndpoint=http://127.0.0.1:{by_service['blob']}/contoso;"
            f"QueueEndpoint=http://127.0.0.1:{by_service['queue']}/contoso;"
            f"TableEndpoint=http://127.0.0.1:{by_service['table']}/contoso;"
        )
