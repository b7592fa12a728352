"""Headers of requests as values: numbers, instants, ids, digests, words of a list."""

from __future__ import annotations

import binascii
import re
from base64 import b64decode
from collections.abc import Mapping
from datetime import timezone
from email.utils import parsedate_to_datetime
from enum import Enum
from typing import Final, TypeVar
from uuid import UUID

from ....edm import Ticks
from ...blob_texts import INVALID_HEADER, MISSING_HEADER
from ...refusal import Refusal
from ...texts import Answer

_NUMBER: Final = re.compile(r"-?\d{1,18}", re.ASCII)
_Word = TypeVar("_Word", bound=Enum)


def invalid(name: str, value: object) -> Refusal:
    """Return the refusal of a header that says nothing sensible."""
    return Refusal(INVALID_HEADER.about(HeaderName=name, HeaderValue=value))


def required(headers: Mapping[str, str], name: str) -> str:
    """Return a header that the operation cannot do without.

    :raises Refusal: MissingRequiredHeader
    """
    value = headers.get(name)
    if value is None:
        raise missing(name)
    return value


def missing(name: str) -> Refusal:
    """Return the refusal of a request without a header that the operation cannot do without."""
    return Refusal(MISSING_HEADER.about(HeaderName=name))


def number(headers: Mapping[str, str], name: str) -> int | None:
    """Return the number that a header says, None where there is no header.

    :raises Refusal: InvalidHeaderValue
    """
    value = headers.get(name)
    if value is None:
        return None
    if not _NUMBER.fullmatch(value):
        raise invalid(name, value)
    return int(value)


def moment(headers: Mapping[str, str], name: str) -> Ticks | None:
    """Return the instant that a header says, None where there is no header.

    :raises Refusal: InvalidHeaderValue
    """
    value = headers.get(name)
    if value is None:
        return None
    try:
        found = parsedate_to_datetime(value)
    except (TypeError, ValueError) as error:
        raise invalid(name, value) from error
    return Ticks.of(found if found.tzinfo else found.replace(tzinfo=timezone.utc))


def guid(headers: Mapping[str, str], name: str) -> UUID | None:
    """Return the id that a header says, in any form in which one may be written; None where there is no header.

    :raises Refusal: InvalidHeaderValue
    """
    value = headers.get(name)
    if value is None:
        return None
    try:
        return UUID(value.strip("()"))
    except ValueError as error:
        raise invalid(name, value) from error


def digest(headers: Mapping[str, str], name: str, size: int | None, wrong: Answer) -> bytes | None:
    """Return the checksum in a header, None where there is no header.

    :param size: how many bytes it has, None for any number
    :param wrong: what it is refused with
    :raises Refusal: that
    """
    value = headers.get(name)
    if value is None:
        return None
    try:
        found = b64decode(value, validate=True)
    except (binascii.Error, ValueError) as error:
        raise Refusal(wrong) from error
    if size is not None and len(found) != size:
        raise Refusal(wrong)
    return found


def word(headers: Mapping[str, str], name: str, words: type[_Word]) -> _Word | None:
    """Return the word that a header says, one of a list; None where there is no header.

    :raises Refusal: InvalidHeaderValue
    """
    value = headers.get(name)
    if value is None:
        return None
    try:
        return words(value)
    except ValueError as error:
        raise invalid(name, value) from error
