"""Messages are sent and received with the SDK's requests, and end as with the SDK's own calls."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any, Final
from xml.sax.saxutils import escape

import pytest
from azure.core.credentials import AzureNamedKeyCredential, AzureSasCredential
from azure.core.rest import HttpRequest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.canned_server import Reply, canned_server
from support.spans import spans_of
from tablepatterns import aio, connect
from tablepatterns.recipe import finish
from tablepatterns.sdk.call import SimpleResponse, settled
from tablepatterns.sdk.queue import Queue
from tablepatterns.sdk.queue_sender import QueueAccountSender
from tablepatterns.sdk.request_sender import replaying
from tablepatterns_engine.account import Engine

SERVICE: Final = "https://account.queue.core.windows.net"
KEY: Final = AzureNamedKeyCredential("account", "a2V5")
ITEM: Final = (
    "<QueueMessage><MessageId>{id}</MessageId><InsertionTime>Mon, 23 Nov 2026 21:00:00 GMT</InsertionTime>"
    "<ExpirationTime>Fri, 31 Dec 9999 23:59:59 GMT</ExpirationTime><PopReceipt>r{id}&amp;</PopReceipt>"
    "<TimeNextVisible>Mon, 23 Nov 2026 21:00:30 GMT</TimeNextVisible>{rest}</QueueMessage>"
)
NEW_NAMES: Final = {"MessagesOperations.dequeue": "QueueOperations.receive_messages"}
"""Names of the SDK's operations before version 12.18, and since."""
XML: Final = {"Content-Type": "application/xml"}
VARIABLE: Final = {"x-ms-client-request-id", "x-ms-date", "authorization"}
ODD_TEXTS: Final = ('it\'s <b> & "c"', "a\tb\nc", "a\rb", "\0", "\x0b", " ", "", "\U0001f600", "]]>", "\ufffe", "&#13;")


class NoSender:
    """Leaves all requests to the SDK."""

    async def get(self) -> None: ...


def document(*items: str, head: str = '<?xml version="1.0" encoding="utf-8"?>') -> bytes:
    return f"{head}<QueueMessagesList>{''.join(items)}</QueueMessagesList>".encode()


def item(text: str | None, number: int = 1) -> str:
    rest = "" if text is None else f"<DequeueCount>2</DequeueCount><MessageText>{text}</MessageText>"
    return ITEM.format(id=number, rest=rest)


async def outcome(call: Callable[[], Any]) -> Any:
    try:
        return await call()
    except Exception as error:  # noqa: BLE001 - compared
        # Some versions of the SDK show an XML element with its address
        text = re.sub("0x[0-9a-f]+", "0x", str(error))
        return type(error), text, getattr(error, "error_code", None), getattr(error, "status_code", None)


async def both(
    call: Callable[[Queue], Any], response: SimpleResponse, *, is_aio: bool = False, **options: Any
) -> tuple[list[Any], list[Any]]:
    """Return the outcomes of the SDK's own call and of ours, and the requests that were sent."""
    kind = import_module("azure.storage.queue.aio" if is_aio else "azure.storage.queue").QueueClient
    transport = replaying(kind, response)
    all_options = {"credential": KEY, "transport": transport, "retry_total": 0, **options}
    client = kind(SERVICE, "tasks", **all_options)
    sender = QueueAccountSender(kind, SERVICE, all_options)
    assert await sender.get() is not None
    queues = [Queue(client, requests) for requests in (NoSender(), sender)]
    ends = [await outcome(partial(call, queue)) for queue in queues]
    return ends, [comparable(request) for request in transport.sent]


def comparable(request: Any) -> Any:
    headers = {name.lower(): value for name, value in request.headers.items() if name.lower() not in VARIABLE}
    content = request.content.encode() if isinstance(request.content, str) else request.content
    return request.method, request.url, headers, content, "Authorization" in request.headers


@pytest.mark.parametrize("is_aio", [False, True], ids=["sync", "aio"])
@given(texts=st.lists(st.text(max_size=20), max_size=3), options=st.sampled_from([{}, {"delay": 5, "lifetime": 60}]))
@settings(deadline=None)
async def test_any_text_is_sent_as_by_the_sdk(is_aio: bool, texts: list[str], options: dict[str, int]) -> None:
    response = SimpleResponse(None, 201, "Created", XML, document(item(None)))
    for text in (*ODD_TEXTS, *texts):
        ends, sent = await both(lambda queue, text=text: queue.send(text, **options), response, is_aio=is_aio)
        assert ends[0] == ends[1]
        assert sent[: len(sent) // 2] == sent[len(sent) // 2 :]


@pytest.mark.parametrize("is_aio", [False, True], ids=["sync", "aio"])
@pytest.mark.parametrize(
    ("status", "content"),
    [
        (200, document()),
        (200, b'<?xml version="1.0" encoding="utf-8"?><QueueMessagesList />'),
        (200, b"\xef\xbb\xbf" + document(item("a"))),
        (200, document(item("a", 1), item("b", 2))),
        (200, document(item("a"), "\n")),
        (200, document(item("it's &lt;b&gt; &amp;amp; &quot;c&quot; &apos;"))),
        (200, document(item("a&#10;b"))),
        (200, document(item("a\rb"))),
        (200, document(item("a\r\nb"))),
        (200, document(item(""))),
        (200, document(item("<![CDATA[a]]>"))),
        (200, document(item("é"))),
        (200, document(item("a"), head="")),
        (200, document(item("a"), head='<?xml version="1.0" encoding="utf-8" standalone="yes"?>\n')),
        (200, document(item("a")).replace(b"Nov", b"Foo")),
        (200, document(item("a")).replace(b"<DequeueCount>2</DequeueCount>", b"")),
        (200, document(item("a")).replace(b"PopReceipt", b"Receipt")),
        (200, b"<html>"),
        (200, b""),
        (201, document(item("a"))),
        (404, b"<Error><Code>QueueNotFound</Code><Message>None.</Message></Error>"),
        (403, b"<Error><Code>AuthenticationFailed</Code><Message>No.</Message></Error>"),
        (400, b""),
        (409, b"<html>no</html>"),
        (500, b""),
        (503, b"<Error><Code>ServerBusy</Code><Message>Later.</Message></Error>"),
    ],
)
async def test_each_response_ends_as_with_the_sdks_own_calls(status: int, content: bytes, is_aio: bool) -> None:
    code = {"x-ms-error-code": content.partition(b"<Code>")[2].partition(b"<")[0].decode()} if status >= 400 else {}
    response = SimpleResponse(None, status, "Odd", {**XML, **code}, content)
    for call in (lambda queue: queue.receive(2, lease=9), lambda queue: queue.send("a")):
        ends, sent = await both(call, response, is_aio=is_aio)
        assert ends[0] == ends[1]
        assert sent[: len(sent) // 2] == sent[len(sent) // 2 :]


@settings(deadline=None)
@given(st.lists(st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs")), min_size=1), max_size=3))
def test_any_messages_are_received_as_by_the_sdk(texts: list[str]) -> None:
    items = (item(escape(text), number) for number, text in enumerate(texts))
    response = SimpleResponse(None, 200, "OK", XML, document(*items))
    ends, _ = finish(both(lambda queue: queue.receive(32), response))
    assert ends[0] == ends[1]


async def test_a_sas_that_is_updated_signs_the_next_request() -> None:
    credential = AzureSasCredential("sv=1&sig=old")
    response = SimpleResponse(None, 200, "OK", XML, document())
    _, sent = await both(lambda queue: queue.receive(), response, credential=credential)
    assert [request[1].rpartition("&")[2] for request in sent] == ["sig=old"] * 2
    assert sent[0] == sent[1]


@pytest.mark.parametrize(
    "options",
    [
        {"headers": {"x-mine": "1"}},
        {"logging_enable": True},
        {"user_agent": "me"},
        {"user_agent": "me", "user_agent_overwrite": True},
        {"api_version": "2020-10-02"},
    ],
    ids=str,
)
@pytest.mark.parametrize("is_aio", [False, True], ids=["sync", "aio"])
async def test_options_have_the_same_effect(
    options: dict[str, Any], is_aio: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AZURE_HTTP_USER_AGENT", "environment")
    response = SimpleResponse(None, 200, "OK", XML, document())
    ends, sent = await both(lambda queue: queue.receive(), response, is_aio=is_aio, **options)
    assert ends[0] == ends[1] == []
    assert sent[0] == sent[1]


@pytest.mark.parametrize(
    "options",
    [
        {"retry_policy": None},
        {"retry_to_secondary": True},
        {"require_encryption": True},
        {"proxies": {}},
    ],
    ids=str,
)
async def test_other_options_are_left_to_the_sdk(options: dict[str, Any]) -> None:
    kind = import_module("azure.storage.queue").QueueClient
    sender = QueueAccountSender(kind, SERVICE, {"credential": KEY, "transport": replaying(kind), **options})
    assert await sender.get() is None


@pytest.mark.parametrize("is_aio", [False, True], ids=["sync", "aio"])
async def test_the_spans_are_those_of_the_sdk(is_aio: bool) -> None:
    kind = import_module("azure.storage.queue.aio" if is_aio else "azure.storage.queue").QueueClient
    for status, content, call in (
        (201, document(item(None)), lambda queue: queue.send("a")),
        (200, document(item("a")), lambda queue: queue.receive()),
        (403, b"", lambda queue: outcome(queue.receive)),
    ):
        options = {"credential": KEY, "transport": replaying(kind, SimpleResponse(None, status, "", XML, content))}
        client, sender = kind(SERVICE, "tasks", **options), QueueAccountSender(kind, SERVICE, options)
        assert await sender.get() is not None
        theirs, ours = [await spans_of(partial(call, Queue(client, each))) for each in (NoSender(), sender)]
        assert [tuple(NEW_NAMES.get(part, part) for part in span) for span in theirs] == ours
        assert len(ours) > 1


@pytest.mark.parametrize("is_aio", [False, True], ids=["sync", "aio"])
async def test_a_redirect_is_followed_as_by_the_sdk(is_aio: bool) -> None:
    targets: list[str] = []

    def respond(request: HttpRequest) -> Reply:
        targets.append(request.url.rpartition("/")[2].partition("?")[0])
        if targets[-1] == "elsewhere":
            return Reply(201, document(item(None)), XML)
        return Reply(307, headers={"Location": f"{request.url.rpartition('/')[0]}/elsewhere"})

    with canned_server(respond) as server:
        kind: Any = aio.connect if is_aio else connect
        storage = kind(server.connection_string(Engine()))
        message = await storage.queue("tasks").send("hello")
        await settled(storage.close())
    assert (message.text, targets[-1]) == ("hello", "elsewhere")


@pytest.mark.parametrize("is_aio", [False, True], ids=["sync", "aio"])
@pytest.mark.parametrize(("failures", "is_sent"), [(2, True), (3, False)])
async def test_a_busy_service_is_asked_as_often_as_by_the_sdk(failures: int, is_sent: bool, is_aio: bool) -> None:
    requests: list[HttpRequest] = []
    hooks: list[Any] = []

    def respond(request: HttpRequest) -> Reply:
        requests.append(request)
        return Reply(503) if len(requests) <= failures else Reply(201, document(item(None)), XML)

    options = {"retry_total": 2, "initial_backoff": 0, "random_jitter_range": 0, "increment_base": 0}
    with canned_server(respond) as server:
        kind: Any = aio.connect if is_aio else connect
        storage = kind(server.connection_string(Engine()), raw_response_hook=hooks.append, **options)
        end = await outcome(lambda: storage.queue("tasks").send("hello"))
        await settled(storage.close())
    assert len(requests) == len(hooks) == 3
    assert (getattr(end, "text", end) == "hello") if is_sent else (end[3] == 503)
    # As the SDK does, each attempt has its own id and signature
    assert len({request.headers["Authorization"] for request in requests}) == 3
