"""Raw batches: multipart bodies that the SDK would not write, and their responses."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from email import message_from_string
from email.message import Message
from typing import Any, NamedTuple

from azure.core.exceptions import HttpResponseError

from conformance.raw import JSON, Answer, Raw


class Inner(NamedTuple):
    """One request in a batch.

    :param url: absolute, or what follows the account's URL
    :param headers: besides those of every request for JSON
    :param note: a header of the part that carries the request
    """

    method: str
    url: str
    headers: dict[str, str] = {}  # noqa: RUF012 - never changed
    body: Any = None
    note: str = ""


class Reply(NamedTuple):
    """One response in a batch."""

    status_code: int
    reason: str
    headers: Message
    body: str

    def text(self) -> str:
        return self.body


def changeset(base: str, requests: Iterable[Inner], boundary: str = "changeset_1") -> str:
    """Return the part of a batch that holds a transaction."""
    parts = "".join(f"--{boundary}\r\n{_part(base, request)}" for request in requests)
    return f"Content-Type: multipart/mixed; boundary={boundary}\r\n\r\n{parts}--{boundary}--\r\n"


def query(base: str, url: str) -> str:
    """Return the part of a batch that holds a query."""
    return _part(base, Inner("GET", url))


async def send(raw: Raw, *parts: str) -> Answer:
    """Send a batch of these parts."""
    body = "".join(f"--batch_1\r\n{part}" for part in parts) + "--batch_1--\r\n"
    return await raw("POST", "/$batch", {"Content-Type": "multipart/mixed; boundary=batch_1"}, body)


async def transact(raw: Raw, *requests: Inner) -> list[Reply]:
    """Send a transaction, and return the response to each of its operations.

    :raises HttpResponseError: the transaction was rejected
    """
    answer = await send(raw, changeset(raw.base, requests))
    assert answer.status == 202
    found = replies(answer)
    if found[0].status_code >= 400:
        assert len(found) == 1
        raise HttpResponseError(response=found[0])  # type: ignore[arg-type]
    return found


def replies(answer: Answer) -> list[Reply]:
    """Return the responses in the answer to a batch, whatever part they are in."""
    whole = message_from_string(f"Content-Type: {answer.headers['Content-Type']}\r\n\r\n{answer.text}")
    return [_reply(part.get_payload()) for part in whole.walk() if part.get_content_type() == "application/http"]


def _reply(text: Any) -> Reply:
    line, _, rest = text.lstrip().partition("\r\n")
    _, status, reason = line.split(" ", 2)
    message = message_from_string(rest)
    body = message.get_payload()
    assert isinstance(body, str)
    return Reply(int(status), reason, message, body.strip())


def _part(base: str, request: Inner) -> str:
    url = request.url if request.url.startswith("http") else base + request.url
    headers = {**JSON, "DataServiceVersion": "3.0", **request.headers}
    body = "" if request.body is None else json.dumps(request.body)
    lines: Sequence[str] = [
        "Content-Type: application/http",
        "Content-Transfer-Encoding: binary",
        *([request.note] if request.note else []),
        "",
        f"{request.method} {url} HTTP/1.1",
        *(f"{name}: {value}" for name, value in headers.items()),
        "",
        body,
        "",
    ]
    return "\r\n".join(lines)
