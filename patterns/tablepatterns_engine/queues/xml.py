"""XML of queue lists and messages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from .. import errors
from ..errors import ServiceError
from ..http.headers import http_date
from ..http.xml import element, optional, read_document, write_document, xml_text
from .service import Listed
from .state import Message


def read_marker(marker: str, account: str) -> str:
    """Return the first name of a page, "" if there is no marker.

    :raises ServiceError: InvalidMarker if it is not a marker of this account
    """
    if not marker:
        return ""
    empty, owner, name = (*marker.split("/", 2), "", "")[:3]
    if empty or owner != account or not name:
        raise ServiceError(errors.INVALID_MARKER)
    return name


def write_list(
    queues: Iterable[Listed], base: str, query: Mapping[str, str], account: str, following: str | None
) -> bytes:
    """Return a page of queues.

    :param base: the account's endpoint
    :param query: the options of the request, which are in the response too
    :param following: the first name of the next page; None on the last
    """
    with_metadata = "metadata" in query.get("include", "").split(",")
    option_elements = [
        optional("Prefix", query.get("prefix")),
        optional("Marker", query.get("marker")),
        optional("MaxResults", query.get("maxresults")),
    ]
    queue_elements = element("Queues", *(_queue(queue, with_metadata) for queue in queues))
    marker = element("NextMarker", "" if following is None else f"/{account}/{following}")
    endpoint = xml_text(f"{base}/").replace('"', "&quot;")
    content = "".join([*option_elements, queue_elements, marker])
    return write_document(f'<EnumerationResults ServiceEndpoint="{endpoint}">{content}</EnumerationResults>')


def _queue(queue: Listed, with_metadata: bool) -> str:
    metadata = element("Metadata", *(optional(*pair) for pair in queue.metadata.items())) if with_metadata else ""
    return element("Queue", optional("Name", queue.name), metadata)


def read_text(body: bytes) -> str:
    """Return the message text in a request's body, without markup but with its content.

    :raises ServiceError: InvalidXmlDocument, MissingRequiredXmlNode
    """
    node = read_document(body, "QueueMessage").find("MessageText")
    if node is None:
        raise ServiceError(errors.MISSING_XML_NODE)
    return "".join(node.itertext())


def write_put(message: Message) -> bytes:
    return _write_messages([element("QueueMessage", _identity(message), _hold(message))])


def write_received(messages: Iterable[Message]) -> bytes:
    return _write_messages(
        element("QueueMessage", _identity(message), _hold(message), _content(message)) for message in messages
    )


def write_peeked(messages: Iterable[Message]) -> bytes:
    return _write_messages(element("QueueMessage", _identity(message), _content(message)) for message in messages)


def _write_messages(messages: Iterable[str]) -> bytes:
    return write_document(element("QueueMessagesList", *messages))


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
