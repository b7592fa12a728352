"""Recognize what is equal: states whose timestamps differ, responses, and what the code of actors has received."""

from __future__ import annotations

import pickle
import re
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime
from hashlib import blake2b
from typing import Final, NamedTuple, TypeAlias

from tablepatterns.edm import Ticks
from tablepatterns_engine.blobs.blob import etag_of
from tablepatterns_engine.clock import Clock
from tablepatterns_engine.http.message import Response

_STAMP: Final = re.compile(r'\d{4}-\d\d-\d\dT\d\d(?::|%3A)\d\d(?::|%3A)\d\d(?:\.\d+)?Z|"0x[0-9A-F]+"')
"""A timestamp, as entities and their ETags have it, or the ETag of a blob."""


class Stamps(Clock):
    """A frozen clock that records which request created each timestamp.

    Two schedules that differ only in the order of independent writes give the versions different timestamps. By the
    names of their timestamps, their states are equal. A request that is carried out at the same time in two schedules
    makes the same timestamps in both, so that what an actor sends in one can be sent in the other.
    """

    def __init__(self, start: datetime) -> None:
        super().__init__(start)
        self._stamps: dict[tuple[str, int, Ticks], Ticks] = {}
        self._names: dict[str, str] = {}
        self._used_stamps: set[Ticks] = set()
        self._maker = ""
        self._number = 0

    def turn_to(self, maker: str) -> None:
        """Set which request creates the next timestamps."""
        self._maker, self._number = maker, 0

    @property
    def has_stamped(self) -> bool:
        return self._number > 0

    def move_to(self, moment: Ticks) -> None:
        self._offset = int(moment)

    def stamp(self) -> Ticks:
        """Return the timestamp of a new version, which always differs from `now`."""
        self._number += 1
        now = self.now()
        key = self._maker, self._number, now
        if key not in self._stamps:
            stamp = Ticks(now + 1)
            while stamp in self._used_stamps:
                stamp = Ticks(stamp + 1)
            self._used_stamps.add(stamp)
            self._stamps[key] = stamp
            name = f"stamp {self._number} of {self._maker}"
            self._names[stamp.iso()] = self._names[etag_of(stamp)] = name
        return self._stamps[key]

    def replace_stamps(self, text: str) -> str:
        """Return a text with the names of the timestamps in place of the timestamps, also within ETags."""
        return _STAMP.sub(lambda match: self._names.get(match[0].replace("%3A", ":"), match[0]), text)


_VOLATILE: Final = frozenset({"date", "server", "x-ms-request-id", "x-ms-client-request-id", "x-ms-version"})
_REQUEST_ID: Final = re.compile(r"RequestId:[0-9a-fA-F-]{36}")


def digest_of(*values: object) -> bytes:
    """Return a digest of values whose repr shows all of them."""
    return blake2b(repr(values).encode("utf-8", "surrogatepass"), digest_size=16).digest()


def value_of(thing: object) -> bytes | int:
    """Return what to compare an object by: its pickled value, or its identity for errors and what cannot be pickled."""
    # A pickled error lacks its cause
    if not isinstance(thing, BaseException):
        with suppress(Exception):
            return pickle.dumps(thing)
    return id(thing)


def text_of(response: Response | Exception) -> str:
    """Return what an actor learns from a response, or from the error in its place, as text."""
    if isinstance(response, Exception):
        return repr(response)
    headers = sorted((name, value) for name, value in response.headers.items() if name.lower() not in _VOLATILE)
    return repr((response.status, headers, _REQUEST_ID.sub("", response.body.decode("latin-1"))))


Strand: TypeAlias = tuple[int, ...]
"""Which of an actor's concurrent calls it is, and of the calls within that one; empty for the actor itself."""

Place: TypeAlias = tuple[tuple[Strand, bytes], ...]


class History(NamedTuple):
    """What an actor has received. Its behavior depends on it.

    :param named_digests: the digest of what each call received, with timestamps by their names
    :param exact_digests: the digest of exactly what each call received, and when
    :param turns: how often each call, or a call within it, has continued
    """

    named_digests: Mapping[Strand, bytes]
    exact_digests: Mapping[Strand, bytes]
    turns: Mapping[Strand, int]

    @property
    def position(self) -> list[tuple[Strand, bytes]]:
        """Equal for histories after which the actor behaves the same, apart from the names of timestamps."""
        return sorted(self.named_digests.items())


NO_HISTORY: Final = History({}, {}, {})


class Learner:
    """Adds to a history what the running code receives."""

    def __init__(self, name: str, before: History = NO_HISTORY) -> None:
        self.has_crashed = False
        self.locks = 0
        """How many locks the code has taken."""
        self._name = name
        self._strand: Strand = ()
        self._named_digests, self._exact_digests = dict(before.named_digests), dict(before.exact_digests)
        self._turns = dict(before.turns)

    @property
    def history(self) -> History:
        """The history, which later additions do not change."""
        return History({**self._named_digests}, {**self._exact_digests}, {**self._turns})

    @property
    def place(self) -> Place:
        """Equal only for histories after which the actor sends exactly the same."""
        return tuple(sorted(self._exact_digests.items()))

    def receive(self, strand: Strand, value: object) -> None:
        self._exact_digests[strand] = digest_of(self._exact_digests.get(strand), value)

    def learn(self, value: object, strand: Strand | None = None) -> None:
        """Add something that a call learned, by default the running one."""
        strand = self._strand if strand is None else strand
        self._named_digests[strand] = digest_of(self._named_digests.get(strand), value)

    def note_order(self, index: int) -> None:
        """Distinguish the order in which calls of the running code continued; that at an index was the last."""
        for digests in (self._named_digests, self._exact_digests):
            within = [strand for strand in digests if strand[: len(self._strand)] == self._strand]
            digests[self._strand] = digest_of(index, sorted((strand, digests.pop(strand)) for strand in within))

    @contextmanager
    def within(self, index: int) -> Generator[None, None, None]:
        """Attribute what is learned to one of the concurrent calls of the running code."""
        outer, self._strand = self._strand, (*self._strand, index + 1)
        yield
        self._strand = outer

    def turn(self) -> str:
        """Return a name for what runs until the next turn: equal in every order of independent calls."""
        number = self._turns.get(self._strand, 0)
        self._turns[self._strand] = number + 1
        return f"{'.'.join([self._name, *map(str, self._strand)])}, step {number}"
