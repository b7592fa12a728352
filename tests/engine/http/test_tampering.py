"""Tampered signatures of all three services are rejected with the service's errors."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import Any
from urllib.parse import parse_qsl, quote, unquote_plus

import pytest
from azure.core.credentials import AzureNamedKeyCredential
from azure.data.tables import ResourceTypes, generate_account_sas, generate_table_sas
from azure.storage import blob as storage
from azure.storage.queue import generate_queue_sas
from hypothesis import event, given
from hypothesis import strategies as st

from support.blob_requests import BLOCK_BLOB, BlobWire
from support.examples import examples
from support.queue_requests import QueueWire
from support.table_requests import JSON, Wire, entity_path
from tablepatterns_engine.account import Engine
from tablepatterns_engine.clock import Clock
from tablepatterns_engine.tables.service import Operation

NOW = datetime(2014, 8, 22, 0, 50, 32, tzinfo=timezone.utc)
TERMS: dict[str, Any] = {"permission": "r", "expiry": NOW + timedelta(hours=1), "start": NOW - timedelta(hours=1)}
OTHER_KEY = "b3RoZXIga2V5"

Answer = tuple[int, str | None]
FAILED: Answer = (403, "AuthenticationFailed")
NOT_SIGNED: Answer = (401, "NoAuthenticationInformation")
NO_URL: Answer = (400, "InvalidUri")


class Target:
    """One account, something in it to be read, and the ways to sign that.

    :param tokens: makes the signatures, from a name and a key
    :param ask: reads it with a signature
    """

    def __init__(self, tokens: Callable[[str, str], list[str]], ask: Callable[[Engine, str], object]) -> None:
        self.engine = Engine("contoso", clock=Clock(NOW))
        self._tokens = tokens
        self._ask = ask

    def tokens(self, key: str | None = None) -> list[str]:
        return self._tokens(self.engine.account_name, key or self.engine.account_key)

    def answer(self, token: str) -> Answer:
        """Return the status and the code with which a token is answered."""
        self._ask(self.engine, token)
        line = self.engine.ledger.records[-1]
        return line.status, line.error


def account_token(name: str, key: str, service: str) -> str:
    token = generate_account_sas(AzureNamedKeyCredential(name, key), ResourceTypes(object=True), **TERMS)
    if service == "t":
        return token
    services = storage.Services(blob=service == "b", queue=service == "q")
    terms = {**TERMS, "permission": storage.AccountSasPermissions(read=True), "services": services}
    return storage.generate_account_sas(name, key, storage.ResourceTypes(object=True), **terms)


def tables() -> Target:
    def tokens(name: str, key: str) -> list[str]:
        own = generate_table_sas(AzureNamedKeyCredential(name, key), "Employees", **TERMS)
        return [own, account_token(name, key, "t")]

    def ask(engine: Engine, token: str) -> object:
        return Wire(engine).send("GET", f"{entity_path('p', 'r')}?{token}", JSON, signed=False)

    target = Target(tokens, ask)
    target.engine.tables.create("Employees")
    target.engine.tables.apply("Employees", Operation("insert", "p", "r"))
    return target


def queues() -> Target:
    def tokens(name: str, key: str) -> list[str]:
        return [generate_queue_sas(name, "orders", key, **TERMS), account_token(name, key, "q")]

    def ask(engine: Engine, token: str) -> object:
        return QueueWire(engine).send("GET", f"/orders/messages?peekonly=true&{token}", signed=False)

    target = Target(tokens, ask)
    target.engine.queues.create("orders")
    return target


def blobs() -> Target:
    def tokens(name: str, key: str) -> list[str]:
        return [
            storage.generate_container_sas(name, "photos", key, **TERMS),
            storage.generate_blob_sas(name, "photos", "b", account_key=key, **TERMS),
            account_token(name, key, "b"),
        ]

    def ask(engine: Engine, token: str) -> object:
        return BlobWire(engine).send("GET", f"/photos/b?{token}", signed=False)

    target = Target(tokens, ask)
    target.engine.blobs.containers.create("photos")
    BlobWire(target.engine).send("PUT", "/photos/b", BLOCK_BLOB)
    return target


TARGETS = [tables(), queues(), blobs()]
"""They are only read, so all examples share them."""
TOKENS = [(target, token) for target in TARGETS for token in target.tokens()]
in_every_service = pytest.mark.parametrize("target", TARGETS, ids=["tables", "queues", "blobs"])

# ------------------------------------------------------------------ what is done to a token

CHARACTERS = st.characters(codec="utf-8", exclude_characters="#")


@st.composite
def spoilt(draw: st.DrawFn, token: str) -> str:
    """Return a token with one character changed, lost, put in, or in the place of its neighbour."""
    at = draw(st.integers(0, len(token) - 1))
    before, here, behind = token[:at], token[at], token[at + 1 :]
    return draw(
        st.one_of(
            st.integers(0, 6).map(lambda bit: before + chr(ord(here) ^ (1 << bit)) + behind),
            CHARACTERS.map(lambda other: before + quote(other, safe="") + behind),
            CHARACTERS.map(lambda other: before + quote(other, safe="") + here + behind),
            st.just(before + behind),
            st.just(before + behind[:1] + here + behind[1:]),
            st.just(before + here.swapcase() + behind),
        )
    )


@st.composite
def rewritten(draw: st.DrawFn, token: str) -> str:
    """Return a token of which a field is lost, or says something else."""
    fields = parse_qsl(token)
    at = draw(st.integers(0, len(fields) - 1))
    name, value = fields[at]
    others = [other for _, other in fields] + ["", "r", "raud", "rwdlacup", "b", "c", "sco", "2100-01-01", "2019-02-02"]
    said = draw(st.sampled_from(others) | st.text(CHARACTERS, max_size=8))
    fields[at : at + 1] = draw(st.sampled_from([[], [(name, said)], [(name, value), (name, said)]]))
    return "&".join(f"{name}={quote(value, safe='')}" for name, value in fields)


def fields_of(token: str) -> dict[str, str] | None:
    """Return the content of a token, or None if it cannot be read; table names ignore case."""
    try:
        pairs = [[decoded(text) for text in pair.partition("=")] for pair in token.split("&")]
    except UnicodeDecodeError:
        return None
    return {name: value.lower() if name == "tn" else value for name, _, value in pairs}


def decoded(text: str) -> str:
    return unquote_plus(text, errors="strict")


def expected(fields: dict[str, str] | None) -> Answer:
    if fields is None:
        return NO_URL
    return FAILED if "sig" in fields else NOT_SIGNED


@examples(500)
@given(token=st.sampled_from(TOKENS), data=st.data())
def test_a_tampered_token_is_rejected_as_the_service_rejects_it(token: tuple[Target, str], data: st.DataObject) -> None:
    target, sas = token
    tampered = data.draw(st.one_of(spoilt(sas), rewritten(sas)))
    fields = fields_of(tampered)
    # What says the same is the same token, and options that no signature knows change nothing
    if "#" in tampered or (fields and fields_of(sas).items() <= fields.items()):
        event("the same token")
        return
    assert target.answer(tampered) == expected(fields)


@in_every_service
def test_an_unchanged_request_is_accepted(target: Target) -> None:
    assert {target.answer(token) for token in target.tokens()} == {(200, None)}


@in_every_service
def test_a_token_by_another_key_is_rejected(target: Target) -> None:
    assert {target.answer(token) for token in target.tokens(OTHER_KEY)} == {FAILED}


@in_every_service
def test_the_signature_of_one_token_is_none_for_another(target: Target) -> None:
    for token in target.tokens():
        for other in {sas for _, sas in TOKENS} - {token}:
            body, sig = token.rpartition("sig=")[0], dict(parse_qsl(other))["sig"]
            assert target.answer(f"{body}sig={quote(sig, safe='')}") == FAILED


ADDED = ["sip=0.0.0.0-255.255.255.255", "spr=https%2Chttp", "ss=btqf", "si=readers"]


@in_every_service
@pytest.mark.parametrize("field", ADDED)
def test_nothing_is_added_to_what_was_signed(target: Target, field: str) -> None:
    name = field.partition("=")[0]
    for token in target.tokens():
        names = dict(parse_qsl(token)).keys()
        # An account's signature knows no stored policies
        if name not in names and not (name == "si" and "ss" in names):
            assert target.answer(f"{token}&{field}") == FAILED
