"""Markers: where a list of containers or of blobs goes on, in letters that fit a URL."""

from __future__ import annotations

from ...blob_listing import Mark
from ...refusal import Refusal
from ...texts import INVALID_MARKER
from ..continuation import read_token, write_token

_FIRST: Mark = ("", 0)


def write_marker(mark: Mark) -> str:
    """Return the marker of a mark."""
    name, rest = mark
    return write_token(f"{rest} {name}")


def read_marker(marker: str) -> Mark:
    """Return the mark in a marker; none begins at the front.

    >>> read_marker(write_marker(("photos/don.jpg", 7))), read_marker("")
    (('photos/don.jpg', 7), ('', 0))

    :raises Refusal: InvalidMarker
    """
    if not marker:
        return _FIRST
    try:
        rest, space, name = read_token(marker).partition(" ")
        if not space:
            raise Refusal(INVALID_MARKER)
        return name, int(rest)
    except (Refusal, ValueError) as error:
        raise Refusal(INVALID_MARKER) from error
