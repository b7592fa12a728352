"""Conditional headers and the lease of a request."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import replace
from typing import Final

from ...blob_terms import ANY, Terms
from ...blob_texts import CONDITIONS_NOT_SUPPORTED
from ...refusal import Refusal
from ...tag_conditions import TagCondition, parse_tag_condition
from ...texts import NOT_IMPLEMENTED
from .header_values import guid, invalid, moment

_LEASE: Final = "x-ms-lease-id"
_SOURCE: Final = "x-ms-source-"
_BLOB: Final = "x-ms-blob-"
_TIER: Final = "x-ms-access-tier-"
_TAGS: Final = {_SOURCE: "x-ms-source-if-tags"}


def read_terms(headers: Mapping[str, str]) -> Terms:
    """Return the conditions of a request to a blob, and the lease under which it is made.

    :raises Refusal: InvalidHeaderValue; NotImplemented for a condition on tags with parentheses
    """
    return _conditions(headers, "", guid_of=_LEASE)


def read_deletion_terms(headers: Mapping[str, str]) -> Terms:
    """Return the terms of the deletion of a blob, whose tier may have a condition of its own."""
    return replace(
        read_terms(headers),
        tier_modified_since=moment(headers, f"{_TIER}if-modified-since"),
        tier_unmodified_since=moment(headers, f"{_TIER}if-unmodified-since"),
    )


def read_tag_terms(headers: Mapping[str, str]) -> Terms:
    """Return the terms of a request for the tags of a blob, whose conditions are spelled otherwise."""
    return _conditions(headers, _BLOB, guid_of=_LEASE)


def read_conditions(headers: Mapping[str, str]) -> Terms:
    """Return the conditions of a request whose lease is something else than a term."""
    return _conditions(headers, "")


def read_source_conditions(headers: Mapping[str, str]) -> Terms:
    """Return the conditions on the source of a copy, and the lease that it must have."""
    return _conditions(headers, _SOURCE, guid_of=f"{_SOURCE}lease-id")


def read_lease(headers: Mapping[str, str]) -> Terms:
    """Return the lease of a request that takes no conditions."""
    return Terms(lease=guid(headers, _LEASE))


def read_container_terms(headers: Mapping[str, str]) -> Terms:
    """Return the conditions of a request to a container, which are of time alone, and its lease.

    :raises Refusal: ConditionHeadersNotSupported for an ETag
    """
    return _without_etags(read_terms(headers))


def read_container_conditions(headers: Mapping[str, str]) -> Terms:
    """Return the conditions of a request to a container whose lease is something else than a term."""
    return _without_etags(read_conditions(headers))


def _without_etags(terms: Terms) -> Terms:
    if terms.match is not None or terms.none_match is not None:
        raise Refusal(CONDITIONS_NOT_SUPPORTED)
    return terms


def _conditions(headers: Mapping[str, str], prefix: str, guid_of: str | None = None) -> Terms:
    return Terms(
        match=_etags(headers.get(f"{prefix}if-match")),
        none_match=_etags(headers.get(f"{prefix}if-none-match")),
        modified_since=moment(headers, f"{prefix}if-modified-since"),
        unmodified_since=moment(headers, f"{prefix}if-unmodified-since"),
        tags=_tag_condition(headers, _TAGS.get(prefix, "x-ms-if-tags")),
        lease=guid(headers, guid_of) if guid_of else None,
    )


def _tag_condition(headers: Mapping[str, str], name: str) -> TagCondition | None:
    text = headers.get(name)
    if text is None:
        return None
    try:
        return parse_tag_condition(text)
    except NotImplementedError as error:
        raise Refusal(NOT_IMPLEMENTED) from error
    except ValueError as error:
        raise invalid(name, text) from error


def _etags(header: str | None) -> Set[str] | None:
    """Return the ETags in a header, which need no quotes."""
    if header is None:
        return None
    found = (etag.strip() for etag in header.split(","))
    return {etag if etag == ANY or etag.endswith('"') else f'"{etag}"' for etag in found}
