"""From a URL to what it names in the Queue service: the service itself, a queue, or its messages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, NamedTuple, TypeAlias
from urllib.parse import unquote

from ...parameters import invalid_parameter
from ...refusal import Refusal
from ..address import NOWHERE, Address, read_address
from ..texts import INVALID_URI

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
