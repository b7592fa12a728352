"""The REST interface of the Queue service: authorize a request, run its operation, write the ledger record."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final, Literal, NamedTuple, TypeAlias
from urllib.parse import unquote

from ...edm import Ticks
from ...limits import DEFAULT_TIME_TO_LIVE, DEFAULT_VISIBILITY_TIMEOUT, MAX_PAGE_QUEUES
from ..account import Engine
from ..errors import Refusal
from ..http.address import NOWHERE, Address, read_address
from ..http.api import Api, Service
from ..http.authorization import Authorization
from ..http.bearer_token import TrustTokens
from ..http.call import Call
from ..http.errors import INVALID_URI, Refusals
from ..http.headers import http_date, metadata_headers, read_metadata, read_number, read_words, required
from ..http.message import Request, Response
from ..http.permissions import Need, Permit, ResourcePermit, on_object
from ..http.sas import SharedAccess
from ..http.service_properties import get_policies, get_properties, get_statistics, set_policies, set_properties
from ..http.shared_key import storage_texts
from ..http.supported import QUEUE_SUPPORT
from ..resources import invalid_parameter
from .service import Queues
from .xml import read_marker, read_text, write_list, write_peeked, write_put, write_received

Kind: TypeAlias = Literal["service", "list", "properties", "stats", "queue", "metadata", "acl", "messages", "message"]

_OF_SERVICE: Final[Mapping[tuple[str | None, str | None], Kind]] = {
    (None, "list"): "list",
    ("service", "properties"): "properties",
    ("service", "stats"): "stats",
}
_OF_QUEUE: Final[Mapping[str | None, Kind]] = {None: "queue", "metadata": "metadata", "acl": "acl"}


class Target(NamedTuple):
    """What a request is about.

    :param message: the id of a message
    """

    address: Address
    kind: Kind
    queue: str = ""
    message: str = ""


UNKNOWN: Final = Target(NOWHERE, "service")
"""What is known of a request before its URL is read."""


def locate(url: str, account: str) -> Target:
    """Return what a URL is about.

    :raises Refusal: InvalidUri where it is no URL, or names nothing in this account; InvalidQueryParameterValue
    """
    address = read_address(url, account)
    queue, *below = map(_decoded, address.tail[1:].split("/"))
    if not queue:
        return Target(address, _service(address.query))
    match below:
        case [] | [""]:
            return Target(address, _queue(address.query), queue)
        case ["messages"] | ["messages", ""]:
            return Target(address, "messages", queue)
        case ["messages", message]:
            return Target(address, "message", queue, message)
        case _:
            raise Refusal(INVALID_URI)


def _decoded(segment: str) -> str:
    if "%" not in segment:
        return segment
    try:
        return unquote(segment, errors="strict")
    except UnicodeDecodeError as error:
        raise Refusal(INVALID_URI) from error


def _service(query: Mapping[str, str]) -> Kind:
    kind = _OF_SERVICE.get((query.get("restype"), query.get("comp")))
    if kind is None:
        raise Refusal(INVALID_URI)
    return kind


def _queue(query: Mapping[str, str]) -> Kind:
    comp = query.get("comp")
    kind = _OF_QUEUE.get(comp)
    if kind is None:
        raise invalid_parameter("comp", comp)
    return kind


class QueueCall(Call):
    """A request to the Queue service.

    :param target: what it is about, once its URL is read
    """

    __slots__ = ("target",)

    service = "Queue"
    support = QUEUE_SUPPORT

    def __init__(self, engine: Engine, request: Request, id: str, now: Ticks) -> None:  # noqa: A002
        super().__init__(engine, request, id, now)
        self.target = UNKNOWN

    def locate(self) -> None:
        """Read the URL."""
        self.target = locate(self.request.url, self.engine.account_name)

    @property
    def address(self) -> Address:
        """Where it came in."""
        return self.target.address

    @property
    def kind(self) -> str:
        """What its URL names."""
        return self.target.kind

    @property
    def resource(self) -> str:
        """The queue that it is about."""
        return self.target.queue

    @property
    def queues(self) -> Queues:
        """The state that the operations work on."""
        self.reach_state()
        return self.engine.queues

    @property
    def settings(self) -> Queues:
        """The state of the service."""
        return self.queues


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
"""Only an account's signature reaches it: no signature of a queue has the letter."""


_INCLUDES: Final = frozenset({"metadata"})
_FRESH: Final = {"Cache-Control": "no-cache"}


def list_queues(call: QueueCall) -> Response:
    """Return a page of the list of queues."""
    call.begin("ListQueues", LIST_QUEUES)
    query, account = call.address.query, call.engine.account_name
    read_words(query, "include", _INCLUDES)
    start = read_marker(query.get("marker", ""), account)
    limit = read_number(query, "maxresults", MAX_PAGE_QUEUES)
    queues, following = call.queues.page(query.get("prefix", ""), start, limit)
    call.notes.returned = len(queues)
    body = write_list(queues, call.address.base, query, account, following)
    return Response(200, {**_FRESH, "Content-Type": "application/xml"}, body)


def create_queue(call: QueueCall) -> Response:
    """Create a queue; one that is already as it is asked for is an answer of its own."""
    call.begin("CreateQueue", CREATE_QUEUE)
    made = call.queues.create(call.target.queue, read_metadata(call.request))
    return Response(201 if made else 204, {})


def delete_queue(call: QueueCall) -> Response:
    """Delete a queue."""
    call.begin("DeleteQueue", DELETE_QUEUE)
    call.queues.delete(call.target.queue)
    return Response(204, {})


def get_metadata(call: QueueCall) -> Response:
    """Return the metadata of a queue, and how many messages it holds."""
    call.begin("GetQueueMetadata", READ_METADATA)
    metadata = metadata_headers(call.queues.get_metadata(call.target.queue))
    count = call.queues.count(call.target.queue)
    return Response(200, {**_FRESH, "x-ms-approximate-messages-count": str(count), **metadata})


def set_metadata(call: QueueCall) -> Response:
    """Replace the metadata of a queue."""
    call.begin("SetQueueMetadata", WRITE_METADATA)
    call.queues.set_metadata(call.target.queue, read_metadata(call.request))
    return Response(204, {})


_XML: Final = {"Content-Type": "application/xml"}
_FRESH_XML: Final = {**_XML, "Cache-Control": "no-cache", "Vary": "Origin"}
_TIME_TO_LIVE: Final = int(DEFAULT_TIME_TO_LIVE.total_seconds())
_VISIBILITY: Final = int(DEFAULT_VISIBILITY_TIMEOUT.total_seconds())


def put_message(call: QueueCall) -> Response:
    """Add a message."""
    call.begin("PutMessage", PUT)
    query = call.address.query
    visibility = read_number(query, "visibilitytimeout", 0)
    time_to_live = read_number(query, "messagettl", _TIME_TO_LIVE)
    text = read_text(call.request.body)
    message = call.queues.put(call.target.queue, text, visibility=visibility, time_to_live=time_to_live)
    call.notes.written = 1
    return Response(201, {**_XML}, write_put(message))


def get_messages(call: QueueCall) -> Response:
    """Receive messages, or look at them."""
    peeking = call.address.query.get("peekonly", "").lower() == "true"
    return _peek(call) if peeking else _get(call)


def _get(call: QueueCall) -> Response:
    call.begin("GetMessages", GET)
    query = call.address.query
    limit = read_number(query, "numofmessages", 1)
    messages = call.queues.get(call.target.queue, limit, read_number(query, "visibilitytimeout", _VISIBILITY))
    call.notes.examined = call.notes.returned = len(messages)
    return Response(200, {**_FRESH_XML}, write_received(messages))


def _peek(call: QueueCall) -> Response:
    call.begin("PeekMessages", PEEK)
    messages = call.queues.peek(call.target.queue, read_number(call.address.query, "numofmessages", 1))
    call.notes.examined = call.notes.returned = len(messages)
    return Response(200, {**_FRESH_XML}, write_peeked(messages))


def update_message(call: QueueCall) -> Response:
    """Hide a message anew; a body replaces its text."""
    call.begin("UpdateMessage", UPDATE)
    query, target, body = call.address.query, call.target, call.request.body
    receipt, visibility = required(query, "popreceipt"), read_number(query, "visibilitytimeout")
    text = read_text(body) if body else None
    message = call.queues.update(target.queue, target.message, receipt, visibility, text)
    call.notes.written = 1
    return Response(204, {"x-ms-popreceipt": message.receipt, "x-ms-time-next-visible": http_date(message.visible)})


def delete_message(call: QueueCall) -> Response:
    """Delete a message."""
    call.begin("DeleteMessage", DELETE)
    receipt = required(call.address.query, "popreceipt")
    call.queues.remove(call.target.queue, call.target.message, receipt)
    call.notes.written = 1
    return Response(204, {})


def clear_messages(call: QueueCall) -> Response:
    """Delete all messages of a queue."""
    call.begin("ClearMessages", CLEAR)
    call.queues.clear(call.target.queue)
    return Response(204, {})


_LETTERS: Final = re.compile("(?=.)r?a?u?p?")
_FIELDS: Final = ("si", "sip", "spr", "sv")


class QueueAccess(SharedAccess):
    """Checks the signatures in the queries of requests to the Queue service."""

    service = "q"
    letters = _LETTERS

    def resource(self, call: Call) -> str:
        """Return the queue that the request is about: the signature does not name its own."""
        return call.resource

    def text(self, query: Mapping[str, str], resource: str) -> str:
        """Return what such a signature signs."""
        head = [query.get("sp", ""), query.get("st", ""), query.get("se", ""), f"/queue/{self.account}/{resource}"]
        return "\n".join(head + [query.get(name, "") for name in _FIELDS])

    def granted(self, resource: str, letters: frozenset[str], query: Mapping[str, str]) -> Permit:
        """Return what a valid signature allows."""
        return ResourcePermit(resource, letters)


_Handler: TypeAlias = Callable[[QueueCall], Response]

_HANDLERS: Final[dict[tuple[str, str], _Handler]] = {
    ("list", "GET"): list_queues,
    ("properties", "GET"): get_properties,
    ("properties", "PUT"): set_properties,
    ("stats", "GET"): get_statistics,
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


def _refuse(call: QueueCall, refusal: Refusal) -> Response:
    return Refusals(call.id, call.now).of_storage(refusal)


_QUEUES: Final = Service(QueueCall.service, QueueCall, _HANDLERS, _refuse)


class QueueApi(Api[QueueCall]):
    """Answer requests to the Queue service of one account; threads may share it.

    Every request gets an answer: what is malformed, forbidden or unknown gets the service's refusal.

    >>> from tablepatterns.engine.rest.message import Request
    >>> api = QueueApi(Engine("contoso"))
    >>> response = api.answer(Request("GET", "https://contoso.queue.core.windows.net/?comp=list", {}))
    >>> response.status, response.headers["x-ms-error-code"]
    (401, 'NoAuthenticationInformation')

    :param engine: the account
    :param trust_tokens: whether bearer tokens over https are accepted as the owner's; "checked" accepts a JWT for this
        account or for Azure Storage that has not expired, without verifying its signature
    """

    def __init__(self, engine: Engine, *, trust_tokens: TrustTokens = False) -> None:
        authorization = Authorization(
            engine, QueueAccess(engine, engine.queues), storage_texts, trust_tokens=trust_tokens
        )
        super().__init__(engine, _QUEUES, authorization)
