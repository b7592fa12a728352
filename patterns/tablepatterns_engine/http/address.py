"""Split URLs into the account's endpoint and the rest, in host style and in path style."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, TypeAlias
from urllib.parse import unquote

from .. import errors
from ..errors import ErrorMessage, ServiceError
from ..resources import invalid_parameter

_SECONDARY: Final = "-secondary"
_LIST_OPTION: Final = "include"
_SITE: Final = re.compile(r"(https?)://([^/]+)", re.IGNORECASE | re.DOTALL)


@dataclass(slots=True, eq=False)
class Address:
    """The address of a request. Not a tuple, which takes longer to create.

    :param base: the account's endpoint as in the request, without a trailing slash
    :param secondary: whether it is the secondary endpoint, which is read-only
    :param query: the query options, decoded
    :param repeated: the name of an option that is given more than once, other than a list
    :param tail: the path below the endpoint, still percent-encoded
    """

    base: str
    secure: bool
    secondary: bool
    query: Mapping[str, str]
    tail: str
    repeated: str | None = None

    def check_options(self) -> None:
        """Reject an option that is given more than once; what the service would do then is not documented."""
        name = self.repeated
        if name is not None:
            is_odata = name.startswith("$")
            raise ServiceError(errors.QUERY_SYNTAX) if is_odata else invalid_parameter(name, self.query[name])


@dataclass(slots=True, eq=False)
class Target:
    """What the URL of a request names; kind and verb determine the operation.

    :param resource: the table, queue or container, "" if there is none
    :param item: the message, the blob, or the rest of a path below a table
    """

    address: Address
    kind: str
    resource: str = ""
    item: str = ""
    partition_key: str = ""
    row_key: str = ""


UNKNOWN: Final = Target(Address("", secure=False, secondary=False, query={}, tail="/"), "service")
"""What is known about a request before its URL is read."""


def read_address(url: str, account: str) -> Address:
    location, _, options = url.partition("#")[0].partition("?")
    tail = path_of(location)
    base = location.removesuffix(tail)
    secure, secondary = _site(base, account)
    if secondary is None:
        name, slash, rest = tail[1:].partition("/")
        if name not in (account, account + _SECONDARY):
            raise ServiceError(errors.INVALID_URI)
        base, secondary, tail = f"{base}/{name}", name != account, slash + rest
    query, repeated = _query(options) if options else ({}, None)
    return Address(base, secure, secondary, query, tail, repeated)


def absolute(url: str, base: str) -> str:
    """Return the URL of a request inside a batch, which may be relative to the batch's endpoint or to its host.

    >>> absolute("Employees", "http://127.0.0.1/contoso"), absolute("/contoso/Employees", "http://127.0.0.1/contoso")
    ('http://127.0.0.1/contoso/Employees', 'http://127.0.0.1/contoso/Employees')
    """
    if "://" in url[:8]:
        return url
    site = "/".join(base.split("/", 3)[:3])
    return site + url if url.startswith("/") else f"{base}/{url}"


def decode(text: str, error: ErrorMessage = errors.INVALID_URI) -> str:
    if "%" not in text:
        return text
    try:
        return unquote(text, errors="strict")
    except UnicodeDecodeError as cause:
        raise ServiceError(error) from cause


Kinds: TypeAlias = Mapping[tuple[str | None, str | None], str]
"""What a URL names, by the options `restype` and `comp`."""


def kind_of(kinds: Kinds, query: Mapping[str, str]) -> str:
    restype, comp = query.get("restype"), query.get("comp")
    kind = kinds.get((restype, comp))
    if kind is None:
        name = "comp" if any(restype == kind for kind, _ in kinds) else "restype"
        raise invalid_parameter(name, query.get(name, ""), "")
    return kind


def plain_kind(kind: str, query: Mapping[str, str]) -> str:
    """Return the kind of a URL that has neither of the two options."""
    return kind_of({(None, None): kind}, query) if query else kind


def path_of(url: str) -> str:
    """Return the whole path of a URL, percent-encoded, as signed.

    >>> path_of("http://127.0.0.1:10002/contoso/Employees()?$top=1"), path_of("https://contoso.table.core.windows.net")
    ('/contoso/Employees()', '')
    """
    location = url.partition("#")[0].partition("?")[0]
    start = location.find("/", len("https://"))
    return "" if start < 0 else location[start:]


@lru_cache(maxsize=256)
def _site(base: str, account: str) -> tuple[bool, bool | None]:
    """Return whether a URL is one of https, and of the secondary endpoint; None if its path names the account."""
    match = _SITE.fullmatch(base)
    if not match:
        raise ServiceError(errors.INVALID_URI)
    scheme, host = match.groups()
    label = host.partition(".")[0].lower()
    is_host_style = label in (account, account + _SECONDARY)
    return scheme.lower() == "https", label != account if is_host_style else None


def _query(options: str) -> tuple[dict[str, str], str | None]:
    """Return the options by name, and the name of one that is repeated, other than a list.

    Repeated values are joined in the order of their signature.
    """
    pairs: list[tuple[str, str]] = []
    for pair in options.replace("+", " ").split("&"):
        name, _, value = pair.partition("=")
        pairs.append((decode(name), decode(value)))
    query = dict(pairs)
    if len(query) == len(pairs):
        return query, None
    counts = Counter(name for name, _ in pairs)
    repeated = next((name for name in query if counts[name] > 1 and name != _LIST_OPTION), None)
    return {name: ",".join(value for other, value in sorted(pairs) if other == name) for name in query}, repeated
