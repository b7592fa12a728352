"""Request and response headers of blobs: values, content, properties, conditions, leases and list markers."""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping, Set
from dataclasses import replace
from datetime import timezone
from email.utils import format_datetime, parsedate_to_datetime
from typing import Final, TypeVar
from uuid import UUID

from tablepatterns.edm import Ticks

from .. import errors
from ..errors import ErrorMessage, ServiceError
from ..http.headers import http_date, metadata_headers, parse_flag, parse_number, read_token, seven_digits, write_token
from ..resources import NOT_IN_HEADERS
from .blob import Blob, ContentHeaders, CopyRecord, Kind, Tier
from .conditions import ANY, Terms, Versioned, parse_tag_condition
from .leases import INFINITE, Lease, State
from .listing import Mark

_T = TypeVar("_T")


def invalid(name: str, value: object) -> ServiceError:
    return ServiceError(errors.INVALID_HEADER.with_details(HeaderName=name, HeaderValue=value))


def required(headers: Mapping[str, str], name: str, parse: Callable[[str], _T]) -> _T:
    value = read_header(headers, name, parse)
    if value is None:
        raise missing(name)
    return value


def missing(name: str) -> ServiceError:
    return ServiceError(errors.MISSING_HEADER.with_details(HeaderName=name))


def read_header(headers: Mapping[str, str], name: str, parse: Callable[[str], _T]) -> _T | None:
    """Return a header as a value; None if it is missing, InvalidHeaderValue if it cannot be parsed."""
    text = headers.get(name)
    if text is None:
        return None
    try:
        return parse(text)
    except (LookupError, TypeError, ValueError) as error:
        raise invalid(name, text) from error
    except NotImplementedError as error:
        raise ServiceError(errors.NOT_IMPLEMENTED) from error


def number(headers: Mapping[str, str], name: str) -> int | None:
    return read_header(headers, name, parse_number)


def count(headers: Mapping[str, str], name: str) -> int | None:
    """Return a header as a number of at least 0."""
    value = number(headers, name)
    if value is not None and value < 0:
        raise invalid(name, value)
    return value


def flag(headers: Mapping[str, str], name: str) -> bool | None:
    return read_header(headers, name, parse_flag)


def moment(headers: Mapping[str, str], name: str) -> Ticks | None:
    return read_header(headers, name, _parse_date)


_DAY: Final = r"(\w+, )?\d\d?[ -][A-Za-z]{3}[ -](\d{4}|\d\d)"
_DATE: Final = re.compile(
    rf"{_DAY} \d\d:\d\d:\d\d (GMT|UTC|[+-]\d{{4}})|[A-Z]\w\w \w{{3}} [ \d]\d [\d:]{{8}} \d{{4}}", re.ASCII
)
"""The three forms of dates in HTTP."""


def _parse_date(text: str) -> Ticks:
    if not _DATE.fullmatch(text):
        raise ValueError(text)
    date = parsedate_to_datetime(text)
    # The parser takes the year 0001 for 2001, and any day for the first of a week
    is_of_year = re.search(rf"\b({date:%Y}|\d\d)( \d\d:|$)", text)
    if not is_of_year or (text[:3].isalpha() and text[:3] != format_datetime(date)[:3]):
        raise ValueError(text)
    return Ticks.of(date if date.tzinfo else date.replace(tzinfo=timezone.utc))


_HEX: Final = r"[0-9A-Fa-f]"
_DASHED: Final = rf"{_HEX}{{8}}(-{_HEX}{{4}}){{3}}-{_HEX}{{12}}"
_GUID: Final = re.compile(rf"{_DASHED}|\{{{_DASHED}\}}|\({_DASHED}\)|{_HEX}{{32}}")


def parse_guid(text: str) -> UUID:
    """Parse a GUID in any of its forms."""
    if not _GUID.fullmatch(text):
        raise ValueError(text)
    return UUID(text.strip("()"))


def guid(headers: Mapping[str, str], name: str) -> UUID | None:
    return read_header(headers, name, parse_guid)


def digest(headers: Mapping[str, str], name: str, size: int | None, wrong: ErrorMessage) -> bytes | None:
    """Return a header as a checksum of `size` bytes, None for any; without the header None, else the error `wrong`."""
    text = headers.get(name)
    if text is None:
        return None
    try:
        checksum = b64decode(text, validate=True)
    except ValueError as error:
        raise ServiceError(wrong) from error
    if size is not None and len(checksum) != size:
        raise ServiceError(wrong)
    return checksum


MD5_BYTES: Final = 16
BLOB_PREFIX: Final = "x-ms-blob-"
"""Of content headers, and of the conditions of a request for tags."""
_DEFAULT: Final = ContentHeaders()


def read_content_headers(
    headers: Mapping[str, str], *, whole: bool = False, default: ContentHeaders = _DEFAULT
) -> ContentHeaders:
    """Return the content headers of a request; those about the body count only if it is the `whole` content."""

    def value_of(name: str, *, of_body: bool = whole) -> str | None:
        value = headers.get(BLOB_PREFIX + name) or (headers.get(name) if of_body else None) or None
        if value and NOT_IN_HEADERS.search(value):
            raise invalid(BLOB_PREFIX + name, value)
        return value

    return ContentHeaders(
        content_type=value_of("content-type") or default.content_type,
        encoding=value_of("content-encoding") or default.encoding,
        language=value_of("content-language") or default.language,
        disposition=value_of("content-disposition", of_body=False) or default.disposition,
        cache_control=value_of("cache-control") or default.cache_control,
        # Without content, the digest is stored as given
        md5=digest(headers, BLOB_PREFIX + "content-md5", MD5_BYTES if whole else None, errors.INVALID_MD5) or None,
    )


def write_content_headers(content_headers: ContentHeaders) -> dict[str, str]:
    headers = {
        "Content-Type": content_headers.content_type,
        "Content-Encoding": content_headers.encoding,
        "Content-Language": content_headers.language,
        "Content-Disposition": content_headers.disposition,
        "Cache-Control": content_headers.cache_control,
    }
    return {name: value for name, value in headers.items() if value}


def base64(digest: bytes) -> str:
    return b64encode(digest).decode()


def etag_headers(resource: Versioned) -> dict[str, str]:
    return {"ETag": resource.etag, "Last-Modified": http_date(resource.modified)}


def lease_headers(lease: Lease, now: Ticks) -> dict[str, str]:
    state = lease.state(now)
    headers = {"x-ms-lease-state": state.value, "x-ms-lease-status": "locked" if state.locked else "unlocked"}
    if state is State.LEASED:
        headers["x-ms-lease-duration"] = duration_of(lease)
    return headers


def duration_of(lease: Lease) -> str:
    return "infinite" if lease.duration == INFINITE else "fixed"


def version_headers(blob: Blob) -> dict[str, str]:
    return {} if blob.version is None else {"x-ms-version-id": seven_digits(blob.version)}


def written_headers(blob: Blob) -> dict[str, str]:
    return {**etag_headers(blob), "x-ms-request-server-encrypted": "true", **version_headers(blob)}


def read_headers(blob: Blob) -> dict[str, str]:
    headers = {
        **etag_headers(blob),
        **write_content_headers(blob.headers),
        **metadata_headers(blob.metadata),
        **(version_headers(blob) if blob.snapshot is None else {}),
        "x-ms-creation-time": http_date(blob.created),
        "x-ms-blob-type": blob.kind.value,
        "x-ms-server-encrypted": "true",
        "Accept-Ranges": "bytes",
    }
    if blob.copy is not None:
        headers |= {f"x-ms-copy-{name}": value for name, value in copy_properties(blob.copy).items()}
    if blob.tags:
        headers["x-ms-tag-count"] = str(len(blob.tags))
    if blob.kind is Kind.APPEND:
        headers["x-ms-blob-committed-block-count"] = str(blob.appends)
    if blob.sealed:
        headers["x-ms-blob-sealed"] = "true"
    if blob.version is not None and blob.is_current:
        headers["x-ms-is-current-version"] = "true"
    return headers


def copy_properties(copy: CopyRecord) -> dict[str, str]:
    """Return the properties of a copy in the order of a list, by their names in headers."""
    return {
        "id": str(copy.id),
        "source": copy.source,
        "status": "success",
        "progress": f"{copy.size}/{copy.size}",
        "completion-time": http_date(copy.finished),
    }


def tier_headers(blob: Blob) -> dict[str, str]:
    if blob.kind is not Kind.BLOCK:
        return {}
    if blob.tier is None:
        return {"x-ms-access-tier": Tier.HOT.value, "x-ms-access-tier-inferred": "true"}
    headers = {"x-ms-access-tier": blob.tier.value}
    if blob.tier is Tier.SMART:
        headers["x-ms-smart-access-tier"] = Tier.HOT.value
    if blob.tier_changed is not None:
        headers["x-ms-access-tier-change-time"] = http_date(blob.tier_changed)
    return headers


def write_marker(mark: Mark) -> str:
    name, moment = mark
    return write_token(f"{moment} {name}")


def read_marker(marker: str) -> Mark:
    """Return the position of a marker; without one, the start.

    >>> read_marker(write_marker(("photos/don.jpg", 7))), read_marker("")
    (('photos/don.jpg', 7), ('', 0))
    """
    if not marker:
        return "", 0
    try:
        moment, space, name = read_token(marker).partition(" ")
        if not space:
            raise ServiceError(errors.OUT_OF_RANGE_INPUT)
        return name, int(moment)
    except (ServiceError, ValueError) as error:
        raise ServiceError(errors.OUT_OF_RANGE_INPUT) from error


_LEASE: Final = "x-ms-lease-id"
SOURCE_PREFIX: Final = "x-ms-source-"
_TIER: Final = "x-ms-access-tier-"
_TAGS: Final = {SOURCE_PREFIX: "x-ms-source-if-tags"}


def read_terms(headers: Mapping[str, str], prefix: str = "", lease: str | None = _LEASE) -> Terms:
    """Return the conditions of a request, whose names may have a prefix.

    :param lease: the header with the id of the lease; None if the lease is not a condition
    """
    return Terms(
        match=read_header(headers, f"{prefix}if-match", _etags),
        none_match=read_header(headers, f"{prefix}if-none-match", _etags),
        modified_since=moment(headers, f"{prefix}if-modified-since"),
        unmodified_since=moment(headers, f"{prefix}if-unmodified-since"),
        tags=read_header(headers, _TAGS.get(prefix, "x-ms-if-tags"), parse_tag_condition),
        lease=guid(headers, lease) if lease else None,
    )


def read_deletion_terms(headers: Mapping[str, str]) -> Terms:
    return replace(
        read_terms(headers),
        tier_modified_since=moment(headers, f"{_TIER}if-modified-since"),
        tier_unmodified_since=moment(headers, f"{_TIER}if-unmodified-since"),
    )


def read_lease(headers: Mapping[str, str]) -> Terms:
    return Terms(lease=guid(headers, _LEASE))


def read_container_terms(headers: Mapping[str, str], lease: str | None = _LEASE) -> Terms:
    """Return the conditions of a request to a container, which are on time only."""
    terms = read_terms(headers, lease=lease)
    if terms.match is not None or terms.none_match is not None:
        raise ServiceError(errors.CONDITIONS_NOT_SUPPORTED)
    return terms


_ETAG: Final = re.compile(r'(?:W/)?"[^"]*"|[^\s"]+')


def _etags(header: str) -> Set[str]:
    """Return the ETags in a header; quotes are optional."""
    etags = [etag.strip(" \t") for etag in header.split(",")]
    if not all(map(_ETAG.fullmatch, etags)) or (ANY in etags and len(etags) > 1):
        raise ValueError(header)
    return {etag if etag == ANY or etag.endswith('"') else f'"{etag}"' for etag in etags}
