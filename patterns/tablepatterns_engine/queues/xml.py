"""XML of queue lists and messages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from .. import errors
from ..errors import ServiceError
from ..http.headers import http_date
from ..http.xml import element, metadata_element, optional, read_document, write_document, write_list, xml_text
from .service import Listed
from .state import Message


def read_marker(marker: str, account: str) -> str:
    """Return the first name of a page, "" if there is no marker."""
    if not marker:
        return ""
    empty, owner, name = (*marker.split("/", 2), "", "")[:3]
    if empty or owner != account or not name:
        raise ServiceError(errors.INVALID_MARKER)
    return name


def write_queues(
    queues: Iterable[Listed], base: str, query: Mapping[str, str], account: str, following: str | None
) -> bytes:
    """Return a page of queues; `following` is the first name of the next page, None on the last."""
    with_metadata = "metadata" in query.get("include", "").split(",")
    items = (
        element("Queue", optional("Name", queue.name), metadata_element(queue.metadata) if with_metadata else "")
        for queue in queues
    )
    return write_list(base, "Queues", items, query, "" if following is None else f"/{account}/{following}")


def read_text(body: bytes) -> str:
    """Return the message text in a request's body, without markup but with its content."""
    node = read_document(body, "QueueMessage").find("MessageText")
    if node is None:
        raise ServiceError(errors.MISSING_XML_NODE)
    return "".join(node.itertext())


def write_messages(messages: Iterable[Message], *, has_receipts: bool = True, has_texts: bool = True) -> bytes:
    """Return received messages as a document; those of a peek have no receipts, and a sent one has no text."""
    items: list[str] = []
    for message in messages:
        receipt, text = _hold(message) if has_receipts else "", _content(message) if has_texts else ""
        items.append(element("QueueMessage", _identity(message), receipt, text))
    return write_document(element("QueueMessagesList", *items))


def _identity(message: Message) -> str:
    return (
        f"<MessageId>{message.id}</MessageId><InsertionTime>{http_date(message.inserted)}</InsertionTime>"
        f"<ExpirationTime>{http_date(message.expires)}</ExpirationTime>"
    )


def _hold(message: Message) -> str:
    visible = http_date(message.visible)
    return f"<PopReceipt>{message.receipt}</PopReceipt><TimeNextVisible>{visible}</TimeNextVisible>"


def _content(message: Message) -> str:
    text = element("MessageText", xml_text(message.text))
    return f"<DequeueCount>{message.dequeues}</DequeueCount>{text}"
