"""Send and receive queue messages with the same requests as the SDK, in half of its time.

Responses that are not understood here are left to the SDK, and so are texts that XML would change.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from email.utils import parsedate_to_datetime
from functools import partial
from importlib import import_module
from typing import Any, ClassVar, Final
from xml.sax.saxutils import escape, unescape

from azure.core.pipeline import PipelineResponse
from azure.core.pipeline.policies import UserAgentPolicy
from azure.core.rest import HttpRequest
from azure.core.tracing.decorator import distributed_trace

from .account_sender import AccountSender, Trial, canned_answer
from .call import CREATED, OK, settled
from .queue import Message, receive_by_sdk, send_by_sdk
from .request_sender import Prepared, RequestSender, is_async

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
# The span of the SDK's method ends before the request
_method_span = distributed_trace(name_of_span="QueueClient.receive_messages")(lambda: None)


class QueueSender(RequestSender):
    """Sends the requests of an account's queues.

    The SDK's clients of queues take no policies, but one that retries. It leads to the policies that set headers, sign,
    log and call hooks. Those before it are not needed here.
    """

    def __init__(self, kind: Any, service: str, options: Mapping[str, Any]) -> None:
        super().__init__(kind, service, options)
        self.service = service
        # A policy of the SDK's clients of queues does so for each attempt
        self._names_requests = False
        package = import_module("azure.storage.queue")
        agent = UserAgentPolicy(sdk_moniker=f"storage-queue/{package.__version__}", **options).user_agent
        self.headers = {"x-ms-version": self.version, "Accept": "application/xml", "User-Agent": agent}
        self._new_client = partial(kind, service, **options)

    def _link(self, kind: Any, service: str, options: Mapping[str, Any]) -> Any:
        # The async package for queues does not export its policy; that of blobs is the same
        package = import_module("azure.storage.blob.aio" if is_async(kind) else "azure.storage.queue")
        self.policies = package.ExponentialRetry(**options)
        return kind(service, "unused", **options, retry_policy=self.policies)

    async def _by_sdk(self, prepared: Prepared, response: Any) -> Any:
        if 300 <= response.status_code < 400:
            # The policy that follows redirects is one of those before
            return await settled(prepared.by_sdk(self._new_client(prepared.name)))
        return await super()._by_sdk(prepared, response)

    def prepared_send(self, name: str, text: str, delay: int, lifetime: int) -> Prepared | None:
        """Return the request that sends a message; None if the SDK must send it."""
        if not _TEXT.fullmatch(text):
            return None
        content = (
            "<?xml version='1.0' encoding='utf-8'?>\n"
            f"<QueueMessage><MessageText>{escape(text)}</MessageText></QueueMessage>"
        )
        url = f"{self.service}/{name}/messages?visibilitytimeout={delay}&messagettl={lifetime}"
        headers = {"Content-Type": "application/xml", **self.headers}
        request = HttpRequest("POST", url, headers=headers, content=content.encode())
        by_sdk = partial(send_by_sdk, text, delay, lifetime)
        return Prepared(request, name, "QueueClient.send_message", by_sdk, partial(_read_messages, CREATED, text))

    def prepared_receive(self, name: str, count: int, lease: int) -> Prepared:
        _method_span()
        url = f"{self.service}/{name}/messages?numofmessages={count}&visibilitytimeout={lease}"
        request = HttpRequest("GET", url, headers=self.headers)
        by_sdk = partial(receive_by_sdk, count, lease)
        return Prepared(request, name, "QueueOperations.receive_messages", by_sdk, partial(_read_messages, OK, None))


# ------------------------------------------------------------------ responses


def _read_messages(
    status: int, sent_text: str | None, response: PipelineResponse[Any, Any], _: bytes
) -> list[Message] | Message | None:
    """Return the messages in a response, or the one that was sent; None if the SDK must read it."""
    answer = response.http_response
    if answer.status_code != status:
        return None
    content: bytes = answer.content if hasattr(answer, "content") else answer.body()
    messages: list[Message] = []
    try:
        document = _LIST.fullmatch(content.decode("utf-8-sig"))
        items: str = "" if document is None else document[1] or ""
        if document is None or _MESSAGE.sub("", items) or _CHANGED_BY_XML.search(items):
            return None
        text_of: Callable[[str], str] = partial(unescape, entities=_QUOTES) if "&" in items else str
        for id_, inserted, receipt, visible, deliveries, text in _MESSAGE.findall(items):
            times = parsedate_to_datetime(inserted), parsedate_to_datetime(visible)
            messages.append(Message(text_of(id_), text_of(text), *times, text_of(receipt), int(deliveries or 0)))
    except ValueError:
        return None
    if sent_text is None:
        return messages
    return replace(messages[0], text=sent_text, deliveries=0) if len(messages) == 1 else None


# ------------------------------------------------------------------ whether the installed SDK works this way


_ITEM: Final = (
    b"<QueueMessage><MessageId>1</MessageId><InsertionTime>Mon, 23 Nov 2026 21:00:00 GMT</InsertionTime>"
    b"<ExpirationTime>Mon, 30 Nov 2026 21:00:00 GMT</ExpirationTime><PopReceipt>a</PopReceipt>"
    b"<TimeNextVisible>Mon, 23 Nov 2026 21:00:30 GMT</TimeNextVisible>%s</QueueMessage>"
)
_DOCUMENT: Final = b'<?xml version="1.0" encoding="utf-8"?><QueueMessagesList>%s</QueueMessagesList>'
_RECEIVED: Final = _ITEM % b"<DequeueCount>1</DequeueCount><MessageText>&lt;</MessageText>"


class QueueAccountSender(AccountSender):
    """The request sender of an account's queues."""

    _sender_kind: ClassVar = QueueSender
    _unsupported: ClassVar = frozenset(
        {"proxies", "retry_policy", "retry_to_secondary", "secondary_hostname"}
        | {"encryption_version", "key_encryption_key", "key_resolver_function", "require_encryption"}
    )
    """Options of the policies before the one that retries, and of encryption."""
    _ignored: ClassVar = frozenset[str]()
    _trials: ClassVar = (
        Trial(
            canned_answer(201, "application/xml", _DOCUMENT % (_ITEM % b"")),
            lambda sender, name: [sender.prepared_send(name, "it's <b>", 5, 60)],
        ),
        Trial(
            canned_answer(200, "application/xml", _DOCUMENT % _RECEIVED),
            lambda sender, name: [sender.prepared_receive(name, 2, 30)],
        ),
    )
