"""Messages in XML."""

from __future__ import annotations

from collections.abc import Iterable

from ...message import Message
from ...refusal import Refusal
from ...texts import MISSING_XML_NODE
from ..moments import http_date
from ..xml_document import element, read_document, write_document, xml_text


def read_text(body: bytes) -> str:
    """Return the text of the message in the body of a request; markup in it is left out, what it encloses stays.

    :raises Refusal: InvalidXmlDocument, MissingRequiredXmlNode
    """
    node = read_document(body, "QueueMessage").find("MessageText")
    if node is None:
        raise Refusal(MISSING_XML_NODE)
    return "".join(node.itertext())


def write_put(message: Message) -> bytes:
    """Return what the sender of a message is told."""
    return _written([element("QueueMessage", _identity(message), _hold(message))])


def write_received(messages: Iterable[Message]) -> bytes:
    """Return messages for their receiver."""
    return _written(
        element("QueueMessage", _identity(message), _hold(message), _content(message)) for message in messages
    )


def write_peeked(messages: Iterable[Message]) -> bytes:
    """Return messages for someone who only looks at them: nothing in it gives power over them."""
    return _written(element("QueueMessage", _identity(message), _content(message)) for message in messages)


def _written(messages: Iterable[str]) -> bytes:
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
