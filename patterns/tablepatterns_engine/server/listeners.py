"""The ports of a served account, its name and key, and the connection string that names them."""

from __future__ import annotations

import re
import socket
from base64 import b64decode
from collections.abc import Collection, Mapping
from ipaddress import ip_address
from typing import Final

from tablepatterns.errors import BadInput

from ..account import DEVELOPMENT_NAME, Engine
from .origin import Hosts

KEY_VARIABLE: Final = "TABLEPATTERNS_ACCOUNT_KEY"
_NAME: Final = re.compile(r"[a-z0-9]{3,24}")


def engine_of(name: str, environment: Mapping[str, str]) -> Engine:
    """Return a new account; its key is from the environment, in Base64, or else that published with the emulators."""
    if not _NAME.fullmatch(name):
        rule = "an account's name has 3 to 24 small letters and digits"
        raise BadInput("account", name, rule, f"leave it at {DEVELOPMENT_NAME}, or choose another")
    key = environment.get(KEY_VARIABLE)
    # An empty key is a secret that went missing on its way: to take the published one instead would open the account
    if key is not None and not (key and _is_base64(key)):
        rule = "it must be Base64, as the keys of accounts are, and not empty"
        raise BadInput(KEY_VARIABLE, "***", rule, "make one with: openssl rand -base64 64 | tr -d '\\n'")
    return Engine(name, key)


def _is_base64(text: str) -> bool:
    try:
        b64decode(text, validate=True)
    except ValueError:
        return False
    return True


LOOPBACK: Final = "127.0.0.1"
PORTS: Final[Mapping[str, int]] = {"blob": 10000, "queue": 10001, "table": 10002}
"""Azurite's, which the SDKs' `UseDevelopmentStorage=true` means."""


class Listeners:
    """One open port for each service; closing it closes them.

    Other machines can reach the loopback's ports only if they are forwarded. Elsewhere everyone who reaches them and
    knows the key owns the account, and by default the key is the one that is published with the emulators.

    :param ports: the port of each service, 0 for any that is free
    :param anywhere: whether the address may be one that other machines can reach
    :param allow_hosts: names by which requests may ask for the account, besides those of the loopback; where other
        machines can reach the address, none means any
    """

    def __init__(
        self,
        host: str = LOOPBACK,
        ports: Mapping[str, int] = PORTS,
        *,
        anywhere: bool = False,
        allow_hosts: Collection[str] = (),
    ) -> None:
        family, address = _resolved(host)
        is_local = ip_address(address).is_loopback
        self.hosts = Hosts([name.lower() for name in allow_hosts], checked=bool(allow_hosts) or is_local)
        """The names that the Host of a request may have."""
        if not anywhere and not is_local:
            rule = (
                "other machines could reach the account, whose key is published unless you set your own: they could "
                "read, change and fill it"
            )
            raise BadInput("host", host, rule, f"leave it at {LOOPBACK}, or allow it with --anywhere")
        self._host = f"[{address}]" if family == socket.AF_INET6 else address
        self._sockets: dict[str, socket.socket] = {}
        try:
            for service, port in ports.items():
                self._sockets[service] = socket.create_server((address, port), family=family)
        except BaseException:
            self.close()
            raise

    @property
    def sockets(self) -> list[socket.socket]:
        return list(self._sockets.values())

    @property
    def services(self) -> Mapping[int, str]:
        return {listener.getsockname()[1]: service for service, listener in self._sockets.items()}

    def urls(self, account: str) -> Mapping[str, str]:
        return {service: f"http://{self._host}:{port}/{account}" for port, service in self.services.items()}

    def connection_string(self, engine: Engine, key: str | None = None) -> str:
        """Return the connection string with which every SDK reaches the account; `key` stands in for a secret one."""
        fields = {
            "DefaultEndpointsProtocol": "http",
            "AccountName": engine.account_name,
            "AccountKey": engine.account_key if key is None else key,
            **{f"{service.capitalize()}Endpoint": url for service, url in self.urls(engine.account_name).items()},
        }
        return "".join(f"{name}={value};" for name, value in fields.items())

    def close(self) -> None:
        for listener in self._sockets.values():
            listener.close()


def _resolved(host: str) -> tuple[socket.AddressFamily, str]:
    try:
        family, _, _, _, address = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)[0]
    except (OSError, UnicodeError) as error:
        raise BadInput("host", host, f"it is no address: {error}", f"leave it at {LOOPBACK}") from error
    return family, str(address[0])
