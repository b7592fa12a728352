"""Dispatch the requests of one account to its services."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from .account import Engine
from .http.api import Api, Service
from .http.authorization import TrustTokens
from .http.message import Request, Response
from .resources import CorsRule, Settings
from .tables.api import TABLES

_HOST: Final = re.compile(r"https?://(?:[^/?#.]+\.(table|queue|blob)\.)?[^/?#:]*(?::(\d+))?", re.IGNORECASE)
_PORTS: Final[Mapping[str | None, str]] = {"10000": "blob", "10001": "queue", "10002": "table"}


class AccountApi:
    """Process requests to any service of one account. Thread-safe.

    :param trust_tokens: whether bearer tokens over https are accepted as the owner's; "checked" accepts a JWT for this
        account or for Azure Storage that has not expired, without verifying its signature
    """

    def __init__(self, engine: Engine, *, trust_tokens: TrustTokens = False) -> None:
        self._engine = engine
        self._trust_tokens: TrustTokens = trust_tokens
        self._apis: dict[str, Api[Any]] = {}

    def handle(self, request: Request, service: str | None = None) -> Response:
        """Process a request with the service of the host or else the port; by default, the Table service."""
        return self._api(service or service_of(request.url)).handle(request)

    def max_body(self, service: str) -> int:
        """Return the maximum size of a request to a service in bytes; longer requests are rejected."""
        return _service(service).max_body

    def cors_rules(self, service: str) -> Sequence[CorsRule]:
        return self._settings(service).get_service_properties().cors

    def _settings(self, service: str) -> Settings:
        settings: Settings = getattr(self._engine, f"{service}s")
        return settings

    def _api(self, name: str) -> Api[Any]:
        api = self._apis.get(name)
        if api is None:
            # Another thread may have been faster
            new = Api(self._engine, self._settings(name), _service(name), trust_tokens=self._trust_tokens)
            api = self._apis.setdefault(name, new)
        return api


def _service(name: str) -> Service[Any]:
    """Return a service; the code of queues and blobs is loaded on first use."""
    if name == "queue":
        from .queues.api import QUEUES

        return QUEUES
    if name == "blob":
        from .blobs.api import BLOBS

        return BLOBS
    return TABLES


def service_of(url: str) -> str:
    """Return the service of a URL: table, queue or blob."""
    end = url.find("/", len("https://"))
    return _service_at(url if end < 0 else url[:end])


@lru_cache(maxsize=256)
def _service_at(site: str) -> str:
    match = _HOST.match(site)
    label, port = match.groups() if match else (None, None)
    return label.lower() if label else _PORTS.get(port, "table")
