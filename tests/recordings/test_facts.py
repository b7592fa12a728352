"""Facts: the engine answers a request of each kind as the service did, by the names of headers and of elements."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

import pytest

from recordings.exchange import Answer
from recordings.facts import OF_VERSION, Fact, members_of, own_headers, read_facts
from recordings.facts import REQUESTS as REQUESTS_FILE
from support.blob_requests import LEASE
from support.documented_account import Account
from support.table_requests import JSON
from tablepatterns_engine.http.message import Response

FACTS: Final = read_facts()
LARGE: Final = {
    "{64 KiB}": "a" * (64 * 1024 + 1),
    "{256}": "a" * 256,
    "{253 properties}": ", ".join(f'"P{number}": 1' for number in range(253)),
}
"""What is too large for its place, by its name in `requests.txt`."""
_OTHER_ID: Final = "11111111-1111-1111-1111-111111111111"


class Ask(NamedTuple):
    """A request that produces a fact, and what must be asked before it."""

    path: str
    headers: dict[str, str]
    body: str
    before: tuple[str, ...]


def read_requests() -> dict[str, Ask]:
    """Return the requests of `requests.txt`: fact | path | headers | body | request, headers and body before it."""
    requests: dict[str, Ask] = {}
    for line in REQUESTS_FILE.read_text("utf-8").splitlines():
        fact, path, *rest = (cell.strip() for cell in line.split(" |"))
        headers, body, *before = (*rest, *[""] * (2 - len(rest)))
        requests[fact] = Ask(path, read_headers(headers), body, tuple(before))
    return requests


def read_headers(text: str) -> dict[str, str]:
    """Return headers that are separated by semicolons, where a header's name follows."""
    pairs = (field.partition(": ") for field in re.split(r"; (?=[\w-]+: )", text) if field)
    return {name: value for name, _, value in pairs}


REQUESTS: Final = read_requests()


def send(account: Account, fact: Fact, method: str, path: str, headers: dict[str, str], body: str) -> Response:
    said = {"x-ms-version": fact.versions.rpartition(" ")[2], **(JSON if fact.service == "table" else {}), **headers}
    message, _, receipt = account.receipt.partition("?")
    path = path.replace("{receipt}", account.receipt).replace("{message}", message)
    path = path.replace("{receipt of another message}", f"{_OTHER_ID}?{receipt}")
    wire, is_secondary = account.wires[fact.service], path.startswith("{secondary}")
    base = wire.base.replace("//contoso.", "//contoso-secondary.") if is_secondary else wire.base
    content = body.replace(r"\r\n", "\r\n")
    for name, value in LARGE.items():
        content = content.replace(name, value)
    response: Response = wire.send(method, path.removeprefix("{secondary}"), said, content.encode(), base=base)
    return response


def etag_before(account: Account, fact: Fact, path: str) -> str | None:
    """Return the ETag of the resource of a request, None if it has none."""
    place = path.partition("?")[0]
    query = "?restype=container" if fact.service == "blob" and place.count("/") == 1 else ""
    if fact.service == "queue" or place == "/" or (fact.service == "table" and "(" not in place):
        return None
    response = send(account, fact, "GET", place + query, {}, "")
    return response.headers.get("ETag") if response.status == 200 else None


def test_each_fact_has_a_request() -> None:
    assert {fact.name for fact in FACTS} == set(REQUESTS)


@pytest.mark.parametrize("fact", FACTS, ids=[fact.name for fact in FACTS])
def test_the_engine_answers_as_recorded(fact: Fact) -> None:
    account, ask = Account(), REQUESTS[fact.name]
    account.engine.keep_blob_versions = fact.target.endswith(OF_VERSION)
    values = {"{lease}": LEASE, "{other lease}": _OTHER_ID, "{64 letters}": "a" * 64}
    values["{future}"] = "Fri, 01 Jan 2100 00:00:00 GMT"
    if ask.before:
        line, fields, body = (*ask.before, "", "")[:3]
        method, place = line.split(" ", 1)
        earlier = send(account, fact, method, place, read_headers(fields), body)
        assert earlier.status < 300
        values["{snapshot}"] = earlier.headers.get("x-ms-snapshot", "")
        version = values["{version}"] = earlier.headers.get("x-ms-version-id", "")
        if "{previous version}" in ask.path:
            values["{previous version}"] = version
            send(account, fact, method, place, read_headers(fields), body)
    path, headers = ask.path, dict(ask.headers)
    for name, value in values.items():
        path = path.replace(name, value)
        headers = {field: text.replace(name, value) for field, text in headers.items()}
    before = etag_before(account, fact, path)
    response = send(account, fact, fact.verb, path, headers, ask.body)
    answer = Answer(response.status, {name.lower(): value for name, value in response.headers.items()}, response.body)
    assert str(answer) == fact.answer
    assert set(fact.headers.split()) <= own_headers(answer, of_version=fact.target.endswith(OF_VERSION))
    assert set(fact.members.split()) <= set(members_of(answer))
    if before and fact.etag:
        assert (answer.headers["etag"] == before) == (fact.etag == "same")
