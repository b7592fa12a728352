"""Ranges: which bytes of a blob are asked for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from ...blob_texts import INVALID_RANGE
from ...refusal import Refusal

_RANGE: Final = re.compile(r"bytes=(\d{1,18})-(\d{1,18})?", re.ASCII)


class RangeRefusal(Refusal):
    """A range that lies outside of the blob.

    :param size: how long the blob is
    """

    def __init__(self, size: int) -> None:
        super().__init__(INVALID_RANGE)
        self.size = size


class Range(NamedTuple):
    """Bytes from one to another, both included; None is the end of the blob."""

    first: int
    last: int | None

    def within(self, size: int) -> tuple[int, int]:
        """Return where the range begins and ends in a blob; its end may lie outside, its beginning may not.

        :param size: how long the blob is
        :raises Refusal: InvalidRange
        """
        if self.first >= size:
            raise RangeRefusal(size)
        return self.first, size if self.last is None else min(self.last + 1, size)


def read_range(headers: Mapping[str, str]) -> Range | None:
    """Return the range that a request asks for, None for the whole blob; what is no single range is ignored.

    >>> read_range({"range": "bytes=0-9"}), read_range({"range": "bytes=0-9", "x-ms-range": "bytes=5-"})
    (Range(first=0, last=9), Range(first=5, last=None))
    >>> read_range({"range": "bytes=-5"}) is read_range({"range": "bytes=9-0"}) is None
    True
    """
    return parse_range(headers.get("x-ms-range", headers.get("range", "")))


def parse_range(text: str) -> Range | None:
    """Return the range that a text says, None where it says none."""
    found = _RANGE.fullmatch(text)
    if not found:
        return None
    first, last = int(found[1]), None if found[2] is None else int(found[2])
    return None if last is not None and last < first else Range(first, last)
