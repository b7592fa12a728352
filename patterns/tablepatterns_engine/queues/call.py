"""One request to the Queue service: what its URL names, and the permission that it needs."""

from __future__ import annotations

from typing import Final

from .. import errors
from ..errors import ServiceError
from ..http.address import Kinds, Target, decode, kind_of, plain_kind, read_address
from ..http.call import Call
from ..http.permissions import Need, on_object
from ..http.supported import QUEUE_SUPPORT
from .service import Queues

_OF_SERVICE: Final[Kinds] = {
    (None, "list"): "list",
    ("service", "properties"): "properties",
    ("service", "stats"): "stats",
    ("service", "userdelegationkey"): "delegation key",
}
_OF_QUEUE: Final[Kinds] = {(None, None): "queue", (None, "metadata"): "metadata", (None, "acl"): "acl"}


def locate(url: str, account: str) -> Target:
    address = read_address(url, account)
    queue, *below = map(decode, address.tail[1:].split("/"))
    if not queue:
        return Target(address, kind_of(_OF_SERVICE, address.query))
    match below:
        case [] | [""]:
            return Target(address, kind_of(_OF_QUEUE, address.query), queue)
        case ["messages"] | ["messages", ""]:
            return Target(address, plain_kind("messages", address.query), queue)
        case ["messages", message]:
            return Target(address, plain_kind("message", address.query), queue, message)
        case _:
            raise ServiceError(errors.INVALID_URI)


class QueueCall(Call[Queues]):
    __slots__ = ()

    service = "Queue"
    support = QUEUE_SUPPORT

    def locate(self) -> None:
        self.target = locate(self.request.url, self.context.account_name)


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
