"""Recognize equal states of an account, with timestamps and ETags named by their requests."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Set
from datetime import datetime
from enum import Enum
from functools import lru_cache
from hashlib import blake2b
from itertools import count
from threading import Lock, RLock
from typing import Any, Final
from uuid import UUID

from sortedcontainers import SortedList  # pyright: ignore[reportMissingTypeStubs]

from ...edm import Ticks
from ...engine.account import Engine
from ...engine.blobs.blob import etag_of
from ...engine.clock import Clock
from ...engine.ledger import Ledger
from ...engine.resources import ServiceProperties
from ...engine.tables.entities import Entity

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


_SIZE: Final = 16
_ATOMS: Final = (str, bytes, int, float, UUID, Enum, type(None))
_IGNORED: Final = frozenset({Stamps, Ledger, SortedList, count, type(Lock()), type(RLock())})
"""What is no state of the account; the orders follow from what is in them."""
_VOLATILE: Final = frozenset({"date", "server", "x-ms-request-id", "x-ms-client-request-id", "x-ms-version"})
_REQUEST_ID: Final = re.compile(r"RequestId:[0-9a-fA-F-]{36}")


def digest_of(*values: object) -> bytes:
    """Return a digest of values whose repr tells all there is to know."""
    return blake2b(repr(values).encode("utf-8", "surrogatepass"), digest_size=_SIZE).digest()


def of_engine(engine: Engine, stamps: Stamps) -> bytes:
    """Return the digest of all that an account holds, and of its time.

    It looks into every part of the account's state, whatever services there are. Stamps count by their names, and the
    order of properties does not count.
    """
    return digest_of(engine.clock.now(), stamps.named(repr(_plain(engine, frozenset()))))


def of_answer(response: Any, stamps: Stamps) -> bytes:
    """Return the digest of an answer: its status, its body, and those of its headers that say something."""
    headers = sorted((name.lower(), value) for name, value in response.headers.items())
    told = [(name, stamps.named(value)) for name, value in headers if name not in _VOLATILE]
    body = _REQUEST_ID.sub("", stamps.named(response.content.decode("latin-1")))
    return digest_of(response.status_code, told, body)


def _plain(value: Any, within: frozenset[int]) -> object:
    """Return a value as lists and tuples whose repr is the same for equal values."""
    if isinstance(value, _ATOMS):
        return value
    if isinstance(value, ServiceProperties):
        return _properties(value)
    if isinstance(value, Entity):
        return value.partition_key, value.row_key, value.timestamp, sorted(value.properties.items(), key=_first)
    if id(value) in within:
        return "itself"
    within |= {id(value)}
    held: Any = value
    if isinstance(value, Mapping):
        return sorted(((key, _plain(each, within)) for key, each in held.items()), key=_first)
    if isinstance(value, Set):
        return sorted((_plain(each, within) for each in held), key=repr)
    if isinstance(value, Collection):
        return [_plain(each, within) for each in held]
    if callable(value):
        return getattr(value, "__qualname__", type(value).__name__)
    return type(value).__name__, [
        (name, _plain(each, within)) for name, each in _fields(value) if type(each) not in _IGNORED
    ]


def _fields(value: object) -> Iterator[tuple[str, Any]]:
    """Yield what an object holds, in its slots and in its dictionary, by name."""
    kind: Any = type(value)
    for name in sorted(_slots(kind).union(getattr(value, "__dict__", ()))):
        yield name, getattr(value, name, None)


def _first(pair: tuple[Any, object]) -> str:
    return repr(pair[0])


@lru_cache
def _properties(properties: ServiceProperties) -> str:
    # They hardly ever change, and writing them out takes longer than all the rest of a small account
    return repr(properties)


@lru_cache
def _slots(kind: Any) -> frozenset[str]:
    names = {name for each in kind.__mro__ for name in getattr(each, "__slots__", ())}
    return frozenset(names - {"__dict__", "__weakref__"})
