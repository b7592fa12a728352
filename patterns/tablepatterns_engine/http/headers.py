"""Metadata, timestamps and query options of requests and responses."""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping, Set
from email.utils import format_datetime
from functools import lru_cache
from typing import Final, TypeVar

from tablepatterns.edm import Ticks
from tablepatterns.limits import INT32_MAX, INT32_MIN

from .. import errors
from ..clock import SECOND
from ..errors import ServiceError
from ..resources import invalid_parameter
from .message import Request

T = TypeVar("T")

_PREFIX: Final = "x-ms-meta-"


def read_metadata(request: Request) -> dict[str, str]:
    """Return the metadata in the headers of a request, with names spelled as sent."""
    headers = request.headers
    return {
        name[len(_PREFIX) :]: headers[name.lower()].strip()
        for name in request.names
        if name.lower().startswith(_PREFIX)
    }


def metadata_headers(metadata: Mapping[str, str]) -> dict[str, str]:
    return {_PREFIX + name: value for name, value in metadata.items()}


def http_date(moment: Ticks) -> str:
    """Return an instant as an HTTP date, in whole seconds and independent of the locale."""
    return _http_date(moment // SECOND)


@lru_cache(maxsize=16)
def _http_date(seconds: int) -> str:
    return format_datetime(Ticks(seconds * SECOND).datetime(), usegmt=True)


def seven_digits(moment: Ticks) -> str:
    return f"{moment.iso()[:19]}.{int(moment) % SECOND:07d}Z"


_NUMBER: Final = re.compile(r"-?\d{1,18}", re.ASCII)


def required_option(query: Mapping[str, str], name: str) -> str:
    text = query.get(name)
    if text is None:
        raise ServiceError(errors.MISSING_QUERY_PARAMETER.with_details(QueryParameterName=name))
    return text


def read_words(query: Mapping[str, str], name: str, allowed: Set[str]) -> Set[str]:
    text = query.get(name, "")
    words = frozenset(text.split(",")) if text else frozenset[str]()
    if not words <= allowed:
        raise invalid_parameter(name, text)
    return words


def read_number(query: Mapping[str, str], name: str, default: int | None = None) -> int:
    return default if default is not None and name not in query else read_option(query, name, parse_int32)


def read_option(query: Mapping[str, str], name: str, parse: Callable[[str], T]) -> T:
    text = required_option(query, name)
    try:
        return parse(text)
    except (LookupError, ValueError) as error:
        raise invalid_parameter(name, text) from error


def parse_number(text: str) -> int:
    if not _NUMBER.fullmatch(text):
        raise ValueError(text)
    return int(text)


def parse_int32(text: str) -> int:
    number = parse_number(text)
    if not INT32_MIN <= number <= INT32_MAX:
        raise ValueError(text)
    return number


def parse_flag(text: str) -> bool:
    return {"true": True, "false": False}[text.lower()]


_TOKEN: Final = re.compile(r"1!(\d{1,6})!([A-Za-z0-9+/-]*)", re.ASCII)


def write_token(key: str) -> str:
    """Return the token of a key.

    >>> write_token("pk801016e8")
    '1!16!cGs4MDEwMTZlOA--'
    """
    text = b64encode(key.encode("utf-8", "surrogatepass")).decode().replace("=", "-")
    return f"1!{len(text)}!{text}"


def read_token(token: str) -> str:
    match = _TOKEN.fullmatch(token)
    if not match or len(match[2]) != int(match[1]):
        raise ServiceError(errors.INVALID_INPUT)
    try:
        return b64decode(match[2].replace("-", "="), validate=True).decode("utf-8", "surrogatepass")
    except ValueError as error:
        raise ServiceError(errors.INVALID_INPUT) from error
