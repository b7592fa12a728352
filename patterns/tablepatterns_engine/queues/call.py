"""One request to the Queue service: what its URL names, and the permission that it needs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, NamedTuple, TypeAlias
from urllib.parse import unquote

from .. import errors
from ..errors import ServiceError
from ..http.address import NOWHERE, Address, read_address
from ..http.call import Call
from ..http.permissions import Need, on_object
from ..http.supported import QUEUE_SUPPORT
from ..resources import invalid_parameter
from .service import Queues

Kind: TypeAlias = Literal["service", "list", "properties", "stats", "queue", "metadata", "acl", "messages", "message"]

_OF_SERVICE: Final[Mapping[tuple[str | None, str | None], Kind]] = {
    (None, "list"): "list",
    ("service", "properties"): "properties",
    ("service", "stats"): "stats",
}
_OF_QUEUE: Final[Mapping[str | None, Kind]] = {None: "queue", "metadata": "metadata", "acl": "acl"}


class Target(NamedTuple):
    """The resource that a request names.

    :param message: the id of a message
    """

    address: Address
    kind: Kind
    queue: str = ""
    message: str = ""

    @property
    def resource(self) -> str:
        """The name of the queue, or ""."""
        return self.queue


UNKNOWN: Final = Target(NOWHERE, "service")
"""What is known about a request before its URL is read."""


def locate(url: str, account: str) -> Target:
    """Return the resource that a URL names.

    :raises ServiceError: InvalidUri if it is not a URL, or names nothing in this account; InvalidQueryParameterValue
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
            raise ServiceError(errors.INVALID_URI)


def _decoded(segment: str) -> str:
    if "%" not in segment:
        return segment
    try:
        return unquote(segment, errors="strict")
    except UnicodeDecodeError as error:
        raise ServiceError(errors.INVALID_URI) from error


def _service(query: Mapping[str, str]) -> Kind:
    kind = _OF_SERVICE.get((query.get("restype"), query.get("comp")))
    if kind is None:
        raise ServiceError(errors.INVALID_URI)
    return kind


def _queue(query: Mapping[str, str]) -> Kind:
    comp = query.get("comp")
    kind = _OF_QUEUE.get(comp)
    if kind is None:
        raise invalid_parameter("comp", comp)
    return kind


class QueueCall(Call[Target, Queues]):
    """A request to the Queue service."""

    __slots__ = ()

    service = "Queue"
    support = QUEUE_SUPPORT
    unknown = UNKNOWN

    def locate(self) -> None:
        """Read the URL."""
        self.target = locate(self.request.url, self.engine.account_name)

    def _state(self) -> Queues:
        return self.engine.queues


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
