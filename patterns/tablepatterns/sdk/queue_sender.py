"""Send and receive queue messages with the same requests as the SDK, in half of its time.

Responses that are not understood here are left to the SDK, and so are texts that XML would change.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from functools import lru_cache, partial
from importlib import import_module
from typing import Any, Final
from xml.sax.saxutils import escape, unescape

from azure.core.pipeline import PipelineContext, PipelineRequest
from azure.core.rest import HttpRequest

from .call import SimpleResponse, settled
from .queue import Message, message_of, received
from .short_pipeline import (
    NO_CREDENTIAL,
    RESPONSE,
    SILENT,
    HeadersPolicy,
    ShortPipeline,
    comparable,
    replaying,
    short_pipeline,
)

_OK: Final = 200
_CREATED: Final = 201
_MAX_READERS: Final = 64
_TEXT: Final = re.compile("[\t\n -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]+")
_LIST: Final = re.compile(
    r'<\?xml version="1\.0" encoding="utf-8"[^>]*\?>\s*<QueueMessagesList(?:>(.*)</QueueMessagesList>|\s*/>)\s*',
    re.DOTALL | re.IGNORECASE,
)
_MESSAGE: Final = re.compile(
    "<QueueMessage><MessageId>([^<]*)</MessageId><InsertionTime>([^<]*)</InsertionTime>"
    "<ExpirationTime>[^<]*</ExpirationTime><PopReceipt>([^<]*)</PopReceipt><TimeNextVisible>([^<]*)</TimeNextVisible>"
    "(?:<DequeueCount>([0-9]+)</DequeueCount><MessageText>([^<]+)</MessageText>)?</QueueMessage>"
)
_CHANGED_BY_XML: Final = re.compile(r"\r|&(?!(?:amp|lt|gt|quot|apos);)")
_QUOTES: Final = {"&quot;": '"', "&apos;": "'"}


class QueueSender:
    """Sends the requests of an account's queues; `options` has the clients' `transport`.

    :param kind: the SDK's class of queue clients
    :param service: the URL of the queue service
    """

    def __init__(self, kind: Any, service: str, options: Mapping[str, Any]) -> None:
        self._kind, self._service, self._options = kind, service, options
        self._pipeline: ShortPipeline | None = None
        self._is_ready = False
        self._headers: dict[str, str] = {}
        self._reader = lru_cache(_MAX_READERS)(partial(_new_reader, kind, service))

    async def get(self) -> QueueSender | None:
        """Return the sender; None if the SDK must send a request now."""
        if not self._is_ready:
            if await is_supported(self._kind):
                await self.prepare()
            self._is_ready = True
        return self if self._pipeline and self._pipeline.takes({}) else None

    async def prepare(self) -> None:
        """Copy the policies of the SDK's clients that are needed, if there are public ones."""
        package = _package()
        retry_kind = package.ExponentialRetry
        retry = retry_kind(**self._options)
        options = {name: value for name, value in self._options.items() if not name.endswith("_hook")}
        options |= {"retry_policy": retry, "transport": replaying(self._kind)}
        client = self._kind(self._service, "unused", **options)
        self._headers = {"x-ms-version": client.api_version, "Accept": "application/xml"}
        headers = HeadersPolicy(f"storage-queue/{_package().__version__}", ("x-ms-date",), self._options)
        self._pipeline = await short_pipeline(retry, self._options, headers, retry_kind)

    async def send(self, name: str, text: str, delay: int, lifetime: int) -> Message | None:
        """Send a message; None if the SDK must send it. The errors are those of `QueueClient.send_message`."""
        if not _TEXT.fullmatch(text):
            return None
        content = (
            "<?xml version='1.0' encoding='utf-8'?>\n"
            f"<QueueMessage><MessageText>{escape(text)}</MessageText></QueueMessage>"
        )
        url = f"{self._service}/{name}/messages?visibilitytimeout={delay}&messagettl={lifetime}"
        headers = {"Content-Type": "application/xml", **self._headers}
        response = await self._sent(HttpRequest("POST", url, headers=headers, content=content.encode()))
        messages = _messages_in(response, text) if response.status_code == _CREATED else None
        if messages is not None and len(messages) == 1:
            return messages[0]
        options = {"visibility_timeout": delay, "time_to_live": lifetime, RESPONSE: response, **SILENT}
        return message_of(await settled(self._reader(name).send_message(text, **options)))

    async def receive(self, name: str, count: int, lease: int) -> list[Message]:
        """Receive messages; the errors are those of `QueueClient.receive_messages`."""
        url = f"{self._service}/{name}/messages?numofmessages={count}&visibilitytimeout={lease}"
        response = await self._sent(HttpRequest("GET", url, headers=self._headers))
        messages = _messages_in(response) if response.status_code == _OK else None
        if messages is not None:
            return messages
        return await received(self._reader(name), count, lease, **{RESPONSE: response}, **SILENT)

    async def _sent(self, request: HttpRequest) -> Any:
        pipeline: Any = self._pipeline
        context = PipelineContext(self._options["transport"])
        response = await settled(pipeline.first.send(PipelineRequest(request, context)))
        return response.http_response


def _package() -> Any:
    return import_module("azure.storage.queue")


def _new_reader(kind: Any, service: str, name: str) -> Any:
    return kind(service, name, credential=NO_CREDENTIAL, retry_total=0, transport=replaying(kind))


# ------------------------------------------------------------------ responses


def _messages_in(response: Any, text: str = "") -> list[Message] | None:
    """Return the messages in a response; None if the SDK must read it.

    :param text: the text of a message that has just been sent, which its response does not repeat
    """
    try:
        document = _LIST.fullmatch(response.content.decode("utf-8-sig"))
        items = "" if document is None else document[1] or ""
        messages = list(_MESSAGE.finditer(items))
        if document is None or sum(len(message[0]) for message in messages) != len(items):
            return None
        return [_message(*message.groups(), text) for message in messages]
    except ValueError:
        return None


def _message(
    id_: str, inserted: str, receipt: str, visible: str, deliveries: str | None, content: str | None, text: str
) -> Message:
    if content is not None:
        text = _unescaped(content)
    times = parsedate_to_datetime(inserted), parsedate_to_datetime(visible)
    return Message(_unescaped(id_), text, *times, _unescaped(receipt), int(deliveries or 0))


def _unescaped(text: str) -> str:
    if _CHANGED_BY_XML.search(text):
        raise ValueError("only a parser of XML reads this")
    return unescape(text, _QUOTES) if "&" in text else text


# ------------------------------------------------------------------ whether the installed SDK works this way

_supported: Final[dict[object, bool]] = {}
_TRIAL: Final = "https://trial.queue.core.windows.net"
_NAME: Final = "trial"
_ITEM: Final = (
    "<QueueMessage><MessageId>1</MessageId><InsertionTime>Mon, 23 Nov 2026 21:00:00 GMT</InsertionTime>"
    "<ExpirationTime>Fri, 31 Dec 9999 23:59:59 GMT</ExpirationTime><PopReceipt>r&amp;</PopReceipt>"
    "<TimeNextVisible>Mon, 23 Nov 2026 21:00:30 GMT</TimeNextVisible>{}</QueueMessage>"
)


async def is_supported(kind: Any) -> bool:
    """Return whether the SDK's class of queue clients, sync or async, would send and read the same; tested once."""
    is_same = _supported.get(kind)
    if is_same is None:
        try:
            is_same = await _sends_the_same(kind) and await _receives_the_same(kind)
        except Exception:  # noqa: BLE001 - whatever is different in that version, its own call works
            is_same = False
        _supported[kind] = is_same
    return is_same


async def _sends_the_same(kind: Any) -> bool:
    sender, client, sent = await _trial(kind, _CREATED, "")
    text = "it's <1> & é\n"
    theirs = message_of(await settled(client.send_message(text, visibility_timeout=0, time_to_live=-1, **SILENT)))
    return await sender.send(_NAME, text, 0, -1) == theirs and _are_equal(sent)


async def _receives_the_same(kind: Any) -> bool:
    text = "<DequeueCount>2</DequeueCount><MessageText>it's &lt;1&gt; &amp; é</MessageText>"
    sender, client, sent = await _trial(kind, _OK, text)
    theirs = await received(client, 2, 30, **SILENT)
    return await sender.receive(_NAME, 2, 30) == theirs and _are_equal(sent)


async def _trial(kind: Any, status: int, text: str) -> tuple[QueueSender, Any, list[Any]]:
    document = f'<?xml version="1.0" encoding="utf-8"?><QueueMessagesList>{_ITEM.format(text)}</QueueMessagesList>'
    response = SimpleResponse(None, status, "", {"Content-Type": "application/xml"}, document.encode())
    transport = replaying(kind, response)
    options = {"credential": NO_CREDENTIAL, "transport": transport, "retry_total": 0}
    sender = QueueSender(kind, _TRIAL, options)
    await sender.prepare()
    return sender, kind(_TRIAL, _NAME, **options), transport.sent


def _are_equal(requests: list[Any]) -> bool:
    theirs, ours = map(comparable, requests)
    return theirs == ours
