"""Metadata of queues, containers and blobs in the headers of requests and answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from .message import Request

_PREFIX: Final = "x-ms-meta-"


def read_metadata(request: Request) -> dict[str, str]:
    """Return the metadata in the headers of a request, their names spelled as they were sent."""
    headers = request.headers
    return {
        name[len(_PREFIX) :]: headers[name.lower()].strip()
        for name in request.names
        if name.lower().startswith(_PREFIX)
    }


def metadata_headers(metadata: Mapping[str, str]) -> dict[str, str]:
    """Return the headers that tell metadata."""
    return {_PREFIX + name: value for name, value in metadata.items()}
