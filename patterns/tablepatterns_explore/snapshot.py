"""Save and restore the state of an account, and recognize equal states."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Set
from copy import copy
from enum import Enum
from functools import lru_cache, partial
from hashlib import blake2b
from itertools import count
from random import Random
from threading import Lock, RLock
from types import FunctionType, MethodType
from typing import Any, Final, NamedTuple, TypeAlias, cast
from uuid import UUID

from sortedcontainers import SortedList  # pyright: ignore[reportMissingTypeStubs]

from tablepatterns.edm import Ticks
from tablepatterns_engine.account import Engine
from tablepatterns_engine.blobs.containers import Containers
from tablepatterns_engine.blobs.service import Blobs
from tablepatterns_engine.clock import Clock
from tablepatterns_engine.collections import OrderedMap
from tablepatterns_engine.content import Content
from tablepatterns_engine.faults import Faults, Rule
from tablepatterns_engine.ledger import Ledger
from tablepatterns_engine.queues.service import Queues
from tablepatterns_engine.queues.state import Message, Queue
from tablepatterns_engine.resources import Deletions
from tablepatterns_engine.tables.entities import Entity
from tablepatterns_engine.tables.service import Tables
from tablepatterns_engine.targets import Targets

from .digest import Stamps, digest_of

_ATOMS: Final = (str, bytes, int, float, UUID, Enum, type(None))
_LOCKS: Final = (type(Lock()), type(RLock()))
_SHARED: Final = (Clock, Ledger, *_LOCKS)
"""Attributes that are not state of the account: the clock is saved separately, and the ledger by the run."""
_PARTS: Final = (Engine, Tables, Queues, Blobs, Containers, Deletions, Faults, Rule, Targets)
_SERVICES: Final[dict[type, str]] = {Tables: "table", Queues: "queue", Blobs: "blob"}


class _Kept(NamedTuple):
    """A value that is saved.

    :param exact: its digest
    :param named: its digest with timestamps by their names
    :param revive: returns it; what can change, as a new copy
    """

    exact: bytes
    named: bytes
    revive: Callable[[], Any]


class Scope(NamedTuple):
    """What a request can read or change: one table or queue, or all of a service.

    :param service: table, queue or blob
    :param resource: the key of the table or queue; None for the whole service
    """

    service: str
    resource: str | None = None


class _Place:
    """Where a part of the state is: in a field of a part of the engine, or under a key of such a field.

    :param number: which of the parts of its type it is
    :param key: of a table, a queue or a container; None for the whole field
    :param service: whose requests can reach it, "" if all can
    """

    __slots__ = ("key", "label", "name", "part", "service")

    def __init__(self, part: Any, number: int, name: str, key: str | None, service: str) -> None:
        self.part = part
        self.name = name
        self.key = key
        self.service = service
        self.label = f"{type(part).__name__} {number}, {name}, {key}"

    def get(self) -> Any:
        """Return what is there, None if there is nothing."""
        value = getattr(self.part, self.name)
        return value if self.key is None else value.get(self.key)

    def put(self, value: Any) -> None:
        """Replace what is there."""
        if self.key is None:
            setattr(self.part, self.name, value)
        else:
            getattr(self.part, self.name)[self.key] = value

    def remove(self) -> None:
        """Remove what is there under the key."""
        del getattr(self.part, self.name)[self.key]

    def is_within(self, scope: Scope | None) -> bool:
        """Return whether a request with this scope can reach it; None is the whole account."""
        if scope is None or not self.service:
            return True
        return self.service == scope.service and (self.key is None or scope.resource in (None, self.key))


Changes: TypeAlias = dict[_Place, _Kept | None]
"""What is at places now where something else was; None for nothing."""


class Saved:
    """The state of an account at some moment.

    :param now: its time
    :param kept: what is at each place
    """

    __slots__ = ("_digest", "_exact", "kept", "now")

    def __init__(self, now: Ticks, kept: Mapping[_Place, _Kept]) -> None:
        self.now = now
        self.kept = kept
        self._digest: bytes | None = None
        self._exact: dict[Scope, object] = {}

    @property
    def digest(self) -> bytes:
        """Equal for equal states. Timestamps count by their names, and the order of properties does not count."""
        if self._digest is None:
            named = sorted((place.label, kept.named) for place, kept in self.kept.items())
            self._digest = digest_of(int(self.now), named)
        return self._digest

    def exact(self, scope: Scope) -> object:
        """Return what is equal only if a request with this scope finds exactly the same."""
        if scope not in self._exact:
            found = sorted((place.label, kept.exact) for place, kept in self.kept.items() if place.is_within(scope))
            self._exact[scope] = digest_of(int(self.now), found)
        return self._exact[scope]

    def at(self, now: Ticks) -> Saved:
        """Return the same state at another time."""
        return self if now == self.now else Saved(now, self.kept)

    def changed(self, now: Ticks, changes: Changes) -> Saved:
        """Return the state after changes, and at another time."""
        if not changes:
            return self.at(now)
        kept = {**self.kept, **changes}
        return Saved(now, {place: each for place, each in kept.items() if each is not None})


class Snapshots:
    """Saves and restores the state of one engine, whatever services it has.

    Equal parts of saved states are kept once. What a schedule goes to is restored only when a request, a check or the
    code of an actor needs it, and only as far as they can see.

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
        self._places: dict[tuple[int, str, str | None], _Place] = {}
        self._present: dict[_Place, bytes] | None = None
        """The digests of what is in the engine, None if that is not known."""
        self.current = self.save()
        """Where the schedule is, whatever the engine holds."""

    def note_changes(self) -> None:
        """Note that anything in the engine may have changed."""
        self._present = None

    def save(self) -> Saved:
        """Return the state of the engine, which is that of the schedule from now on."""
        kept = {place: self._keep(value) for place, value in self._walk()}
        self._present = {place: each.exact for place, each in kept.items()}
        self.current = Saved(self._stamps.now(), kept)
        return self.current

    def changes(self, scope: Scope) -> Changes:
        """Return what a request with this scope has changed since the engine was filled for it."""
        current, present = self.current.kept, self._present or {}
        found = {place: self._keep(value) for place, value in self._within(scope)}
        present.update((place, each.exact) for place, each in found.items())
        gone = [place for place in present if place.is_within(scope) and place not in found]
        for place in gone:
            del present[place]
        changed: Changes = {
            place: each for place, each in found.items() if place not in current or current[place].exact != each.exact
        }
        return changed | {place: None for place in gone if place in current}

    def go_to(self, saved: Saved) -> None:
        """Let the schedule be at a state that was saved; the engine follows when it is filled."""
        self._stamps.move_to(saved.now)
        self.current = saved

    def fill(self, scope: Scope | None = None) -> None:
        """Let the engine hold the state of the schedule, at least what a request with this scope can reach."""
        kept = self.current.kept
        if self._present is None:
            scope, self._present = None, {place: b"" for place, _ in self._walk()}
        present = self._present
        for place, each in kept.items():
            if present.get(place) != each.exact and place.is_within(scope):
                place.put(each.revive())
                present[place] = each.exact
        for place in [place for place in present if place not in kept and place.is_within(scope)]:
            if place.key is not None:
                place.remove()
            del present[place]

    def _within(self, scope: Scope) -> Iterator[tuple[_Place, Any]]:
        """Yield the places that a request with this scope can reach, and what is there."""
        if scope.resource is None:
            yield from ((place, value) for place, value in self._walk() if place.is_within(scope))
            return
        places = dict.fromkeys(place for place in self.current.kept if place.is_within(scope))
        places[self._resource(scope.service, scope.resource)] = None
        for place in places:
            value = place.get()
            if place.key is None or value is not None:
                yield place, value

    def _resource(self, service: str, key: str) -> _Place:
        part = self._engine.tables if service == "table" else self._engine.queues
        return self._place(part, 0, f"_{service}s", key, service)

    def _place(self, part: Any, number: int, name: str, key: str | None, service: str) -> _Place:
        known = id(part), name, key
        if known not in self._places:
            self._places[known] = _Place(part, number, name, key, service)
        return self._places[known]

    def _walk(self) -> Iterator[tuple[_Place, Any]]:
        """Yield all places that hold state, and what is there."""
        parts: list[tuple[Any, str]] = [(self._engine, "")]
        known, numbers = {id(self._engine)}, Counter[type]()
        for part, service in parts:
            number = numbers[type(part)]
            numbers[type(part)] += 1
            for name, value in _state_of(part):
                kind = _class_of(value)
                if issubclass(kind, _SHARED):
                    continue
                for each in cast("tuple[object, ...]", value) if isinstance(value, tuple) else (value,):
                    if isinstance(each, _PARTS) and id(each) not in known:
                        known.add(id(each))
                        parts.append((each, service or _SERVICES.get(type(each), "")))
                if issubclass(kind, OrderedMap):
                    resources = cast("dict[str, Any]", value)
                    for key in resources:
                        yield self._place(part, number, name, key, service), resources[key]
                else:
                    yield self._place(part, number, name, None, service), value

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
            (_PARTS, self._keep_identity),
            (count, self._keep_count),
            (Queue, self._keep_queue),
            (Random, lambda value: _Kept(*self._digests(repr(value.getstate())), partial(copy, copy(value)))),
            (SortedList, self._keep_order),
            (OrderedMap, self._keep_map),
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

    def _keep_map(self, value: OrderedMap[Any]) -> _Kept:
        kind = _class_of(value)
        # The order follows from the keys
        held = {name: self._keep(each) for name, each in _state_of(value) if name != "_order"}
        kept = {key: self._keep(value[key]) for key in value}
        parts = [*held.values(), *(part for key, each in kept.items() for part in (self._keep(key), each))]

        def revive() -> Any:
            made = kind.__new__(kind)
            for name, each in held.items():
                setattr(made, name, each.revive())
            made.replace({key: each.revive() for key, each in kept.items()})
            return made

        return self._once(kind.__name__, parts, revive)

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

    def _keep_queue(self, value: Queue) -> _Kept:
        kept = self._keep_object(value)
        # Of the numbers of messages, only their order matters
        messages = sorted(value.visible(Ticks(Ticks.MAX), len(value)), key=lambda message: message.number)
        return kept._replace(named=digest_of(kept.named, [self._keep(message).named for message in messages]))

    def _keep_identity(self, value: Any) -> _Kept:
        return _Kept(digest_of(id(value)), b"", partial(_itself, value))

    def _keep_count(self, value: Any) -> _Kept:
        # The numbers that are drawn from it tell states apart only where they are stored. Its text, such as "count(5)",
        # is all that tells the next one: since Python 3.14 it cannot be copied
        return _Kept(digest_of(repr(value)), b"", partial(count, int(repr(value)[6:-1])))

    def _keep_constant(self, value: Any) -> _Kept:
        """Return what is kept of a value that never changes; it is looked at once."""
        if (known := self._known.get(id(value))) is not None:
            return known[1]
        exact, named = self._digests(repr(_plain(value)))
        if parts := _parts_in(value):
            exact = digest_of(exact, parts)
        if isinstance(value, Message):
            _, named = self._digests(repr(_plain(value._replace(number=0))))
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


def _parts_in(value: object) -> list[int]:
    """Return which parts of the engine are in a tuple, such as the rules of its faults."""
    values = cast("tuple[object, ...]", value) if isinstance(value, tuple) else ()
    return [id(each) for each in values if isinstance(each, _PARTS)]


def _class_of(value: object) -> Any:
    return type(value)


def _itself(value: Any) -> Any:
    return value


def _order(key: Any) -> str:
    return key if isinstance(key, str) else repr(key)


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
