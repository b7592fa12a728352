"""What the connections of a server share: the account that answers, and what it accepts."""

from __future__ import annotations

from collections.abc import Mapping

from ..account import Engine
from ..dispatch import AccountApi
from ..http.message import Request, Response
from .direct import Head, write_response
from .origin import Hosts, Rejection


class Application:
    """Answer HTTP requests to the services of one account.

    :param engine: the account
    :param services: the service on each port
    :param hosts: the names that a request's Host may have
    """

    def __init__(self, engine: Engine, services: Mapping[int, str], hosts: Hosts) -> None:
        self._engine = engine
        self._api = AccountApi(engine)
        self._services = services
        self._hosts = hosts

    def answers_directly(self, head: Head, port: int) -> bool:
        """Return whether `respond` may answer a request; not if a fault may delay or break its response."""
        if self._engine.faults.rules or not head.is_short(self._services[port]):
            return False
        return self.rejection(head.method, head.headers) is None

    def respond(self, request: Request, port: int) -> bytes:
        return write_response(self.handle(request, port))

    def rejection(self, method: str, headers: Mapping[str, str]) -> Rejection | None:
        """Return why a request must not reach the account, such as one of another site's web page."""
        return self._hosts.rejection(method, headers)

    def max_body(self, port: int) -> int:
        return self._api.max_body(self._services[port])

    def handle(self, request: Request, port: int) -> Response:
        return self._api.handle(request, self._services[port])
