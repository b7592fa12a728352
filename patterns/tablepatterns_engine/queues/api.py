"""The REST interface of the Queue service: what a URL names, the operations, and the permissions that they need."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Final

from tablepatterns.limits import MAX_PAGE_QUEUES

from .. import errors
from ..errors import ServiceError
from ..http.address import Kinds, Target, decode, kind_of, plain_kind, read_address
from ..http.api import Service
from ..http.authorization import SharedAccess
from ..http.call import Call
from ..http.headers import (
    http_date,
    metadata_headers,
    parse_flag,
    read_metadata,
    read_number,
    read_option,
    read_words,
    required_option,
)
from ..http.message import Response
from ..http.permissions import Need, on_object
from ..http.service_properties import (
    get_policies,
    get_properties,
    get_statistics,
    reject_unsupported,
    set_policies,
    set_properties,
)
from ..http.shared_key import storage_texts
from ..http.supported import QUEUE_SUPPORT
from ..http.xml import (
    XML,
    check_children,
    element,
    metadata_element,
    optional,
    read_document,
    storage_error,
    write_document,
    write_list,
    xml_text,
)
from .service import TIME_TO_LIVE, VISIBILITY_TIMEOUT, Message, Queues

_OF_SERVICE: Final[Kinds] = {
    (None, "list"): "list",
    ("service", "properties"): "properties",
    ("service", "stats"): "stats",
    ("service", "userdelegationkey"): "delegation key",
}
_OF_QUEUE: Final[Kinds] = {(None, None): "queue", (None, "metadata"): "metadata", (None, "acl"): "acl"}


class QueueCall(Call[Queues]):
    __slots__ = ()

    service = "Queue"
    support = QUEUE_SUPPORT

    def locate(self) -> None:
        address = read_address(self.request.url, self.context.account_name)
        queue, *below = map(decode, address.tail[1:].split("/"))
        message = ""
        match below if queue else []:
            case [] | [""]:
                kind = kind_of(_OF_QUEUE if queue else _OF_SERVICE, address.query)
            case ["messages"] | ["messages", ""]:
                kind = plain_kind("messages", address.query)
            case ["messages", message]:
                kind = plain_kind("message", address.query)
            case _:
                raise ServiceError(errors.INVALID_URI)
        self.target = Target(address, kind, queue, message)


LIST_QUEUES: Final = Need("s", ("l",))
CREATE_QUEUE: Final = Need("c", ("c", "w"))
DELETE_QUEUE: Final = Need("c", ("d",))
READ_METADATA: Final = Need("c", ("r",), ("r",))
WRITE_METADATA: Final = Need("c", ("w",))
PUT: Final = on_object("a")
GET: Final = on_object("p")
PEEK: Final = on_object("r")
UPDATE: Final = on_object("u")
DELETE: Final = on_object("p")
CLEAR: Final = Need("o", ("d",))
"""Only an account SAS can grant it: no SAS of a queue has the letter."""

_INCLUDES: Final = frozenset({"metadata"})


def list_queues(call: QueueCall) -> Response:
    call.begin("ListQueues", LIST_QUEUES)
    query, account = call.address.query, call.context.account_name
    includes = read_words(query, "include", _INCLUDES)
    start = read_marker(query.get("marker", ""), account)
    limit = read_number(query, "maxresults", MAX_PAGE_QUEUES)
    queues, following = call.state.page(query.get("prefix", ""), start, limit)
    call.notes.returned = len(queues)
    items = (
        element("Queue", optional("Name", queue.name), metadata_element(queue.metadata) if includes else "")
        for queue in queues
    )
    marker = "" if following is None else f"/{account}/{following}"
    return Response(200, {**XML}, write_list(call.address.base, "Queues", items, query, marker))


def create_queue(call: QueueCall) -> Response:
    """Create a queue; the response differs if an equal one exists."""
    call.begin("CreateQueue", CREATE_QUEUE)
    made = call.state.create(call.resource, read_metadata(call.request))
    return Response(201 if made else 204, {})


def delete_queue(call: QueueCall) -> Response:
    call.begin("DeleteQueue", DELETE_QUEUE)
    call.state.delete(call.resource)
    return Response(204, {})


def get_metadata(call: QueueCall) -> Response:
    call.begin("GetQueueMetadata", READ_METADATA)
    metadata = metadata_headers(call.state.get_metadata(call.resource))
    count = call.state.count(call.resource)
    return Response(200, {"x-ms-approximate-messages-count": str(count), **metadata})


def set_metadata(call: QueueCall) -> Response:
    call.begin("SetQueueMetadata", WRITE_METADATA)
    call.state.set_metadata(call.resource, read_metadata(call.request))
    return Response(204, {})


def put_message(call: QueueCall) -> Response:
    call.begin("PutMessage", PUT)
    query = call.address.query
    visibility = read_number(query, "visibilitytimeout", 0)
    time_to_live = read_number(query, "messagettl", TIME_TO_LIVE)
    text = read_text(call.request.body)
    message = call.state.put(call.resource, text, visibility=visibility, time_to_live=time_to_live)
    return Response(201, {**XML}, write_messages([message], has_texts=False))


def get_messages(call: QueueCall) -> Response:
    query = call.address.query
    is_peeking = "peekonly" in query and read_option(query, "peekonly", parse_flag)
    call.begin(*(("PeekMessages", PEEK) if is_peeking else ("GetMessages", GET)))
    limit = read_number(query, "numofmessages", 1)
    if is_peeking:
        messages = call.state.peek(call.resource, limit)
    else:
        messages = call.state.get(call.resource, limit, read_number(query, "visibilitytimeout", VISIBILITY_TIMEOUT))
    call.notes.examined = call.notes.returned = len(messages)
    return Response(200, {**XML, "Vary": "Origin"}, write_messages(messages, has_receipts=not is_peeking))


def update_message(call: QueueCall) -> Response:
    """Extend the invisibility of a message; a body replaces its text."""
    call.begin("UpdateMessage", UPDATE)
    query, target, body = call.address.query, call.target, call.request.body
    receipt, visibility = required_option(query, "popreceipt"), read_number(query, "visibilitytimeout")
    text = read_text(body) if body else None
    message = call.state.update(target.resource, target.item, receipt, visibility, text)
    return Response(204, {"x-ms-popreceipt": message.receipt, "x-ms-time-next-visible": http_date(message.visible)})


def delete_message(call: QueueCall) -> Response:
    call.begin("DeleteMessage", DELETE)
    receipt = required_option(call.address.query, "popreceipt")
    call.state.remove(call.resource, call.target.item, receipt)
    return Response(204, {})


def clear_messages(call: QueueCall) -> Response:
    call.begin("ClearMessages", CLEAR)
    call.state.clear(call.resource)
    return Response(204, {})


def read_marker(marker: str, account: str) -> str:
    """Return the first name of a page, "" if there is no marker."""
    if not marker:
        return ""
    empty, owner, name = (*marker.split("/", 2), "", "")[:3]
    if empty or owner != account or not name:
        raise ServiceError(errors.INVALID_MARKER)
    return name


def read_text(body: bytes) -> str:
    """Return the message text in a request's body, without markup but with its content."""
    root = read_document(body, "QueueMessage")
    check_children(root, {"MessageText"})
    node = root.find("MessageText")
    if node is None:
        raise ServiceError(errors.MISSING_XML_NODE)
    return "".join(node.itertext())


def write_messages(messages: Iterable[Message], *, has_receipts: bool = True, has_texts: bool = True) -> bytes:
    """Return received messages as a document; those of a peek have no receipts, and a sent one has no text."""
    items: list[str] = []
    for message in messages:
        content = f"<MessageId>{message.id}</MessageId><InsertionTime>{http_date(message.inserted)}</InsertionTime>"
        content += f"<ExpirationTime>{http_date(message.expires)}</ExpirationTime>"
        if has_receipts:
            visible = http_date(message.visible)
            content += f"<PopReceipt>{message.receipt}</PopReceipt><TimeNextVisible>{visible}</TimeNextVisible>"
        if has_texts:
            text = element("MessageText", xml_text(message.text))
            content += f"<DequeueCount>{message.dequeues}</DequeueCount>{text}"
        items.append(element("QueueMessage", content))
    return write_document(element("QueueMessagesList", *items))


_HANDLERS: Final[dict[tuple[str, str], Callable[[QueueCall], Response]]] = {
    ("list", "GET"): list_queues,
    ("properties", "GET"): get_properties,
    ("properties", "PUT"): set_properties,
    ("stats", "GET"): get_statistics,
    ("delegation key", "POST"): reject_unsupported,
    ("queue", "PUT"): create_queue,
    ("queue", "DELETE"): delete_queue,
    ("metadata", "GET"): get_metadata,
    ("metadata", "HEAD"): get_metadata,
    ("metadata", "PUT"): set_metadata,
    ("acl", "GET"): get_policies,
    ("acl", "HEAD"): get_policies,
    ("acl", "PUT"): set_policies,
    ("messages", "GET"): get_messages,
    ("messages", "POST"): put_message,
    ("messages", "DELETE"): clear_messages,
    ("message", "PUT"): update_message,
    ("message", "DELETE"): delete_message,
}


class _QueueAccess(SharedAccess):
    service = "queue"
    letters = re.compile("(?=.)r?a?u?p?")


QUEUES: Final = Service(
    QueueCall.service,
    QueueCall,
    _HANDLERS,
    storage_error,
    _QueueAccess,
    storage_texts,
    read_headers={"Cache-Control": "no-cache"},
    writes={"PutMessage", "UpdateMessage", "DeleteMessage"},
)
