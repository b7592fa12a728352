"""Send and receive queue messages with the same requests as the SDK, in half of its time.

Responses that are not understood here are left to the SDK, and so are texts that XML would change.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from email.utils import parsedate_to_datetime
from functools import lru_cache, partial
from importlib import import_module
from typing import Any, Final
from xml.sax.saxutils import escape, unescape

from azure.core.pipeline import PipelineContext, PipelineRequest
from azure.core.rest import HttpRequest

from .call import settled
from .queue import Message, message_of, received
from .short_pipeline import (
    NO_CREDENTIAL,
    RESPONSE,
    SILENT,
    HeadersPolicy,
    ShortPipeline,
    is_async,
    replaying,
    short_pipeline,
    trial_options,
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
            # Whatever is different in the installed SDK, its own calls work
            with suppress(Exception):
                self._pipeline = await self._new_pipeline()
            self._is_ready = True
        return self if self._pipeline and self._pipeline.takes({}) else None

    async def _new_pipeline(self) -> ShortPipeline | None:
        package = import_module("azure.storage.queue")
        # The async package for queues does not export its policy; that of blobs is the same
        retry_kind = (import_module("azure.storage.blob.aio") if is_async(self._kind) else package).ExponentialRetry
        retry = retry_kind(**self._options)
        options = {**trial_options(self._kind, self._options), "retry_policy": retry}
        client = self._kind(self._service, "unused", **options)
        self._headers = {"x-ms-version": client.api_version, "Accept": "application/xml"}
        headers = HeadersPolicy(f"storage-queue/{package.__version__}", ("x-ms-date",), self._options)
        return await short_pipeline(retry, self._options, headers, retry_kind)

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
        messages = _messages_in(response) if response.status_code == _CREATED else None
        if messages is not None and len(messages) == 1:
            return replace(messages[0], text=text, deliveries=0)
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


def _new_reader(kind: Any, service: str, name: str) -> Any:
    return kind(service, name, credential=NO_CREDENTIAL, retry_total=0, transport=replaying(kind))


# ------------------------------------------------------------------ responses


def _messages_in(response: Any) -> list[Message] | None:
    """Return the messages in a response; None if the SDK must read it."""
    try:
        document = _LIST.fullmatch(response.content.decode("utf-8-sig"))
        items = "" if document is None else document[1] or ""
        matches = list(_MESSAGE.finditer(items))
        if document is None or sum(len(match[0]) for match in matches) != len(items):
            return None
        return [_message(*match.groups("")) for match in matches]
    except ValueError:
        return None


def _message(id_: str, inserted: str, receipt: str, visible: str, deliveries: str, text: str) -> Message:
    times = parsedate_to_datetime(inserted), parsedate_to_datetime(visible)
    return Message(_unescaped(id_), _unescaped(text), *times, _unescaped(receipt), int(deliveries or 0))


def _unescaped(text: str) -> str:
    if _CHANGED_BY_XML.search(text):
        raise ValueError("only a parser of XML reads this")
    return unescape(text, _QUOTES) if "&" in text else text
