"""Metadata of queues, containers and blobs: names and values of the user's own, within the services' limits."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from ..limits import MAX_METADATA_BYTES
from . import texts
from .refusal import Refusal

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def checked_metadata(metadata: Mapping[str, str]) -> dict[str, str]:
    """Return a copy to keep; refuse a name that is empty or no identifier, and more than 8 KiB in all.

    :raises Refusal: EmptyMetadataKey, InvalidMetadata, MetadataTooLarge
    """
    if "" in metadata:
        raise Refusal(texts.EMPTY_METADATA_KEY)
    if not all(map(_NAME.fullmatch, metadata)):
        raise Refusal(texts.INVALID_METADATA)
    if sum(map(_size, metadata.keys(), metadata.values())) > MAX_METADATA_BYTES:
        raise Refusal(texts.METADATA_TOO_LARGE)
    return dict(metadata)


def _size(name: str, value: str) -> int:
    return len(name) + len(value.encode("utf-8", "surrogatepass"))


def same_metadata(one: Mapping[str, str], other: Mapping[str, str]) -> bool:
    """Tell whether both say the same; the case of names does not count."""
    return _folded(one) == _folded(other)


def _folded(metadata: Mapping[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in metadata.items()}
