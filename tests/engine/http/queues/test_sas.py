"""Shared access signatures for queues, made by the SDK: what they allow, where, when, and for whom."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any
from urllib.parse import parse_qsl

import pytest
from azure.core.credentials import AzureSasCredential
from azure.storage.queue import (
    AccessPolicy,
    AccountSasPermissions,
    QueueClient,
    ResourceTypes,
    Services,
    generate_account_sas,
    generate_queue_sas,
)
from hypothesis import given
from hypothesis import strategies as st

from support.queue_requests import QueueWire
from tablepatterns.edm import Ticks
from tablepatterns_engine.account import Engine
from tablepatterns_engine.clock import Clock
from tablepatterns_engine.resources import AccessPolicy as StoredPolicy
from tablepatterns_engine.transport import EngineTransport

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

    def test_the_sdk_carries_a_signature_to_the_service(self, engine: Engine) -> None:
        url, transport = "https://contoso.queue.core.windows.net", EngineTransport(engine)
        sender = QueueClient(url, "orders", credential=AzureSasCredential(queue_sas(engine, "a")), transport=transport)
        worker = QueueClient(url, "orders", credential=queue_sas(engine, "up"), transport=transport)
        sender.send_message("text")
        received = worker.receive_message()
        assert received is not None
        worker.delete_message(worker.update_message(received, visibility_timeout=60))
        assert engine.queues.count("orders") == 0


class TestSignatures:
    @pytest.mark.parametrize("make", [queue_sas, account_sas])
    def test_a_changed_field_breaks_the_signature(self, make: Any, engine: Engine, wire: QueueWire) -> None:
        sas = make(engine, start=NOW - timedelta(days=1), ip="127.0.0.1", protocol="https,http")
        fields = dict(field.split("=", 1) for field in sas.split("&"))
        assert ask(wire, sas) is None
        for name in fields:
            changed = "&".join(f"{key}={value}{'0' if key == name else ''}" for key, value in fields.items())
            assert ask(wire, changed)[0] == 403
            missing = "&".join(f"{key}={value}" for key, value in fields.items() if key != name)
            assert ask(wire, missing)[0] in (401, 403)

    def test_a_queue_of_another_name_has_another_signature(self, engine: Engine, wire: QueueWire) -> None:
        engine.queues.create("bills")
        assert ask(wire, queue_sas(engine), "GET", "/bills/messages") == FAILED

    @given(
        at=st.integers(0, 400), bit=st.integers(0, 6), permission=st.sampled_from(["r", "ra", "raup"]), data=st.data()
    )
    def test_no_tampered_token_is_accepted(self, at: int, bit: int, permission: str, data: st.DataObject) -> None:
        engine = Engine("contoso", clock=Clock(NOW))
        engine.queues.create("orders")
        sas = data.draw(st.sampled_from([queue_sas(engine, permission), account_sas(engine, "o", permission)]))
        position = at % len(sas)
        tampered = sas[:position] + chr(ord(sas[position]) ^ (1 << bit)) + sas[position + 1 :]
        path = "/orders/messages?peekonly=true"
        wire = QueueWire(engine)
        assert ask(wire, sas, "GET", path) is None
        # What decodes to the same token is the same token
        if "#" not in tampered and decoded(tampered) != decoded(sas):
            assert ask(wire, tampered, "GET", path) is not None


def decoded(sas: str) -> set[tuple[str, str]]:
    return set(parse_qsl(sas, keep_blank_values=True))


class TestTime:
    def test_a_signature_ends_by_the_engine_s_clock(self, engine: Engine, wire: QueueWire) -> None:
        sas = queue_sas(engine)
        engine.clock.advance(3599.4)
        assert ask(wire, sas) is None
        engine.clock.advance(0.1)
        assert ask(wire, sas) == FAILED

    def test_it_begins_by_the_engine_s_clock(self, engine: Engine, wire: QueueWire) -> None:
        sas = queue_sas(engine, start=NOW + timedelta(minutes=1))
        assert ask(wire, sas) == FAILED
        engine.clock.advance(60)
        assert ask(wire, sas) is None


class TestWays:
    def test_addresses_are_restricted(self, engine: Engine, wire: QueueWire) -> None:
        sas = queue_sas(engine, ip="10.0.0.5-10.0.0.7")
        assert ask(wire, sas, client="10.0.0.6") is None
        assert ask(wire, sas, client="10.0.0.8") == (403, "AuthorizationSourceIPMismatch")

    def test_http_is_rejected_where_only_https_will_do(self, engine: Engine, wire: QueueWire) -> None:
        base = "http://contoso.queue.core.windows.net"
        assert ask(wire, queue_sas(engine, protocol="https,http"), base=base) is None
        assert ask(wire, queue_sas(engine, protocol="https"), base=base) == (403, "AuthorizationProtocolMismatch")


class TestPolicies:
    @pytest.fixture(autouse=True)
    def _policies(self, engine: Engine) -> None:
        engine.queues.set_policies(
            "orders", [StoredPolicy("worker", expiry=Ticks.of(LATER), permission="p"), StoredPolicy("nothing")]
        )

    def test_a_stored_policy_gives_what_the_signature_leaves_out(self, engine: Engine, wire: QueueWire) -> None:
        sas = queue_sas(engine, None, None, policy_id="worker")
        assert ask(wire, sas) is None
        assert ask(wire, sas, "POST") == NO_PERMISSION
        engine.clock.advance(3600)
        assert ask(wire, sas) == FAILED

    def test_changing_the_policy_changes_the_signature_s_power(self, engine: Engine, wire: QueueWire) -> None:
        sas = queue_sas(engine, None, None, policy_id="worker")
        engine.queues.set_policies("orders", [StoredPolicy("worker", expiry=Ticks.of(LATER), permission="a")])
        assert (ask(wire, sas), ask(wire, sas, "POST")) == (NO_PERMISSION, None)
        engine.queues.set_policies("orders", [])
        assert ask(wire, sas, "POST") == FAILED

    def test_a_field_is_given_once(self, engine: Engine, wire: QueueWire) -> None:
        assert ask(wire, queue_sas(engine, "p", None, policy_id="worker")) == FAILED
        assert ask(wire, queue_sas(engine, None, LATER, policy_id="worker")) == FAILED
        assert ask(wire, queue_sas(engine, "p", policy_id="nothing")) is None

    @pytest.mark.parametrize("name", ["nobody", "nothing"])
    def test_a_policy_that_is_missing_or_says_nothing_gives_nothing(
        self, name: str, engine: Engine, wire: QueueWire
    ) -> None:
        assert ask(wire, queue_sas(engine, None, None, policy_id=name)) == FAILED

    def test_the_sdk_sets_the_policies_that_count(self, engine: Engine, wire: QueueWire, queue: QueueClient) -> None:
        queue.set_queue_access_policy({"reader": AccessPolicy(permission="r", expiry=LATER)})
        sas = queue_sas(engine, None, None, policy_id="reader")
        assert ask(wire, sas, "GET", "/orders/messages?peekonly=true") is None
        assert ask(wire, sas) == NO_PERMISSION
