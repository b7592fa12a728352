"""From a URL to what it names in the Blob service: the service itself, a container, or a blob."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple
from urllib.parse import unquote

from ...parameters import invalid_parameter
from ...refusal import Refusal
from ..address import NOWHERE, Address, read_address
from ..texts import INVALID_URI

ROOT: Final = "$root"
"""The container of blobs whose URL names none."""

_OF_SERVICE: Final[Mapping[tuple[str | None, str | None], str]] = {
    (None, "list"): "containers",
    (None, "batch"): "batch",
    # BlobBatchClient of the SDK for Node takes the account in a path-style URL for a container
    ("container", "batch"): "batch",
    (None, "blobs"): "search",
    ("service", "properties"): "properties",
    ("service", "stats"): "stats",
    ("service", "userdelegationkey"): "delegation key",
    ("account", "properties"): "account",
}
_OF_CONTAINER: Final[Mapping[str | None, str]] = {
    None: "container",
    "metadata": "container metadata",
    "acl": "container acl",
    "lease": "container lease",
    "list": "blobs",
    "batch": "batch",
    "blobs": "search",
    "rename": "unknown",
    "undelete": "unknown",
}
_OF_BLOB: Final[Mapping[str | None, str]] = {
    None: "blob",
    "metadata": "metadata",
    "properties": "headers",
    "lease": "lease",
    "snapshot": "snapshot",
    "block": "block",
    "blocklist": "block list",
    "appendblock": "append block",
    "seal": "seal",
    "copy": "copy",
    "tier": "tier",
    "tags": "tags",
    **dict.fromkeys(("page", "pagelist", "incrementalcopy", "query", "undelete", "expiry"), "unknown"),
    **dict.fromkeys(("immutabilityPolicies", "legalhold"), "unknown"),
}


class Target(NamedTuple):
    """What a request is about.

    :param kind: what its URL names; "unknown" is an operation of the service that the engine does not have
    """

    address: Address
    kind: str
    container: str = ""
    blob: str = ""


UNKNOWN: Final = Target(NOWHERE, "service")
"""What is known of a request before its URL is read."""


def locate(url: str, account: str) -> Target:
    """Return what a URL is about.

    :raises Refusal: InvalidUri where it is no URL, or names nothing in this account; InvalidQueryParameterValue
    """
    address = read_address(url, account)
    query = address.query
    first, _, rest = address.tail[1:].partition("/")
    container, blob = _decoded(first), _decoded(rest)
    if query.get("restype") == "account" and query.get("comp") == "properties":
        return Target(address, "account", container, blob)
    if not container:
        return Target(address, _of_service(query))
    if query.get("restype") == "container":
        return Target(address, _kind(_OF_CONTAINER, query), container)
    if not blob:
        container, blob = ROOT, container
    return Target(address, _kind(_OF_BLOB, query), container, blob)


def _decoded(text: str) -> str:
    if "%" not in text:
        return text
    try:
        return unquote(text, errors="strict")
    except UnicodeDecodeError as error:
        raise Refusal(INVALID_URI) from error


def _of_service(query: Mapping[str, str]) -> str:
    kind = _OF_SERVICE.get((query.get("restype"), query.get("comp")))
    if kind is None:
        raise Refusal(INVALID_URI)
    return kind


def _kind(kinds: Mapping[str | None, str], query: Mapping[str, str]) -> str:
    comp = query.get("comp")
    kind = kinds.get(comp)
    if kind is None:
        raise invalid_parameter("comp", comp)
    return kind
