"""Stamps: timestamps and ETags, named by the request that made them."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Final

from ...edm import Ticks
from ...engine.blob import etag_of
from ...engine.clock import Clock

_STAMP: Final = re.compile(r'\d{4}-\d\d-\d\dT\d\d(?::|%3A)\d\d(?::|%3A)\d\d(?:\.\d+)?Z|"0x[0-9A-F]+"')
"""An instant, as entities and their ETags have it, or the ETag of a blob."""


class Stamps(Clock):
    """A frozen clock that remembers who made which stamp.

    Two schedules that differ only in the order of writes that have nothing to do with one another give the versions
    other stamps. By the names of the stamps their states are the same.

    :param start: the aware moment at which it stands
    """

    def __init__(self, start: datetime) -> None:
        super().__init__(start)
        self._names: dict[str, str] = {}
        self._maker = ""
        self._made = 0

    def turn_to(self, maker: str) -> None:
        """Say who makes the next stamps."""
        self._maker, self._made = maker, 0

    def stamp(self) -> Ticks:
        """Return an instant for a new version; it is never that of `now`, with which it would be confused."""
        made = super().stamp()
        while made == self.now():
            made = super().stamp()
        self._made += 1
        self._names[made.iso()] = self._names[etag_of(made)] = f"stamp {self._made} of {self._maker}"
        return made

    def named(self, text: str) -> str:
        """Return a text with the names of the stamps in place of the stamps, those in ETags included."""
        return _STAMP.sub(lambda found: self._names.get(found[0].replace("%3A", ":"), found[0]), text)
