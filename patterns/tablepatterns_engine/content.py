"""The bytes of a blob, a request or a response, in pieces that are shared, not copied."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import accumulate
from typing import Final

_STEP: Final = 4 * 1024 * 1024
"""The longest piece that is returned; the SDK's clients send blocks of this size."""
_SMALL: Final = 64 * 1024


class Content:
    """Immutable bytes that are joined and sliced without copying."""

    __slots__ = ("_ends", "_pieces")

    def __init__(self, pieces: Iterable[bytes | memoryview] = ()) -> None:
        self._pieces = tuple(memoryview(piece) for piece in pieces if piece)
        self._ends = tuple(accumulate(map(len, self._pieces)))

    @classmethod
    def joined(cls, contents: Iterable[Content]) -> Content:
        return cls(piece for content in contents for piece in content._pieces)

    @property
    def pieces(self) -> tuple[memoryview, ...]:
        return self._pieces

    def __add__(self, other: Content) -> Content:
        """Concatenate both; small pieces where they meet become one.

        Otherwise an append blob of 50,000 lines would become a list of 50,000 pieces, which each append would copy.
        """
        if not self._pieces or len(self._pieces[-1]) + len(other) > _SMALL:
            return Content((*self._pieces, *other._pieces))
        return Content((*self._pieces[:-1], b"".join((self._pieces[-1], *other._pieces))))

    def part(self, start: int, end: int) -> Content:
        """Return the bytes from `start` (inclusive) to `end` (exclusive), clamped to the content."""
        start, end = max(start, 0), min(end, len(self))
        if start >= end:
            return Content()
        first, last = bisect_right(self._ends, start), bisect_right(self._ends, end - 1)
        pieces = list(self._pieces[first : last + 1])
        pieces[-1] = pieces[-1][: end - (self._ends[last] - len(self._pieces[last]))]
        pieces[0] = pieces[0][start - (self._ends[first] - len(self._pieces[first])) :]
        return Content(pieces)

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    def __iter__(self) -> Iterator[bytes]:
        """Yield the bytes in pieces of at most 4 MiB, without copying stored pieces."""
        for piece in self._pieces:
            buffer = piece.obj
            if isinstance(buffer, bytes) and len(buffer) == len(piece) <= _STEP:
                yield buffer
            else:
                yield from (bytes(piece[start : start + _STEP]) for start in range(0, len(piece), _STEP))

    def __bytes__(self) -> bytes:
        return b"".join(self)

    def __repr__(self) -> str:
        return f"<Content of {len(self)} bytes>"
