"""From a URL to the account's endpoint and what follows it, in host style and in path style."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple
from urllib.parse import unquote_plus

from .. import errors
from ..errors import ServiceError

_SECONDARY: Final = "-secondary"
_URL: Final = re.compile(r"(https?)://([^/?#]+)([^?#]*)(?:\?([^#]*))?(?:#.*)?", re.IGNORECASE | re.DOTALL)


class Address(NamedTuple):
    """Where a request came in, and what its URL says beyond that.

    :param base: the account's endpoint as the client wrote it, without a slash at the end
    :param secure: whether it came over https
    :param secondary: whether it went to the secondary, which only reads
    :param path: the whole path, still percent-encoded, as it is signed
    :param query: the query options, decoded
    :param tail: the path below the endpoint, still percent-encoded
    """

    base: str
    secure: bool
    secondary: bool
    path: str
    query: Mapping[str, str]
    tail: str


NOWHERE: Final = Address("", secure=False, secondary=False, path="/", query={}, tail="/")
"""What is known of a request before its URL is read."""


def read_address(url: str, account: str) -> Address:
    """Return where a request came in.

    :raises ServiceError: InvalidUri where it is no URL, or not of this account
    """
    found = _URL.fullmatch(url)
    if not found:
        raise ServiceError(errors.INVALID_URI)
    scheme, host, path, options = found.groups()
    base, secondary, tail = _endpoint(f"{scheme}://{host}", host, path, account)
    return Address(base, scheme.lower() == "https", secondary, path or "/", _query(options) if options else {}, tail)


def _endpoint(site: str, host: str, path: str, account: str) -> tuple[str, bool, str]:
    """Return the endpoint, whether it is the secondary one, and the path below it."""
    label = host.partition(".")[0].lower()
    if label in (account, account + _SECONDARY):
        return site, label != account, path
    name, slash, rest = path[1:].partition("/")
    if name in (account, account + _SECONDARY):
        return f"{site}/{name}", name != account, slash + rest
    raise ServiceError(errors.INVALID_URI)


def _query(options: str) -> dict[str, str]:
    query: dict[str, str] = {}
    for pair in options.split("&"):
        name, _, value = pair.partition("=")
        query[_decoded_option(name)] = _decoded_option(value)
    return query


def _decoded_option(text: str) -> str:
    if "%" not in text and "+" not in text:
        return text
    try:
        return unquote_plus(text, errors="strict")
    except UnicodeDecodeError as error:
        raise ServiceError(errors.INVALID_URI) from error
