"""Save and restore the state of an account, and recognize equal states."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Set
from copy import copy
from enum import Enum
from functools import lru_cache, partial
from hashlib import blake2b
from itertools import count
from random import Random
from threading import Lock, RLock
from types import FunctionType, MethodType
from typing import Any, Final, NamedTuple, cast
from uuid import UUID

from sortedcontainers import SortedList  # pyright: ignore[reportMissingTypeStubs]

from ...edm import Ticks
from ...engine.account import Engine
from ...engine.blobs.containers import Containers
from ...engine.blobs.service import Blobs
from ...engine.clock import Clock
from ...engine.content import Content
from ...engine.faults import Faults, Rule
from ...engine.ledger import Ledger
from ...engine.queues.service import Queues
from ...engine.resources import Deletions
from ...engine.tables.entities import Entity
from ...engine.tables.service import Tables
from ...engine.targets import Targets
from .digest import Stamps, digest_of

_ATOMS: Final = (str, bytes, int, float, UUID, Enum, type(None))
_LOCKS: Final = (type(Lock()), type(RLock()))
_SHARED: Final = (Clock, Ledger, *_LOCKS)
"""What is not state of the account: the clock is saved by itself, and the ledger by the run."""
_PARTS: Final = (Engine, Tables, Queues, Blobs, Containers, Deletions, Faults, Rule, Targets)


class _Kept(NamedTuple):
    """A value that is saved.

    :param exact: its digest
    :param named: its digest with timestamps by their names
    :param revive: returns it; what can change, as a new copy
    """

    exact: bytes
    named: bytes
    revive: Callable[[], Any]


class Saved(NamedTuple):
    """The state of an account at some moment.

    :param now: its time
    :param fields: each field that holds state, with the part of the engine whose it is
    :param digest: equal for equal states. Timestamps count by their names, and the order of properties does not count
    """

    now: Ticks
    fields: list[tuple[Any, str, _Kept]]
    digest: bytes


class Snapshots:
    """Saves and restores the state of one engine, whatever services it has.

    Equal parts of saved states are kept once.

    :param engine: the engine; its services stay the same objects
    :param stamps: its clock
    """

    def __init__(self, engine: Engine, stamps: Stamps) -> None:
        self._engine = engine
        # Created now, or to restore an earlier state would drop the services that were created since
        _ = engine.queues, engine.blobs
        self._stamps = stamps
        self._kept: dict[bytes, _Kept] = {}
        self._known: dict[int, tuple[Any, _Kept]] = {}
        """By the id of a value that never changes; the value is held, so that no other gets its id."""
        self._atoms: dict[tuple[type[Any], Any], _Kept] = {}
        self._keepers: dict[type[Any], Callable[[Any], _Kept]] = {}
        self._present: dict[tuple[int, str], bytes] = {}
        """The digests of what the fields hold, as long as nothing has changed since the last save."""

    def note_changes(self) -> None:
        """Note that the account may have changed."""
        self._present = {}

    def save(self) -> Saved:
        """Return the present state."""
        fields = [(part, name, self._keep(value)) for part, name, value in self._fields()]
        self._present = {(id(part), name): kept.exact for part, name, kept in fields}
        now = self._stamps.now()
        digest = digest_of(int(now), [(name, kept.named) for _, name, kept in fields])
        return Saved(now, fields, digest)

    def restore(self, saved: Saved) -> None:
        """Return to a state that was saved."""
        self._stamps.move_to(saved.now)
        for part, name, kept in saved.fields:
            if not kept.exact or self._present.get((id(part), name)) != kept.exact:
                setattr(part, name, kept.revive())
        self._present = {(id(part), name): kept.exact for part, name, kept in saved.fields}

    def _fields(self) -> Iterator[tuple[Any, str, Any]]:
        """Yield the fields that hold state, with the part of the engine whose they are."""
        parts: list[Any] = [self._engine]
        known = {id(self._engine)}
        for part in parts:
            for name, value in _state_of(part):
                if isinstance(value, _SHARED):
                    continue
                for each in cast("tuple[object, ...]", value) if isinstance(value, tuple) else (value,):
                    if isinstance(each, _PARTS) and id(each) not in known:
                        known.add(id(each))
                        parts.append(each)
                yield part, name, value

    def _keep(self, value: Any) -> _Kept:
        kind = _class_of(value)
        keeper = self._keepers.get(kind)
        if keeper is None:
            keeper = self._keepers[kind] = self._keeper_of(kind)
        return keeper(value)

    def _keeper_of(self, kind: Any) -> Callable[[Any], _Kept]:
        """Return how values of a class are kept."""
        keepers: list[tuple[Any, Callable[[Any], _Kept]]] = [
            (_ATOMS, self._keep_atom),
            (_PARTS, _keep_identity),
            (count, _keep_count),
            (Random, lambda value: _Kept(*self._digests(repr(value.getstate())), partial(copy, copy(value)))),
            (SortedList, self._keep_order),
            (dict, self._keep_dict),
            (list, self._keep_list),
        ]
        for kinds, keeper in keepers:
            if issubclass(kind, kinds):
                return keeper
        return self._keep_constant if _is_constant(kind) else self._keep_object

    def _keep_atom(self, value: Any) -> _Kept:
        key = _class_of(value), value
        kept = self._atoms.get(key)
        if kept is None:
            kept = self._atoms[key] = _Kept(*self._digests(repr(value)), partial(_itself, value))
        return kept

    def _keep_list(self, value: list[Any]) -> _Kept:
        kept = [self._keep(each) for each in value]
        return self._once("list", kept, lambda: [each.revive() for each in kept])

    def _keep_dict(self, value: dict[Any, Any]) -> _Kept:
        kept = {key: self._keep(value[key]) for key in sorted(value, key=_order)}
        parts = [part for key, each in kept.items() for part in (self._keep(key), each)]
        return self._once("dict", parts, lambda: {key: each.revive() for key, each in kept.items()})

    def _keep_order(self, value: Any) -> _Kept:
        values: list[Any] = list(value)
        # What it orders is named elsewhere, and its order follows from that
        return _Kept(digest_of([self._keep(each).exact for each in values]), b"", partial(SortedList, values))

    def _keep_object(self, value: Any) -> _Kept:
        kind: Any = _class_of(value)
        kept = {name: self._keep(each) for name, each in _state_of(value)}

        def revive() -> Any:
            made = kind.__new__(kind)
            for name, each in kept.items():
                setattr(made, name, each.revive())
            return made

        return self._once(kind.__name__, list(kept.values()), revive)

    def _keep_constant(self, value: Any) -> _Kept:
        """Return what is kept of a value that never changes; it is looked at once."""
        if (known := self._known.get(id(value))) is not None:
            return known[1]
        exact, named = self._digests(repr(_plain(value)))
        kept = self._kept.setdefault(exact, _Kept(exact, named, partial(_itself, value)))
        self._known[id(value)] = value, kept
        return kept

    def _once(self, kind: str, parts: Collection[Any], revive: Callable[[], Any]) -> _Kept:
        """Return what is kept of a value with these parts, the same for equal values."""
        exact, named = blake2b(kind.encode(), digest_size=16), blake2b(kind.encode(), digest_size=16)
        for part in parts:
            exact.update(part[0])
            named.update(part[1])
        return self._kept.setdefault(exact.digest(), _Kept(exact.digest(), named.digest(), revive))

    def _digests(self, text: str) -> tuple[bytes, bytes]:
        return digest_of(text), digest_of(self._stamps.named(text))


def _class_of(value: object) -> Any:
    return type(value)


def _itself(value: Any) -> Any:
    return value


def _order(key: Any) -> str:
    return key if isinstance(key, str) else repr(key)


def _keep_identity(value: Any) -> _Kept:
    return _Kept(b"", b"", partial(_itself, value))


def _keep_count(value: Any) -> _Kept:
    # The numbers that are drawn from it tell states apart only where they are stored. Its text, such as "count(5)", is
    # all that tells the next one: since Python 3.14 it cannot be copied
    return _Kept(b"", b"", partial(count, int(repr(value)[6:-1])))


@lru_cache
def _is_constant(kind: Any) -> bool:
    """Tell whether the values of a class never change."""
    parameters = getattr(kind, "__dataclass_params__", None)
    is_frozen = parameters is not None and parameters.frozen
    return is_frozen or issubclass(kind, (tuple, Entity, Content, FunctionType, MethodType))


def _plain(value: Any) -> object:
    """Return a value that never changes as lists and tuples whose repr is the same for equal values."""
    if isinstance(value, _ATOMS):
        return value
    if isinstance(value, _PARTS):
        return type(value).__name__
    if isinstance(value, Entity):
        properties = sorted(value.properties.items(), key=lambda pair: pair[0])
        return value.partition_key, value.row_key, value.timestamp, properties
    if isinstance(value, Content):
        return bytes(value)
    held: Any = value
    if isinstance(value, Mapping):
        return sorted(((key, _plain(each)) for key, each in held.items()), key=repr)
    if isinstance(value, Set):
        return sorted((_plain(each) for each in held), key=repr)
    if isinstance(value, Collection):
        return [_plain(each) for each in held]
    if callable(value):
        return getattr(value, "__qualname__", type(value).__name__)
    return type(value).__name__, [(name, _plain(each)) for name, each in _state_of(value)]


def _state_of(value: object) -> Iterator[tuple[str, Any]]:
    """Yield what an object holds, in its slots and in its dictionary, by name."""
    for name in _slots(_class_of(value)):
        yield name, getattr(value, name)
    held: dict[str, Any] = getattr(value, "__dict__", {})
    for name in sorted(held):
        yield name, held[name]


@lru_cache
def _slots(kind: Any) -> list[str]:
    names = {name for each in kind.__mro__ for name in getattr(each, "__slots__", ())}
    return sorted(names - {"__dict__", "__weakref__"})
