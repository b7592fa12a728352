"""Shared access signatures for queues, made by the SDK: what they allow, where, when, and for whom."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from azure.storage.queue import (
    AccountSasPermissions,
    ResourceTypes,
    Services,
    generate_account_sas,
    generate_queue_sas,
)

from support.queue_requests import QueueWire
from tablepatterns_engine.account import Engine

NOW = datetime(2014, 8, 22, 0, 50, 32, 500_000, tzinfo=timezone.utc)
LATER = NOW + timedelta(hours=1)  # the SDK writes whole seconds: 01:50:32
TEXT = "<QueueMessage><MessageText>text</MessageText></QueueMessage>"
FAILED = (403, "AuthenticationFailed")
UNAUTHORIZED = (403, "AuthorizationFailure")
NO_PERMISSION = (403, "AuthorizationPermissionMismatch")
NO_RESOURCE_TYPE = (403, "AuthorizationResourceTypeMismatch")

# method, path, level of the account's signature, letters that it needs, letters that a queue's needs
REQUESTS: dict[str, tuple[str, str, str, str, str | None]] = {
    "put": ("POST", "/orders/messages", "o", "a", "a"),
    "get": ("GET", "/orders/messages", "o", "p", "p"),
    "peek": ("GET", "/orders/messages?peekonly=true", "o", "r", "r"),
    "update": ("PUT", "/orders/messages/{id}?popreceipt={receipt}&visibilitytimeout=0", "o", "u", "u"),
    "delete": ("DELETE", "/orders/messages/{id}?popreceipt={receipt}", "o", "p", "p"),
    "clear": ("DELETE", "/orders/messages", "o", "d", None),
    "read metadata": ("GET", "/orders?comp=metadata", "c", "r", "r"),
    "write metadata": ("PUT", "/orders?comp=metadata", "c", "w", None),
    "create": ("PUT", "/bills", "c", "c", None),
    "create too": ("PUT", "/bills", "c", "w", None),
    "drop": ("DELETE", "/orders", "c", "d", None),
    "list": ("GET", "/?comp=list", "s", "l", None),
    "read properties": ("GET", "/?restype=service&comp=properties", "s", "r", None),
}
OWN = {name: request for name, request in REQUESTS.items() if request[4]}


def queue_sas(engine: Engine, permission: str | None = "raup", expiry: datetime | None = LATER, **options: Any) -> str:
    return generate_queue_sas(
        engine.account_name, "orders", engine.account_key, permission=permission, expiry=expiry, **options
    )


def account_sas(engine: Engine, levels: str = "sco", letters: str = "rwdlacup", **options: Any) -> str:
    options = {"expiry": LATER, "services": Services(queue=True), **options}
    permission = AccountSasPermissions.from_string(letters)
    types = ResourceTypes.from_string(levels)
    return generate_account_sas(engine.account_name, engine.account_key, types, permission, **options)


def ask(wire: QueueWire, sas: str, method: str = "GET", path: str = "/orders/messages", **options: Any) -> Any:
    """Send a request with a signature; return what it was rejected with, None if it was not."""
    message = wire.engine.queues.put("orders", "text")
    receipt = message.receipt.replace("+", "%2B")
    url = path.format(id=message.id, receipt=receipt) + ("&" if "?" in path else "?") + sas
    body = TEXT if "messages" in path and method in ("POST", "PUT") else ""
    response = wire.send(method, url, {}, body, signed=False, **options)
    return None if response.status < 300 else (response.status, response.headers["x-ms-error-code"])


class TestPermissions:
    @pytest.mark.parametrize("letters", ["r", "a", "u", "p", "ra", "up", "raup"])
    @pytest.mark.parametrize("name", OWN)
    def test_each_operation_needs_its_letter_of_a_queue(
        self, name: str, letters: str, engine: Engine, wire: QueueWire
    ) -> None:
        method, path, _, _, needed = OWN[name]
        allowed = needed is not None and needed in letters
        assert ask(wire, queue_sas(engine, letters), method, path) == (None if allowed else NO_PERMISSION)

    @pytest.mark.parametrize("name", [name for name in REQUESTS if name not in OWN])
    def test_a_queue_s_signature_reaches_no_further(self, name: str, engine: Engine, wire: QueueWire) -> None:
        engine.queues.create("bills")
        method, path, *_ = REQUESTS[name]
        # The signature of a queue is none at another queue, nor at the service
        elsewhere = not path.startswith("/orders")
        assert ask(wire, queue_sas(engine), method, path) == (FAILED if elsewhere else UNAUTHORIZED)

    @pytest.mark.parametrize("name", REQUESTS)
    def test_an_account_s_signature_needs_level_and_letter(self, name: str, engine: Engine, wire: QueueWire) -> None:
        method, path, level, letter, _ = REQUESTS[name]
        other_letters = "rwdlacup".replace(letter, "")
        if name.startswith("create"):
            other_letters = other_letters.replace("c", "").replace("w", "")
        other_levels = "sco".replace(level, "")
        assert ask(wire, account_sas(engine, level, other_letters), method, path) == NO_PERMISSION
        assert ask(wire, account_sas(engine, other_levels, letter), method, path) == NO_RESOURCE_TYPE
        assert ask(wire, account_sas(engine, level, letter), method, path) is None

    @pytest.mark.parametrize("method", ["GET", "PUT"])
    def test_no_signature_reaches_access_policies(self, method: str, engine: Engine, wire: QueueWire) -> None:
        for sas in (account_sas(engine), queue_sas(engine)):
            assert ask(wire, sas, method, "/orders?comp=acl") == UNAUTHORIZED

    @pytest.mark.parametrize("letters", ["ar", "pr", "rr", "rx", "raud"])
    def test_letters_out_of_order_or_unknown_are_no_permissions(
        self, letters: str, engine: Engine, wire: QueueWire
    ) -> None:
        assert ask(wire, queue_sas(engine, letters)) == FAILED

    def test_a_signature_for_other_services_is_none(self, engine: Engine, wire: QueueWire) -> None:
        sas = account_sas(engine, services=Services(blob=True))
        assert ask(wire, sas) == (403, "AuthorizationServiceMismatch")
