"""Save and restore the state of an account, and recognize equal states."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Set
from copy import copy
from enum import Enum
from functools import cached_property, lru_cache, partial
from hashlib import blake2b
from itertools import count
from random import Random
from threading import Lock, RLock
from types import FunctionType, MethodType
from typing import Any, Final, NamedTuple, cast
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
from tablepatterns_engine.queues.service import Message, Queue, Queues
from tablepatterns_engine.resources import Deletions
from tablepatterns_engine.tables.entities import Entity
from tablepatterns_engine.tables.service import Tables
from tablepatterns_engine.targets import Targets

from .digest import Stamps, digest_of

_ATOMS: Final = (str, bytes, int, float, UUID, Enum, type(None))
_SHARED: Final = (Clock, Ledger, type(Lock()), type(RLock()))
"""Attributes that are not state of the account: the clock is saved separately, and the ledger by the run."""
_PARTS: Final = (Engine, Tables, Queues, Blobs, Containers, Deletions, Faults, Rule, Targets)


class _SavedValue(NamedTuple):
    """A value that is saved; `revive` returns it, and what can change as a new copy."""

    exact_digest: bytes
    named_digest: bytes
    revive: Callable[[], Any]


class _Place:
    """Where a part of the state is: in a field of a part of the engine, or under a key of such a field.

    :param number: which of the parts of its type it is
    :param key: of a table, a queue or a container; None for the whole field
    """

    __slots__ = ("key", "label", "name", "part")

    def __init__(self, part: Any, number: int, name: str, key: str | None) -> None:
        self.part = part
        self.name = name
        self.key = key
        self.label = f"{type(part).__name__} {number}, {name}, {key}"

    def set_value(self, value: Any) -> None:
        if self.key is None:
            setattr(self.part, self.name, value)
        else:
            getattr(self.part, self.name)[self.key] = value

    def remove(self) -> None:
        del getattr(self.part, self.name)[self.key]


class Saved:
    """The state of an account at some moment."""

    def __init__(self, now: Ticks, values: Mapping[_Place, _SavedValue]) -> None:
        self.now = now
        self.values = values

    @cached_property
    def digest(self) -> bytes:
        """Equal for equal states. Timestamps count by their names, and the order of properties does not count."""
        digests = sorted((place.label, value.named_digest) for place, value in self.values.items())
        return digest_of(int(self.now), digests)

    @cached_property
    def exact_digest(self) -> bytes:
        """Equal only for states in which a request finds exactly the same."""
        digests = sorted((place.label, value.exact_digest) for place, value in self.values.items())
        return digest_of(int(self.now), digests)

    def at(self, now: Ticks) -> Saved:
        return self if now == self.now else Saved(now, self.values)


class Snapshots:
    """Saves and restores the state of one engine, whatever services it has.

    Equal parts of saved states are kept once. What a schedule goes to is restored only when a request, a check or the
    code of an actor needs it.
    """

    def __init__(self, engine: Engine, stamps: Stamps) -> None:
        self._engine = engine
        # Created now, or to restore an earlier state would drop the services that were created since
        _ = engine.queues, engine.blobs
        self._stamps = stamps
        self._values: dict[bytes, _SavedValue] = {}
        self._constants: dict[int, tuple[Any, _SavedValue]] = {}
        """By the id of a value that never changes; the value is held, so that no other gets its id."""
        self._atoms: dict[tuple[type[Any], Any], _SavedValue] = {}
        self._savers: dict[type[Any], Callable[[Any], _SavedValue]] = {}
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
        values = {place: self._save_value(value) for place, value in self._walk()}
        self._present = {place: value.exact_digest for place, value in values.items()}
        self.current = Saved(self._stamps.now(), values)
        return self.current

    def go_to(self, saved: Saved) -> None:
        """Let the schedule be at a state that was saved; the engine follows when it is filled."""
        self._stamps.move_to(saved.now)
        self.current = saved

    def fill(self) -> None:
        """Let the engine hold the state of the schedule."""
        values = self.current.values
        if self._present is None:
            self._present = {place: b"" for place, _ in self._walk()}
        for place, value in values.items():
            if self._present.get(place) != value.exact_digest:
                place.set_value(value.revive())
        for place in self._present.keys() - values.keys():
            if place.key is not None:
                place.remove()
        self._present = {place: value.exact_digest for place, value in values.items()}

    def _place(self, part: Any, number: int, name: str, key: str | None) -> _Place:
        index = id(part), name, key
        if index not in self._places:
            self._places[index] = _Place(part, number, name, key)
        return self._places[index]

    def _walk(self) -> Iterator[tuple[_Place, Any]]:
        parts: list[Any] = [self._engine]
        visited, numbers = {id(self._engine)}, Counter[type]()
        for part in parts:
            number = numbers[type(part)]
            numbers[type(part)] += 1
            for name, value in _state_of(part):
                kind = _class_of(value)
                if issubclass(kind, _SHARED):
                    continue
                for element in cast("tuple[object, ...]", value) if isinstance(value, tuple) else (value,):
                    if isinstance(element, _PARTS) and id(element) not in visited:
                        visited.add(id(element))
                        parts.append(element)
                if issubclass(kind, OrderedMap):
                    resources = cast("dict[str, Any]", value)
                    for key in resources:
                        yield self._place(part, number, name, key), resources[key]
                else:
                    yield self._place(part, number, name, None), value

    def _save_value(self, value: Any) -> _SavedValue:
        kind = _class_of(value)
        saver = self._savers.get(kind)
        if saver is None:
            saver = self._savers[kind] = self._saver_of(kind)
        return saver(value)

    def _saver_of(self, kind: Any) -> Callable[[Any], _SavedValue]:
        savers: list[tuple[Any, Callable[[Any], _SavedValue]]] = [
            (_ATOMS, self._save_atom),
            (_PARTS, lambda value: _SavedValue(digest_of(id(value)), b"", lambda: value)),
            # The numbers that are drawn from it tell states apart only where they are stored. Its text, such as
            # "count(5)", is all that tells the next one: since Python 3.14 it cannot be copied
            (count, lambda value: _SavedValue(digest_of(repr(value)), b"", partial(count, int(repr(value)[6:-1])))),
            (Queue, self._save_queue),
            (Random, lambda value: _SavedValue(*self._digests(repr(value.getstate())), partial(copy, copy(value)))),
            (SortedList, self._save_sorted_list),
            (OrderedMap, self._save_map),
            (dict, self._save_dict),
            (list, self._save_list),
        ]
        for kinds, saver in savers:
            if issubclass(kind, kinds):
                return saver
        return self._save_constant if _is_constant(kind) else self._save_object

    def _save_atom(self, value: Any) -> _SavedValue:
        key = _class_of(value), value
        saved = self._atoms.get(key)
        if saved is None:
            saved = self._atoms[key] = _SavedValue(*self._digests(repr(value)), lambda: value)
        return saved

    def _save_list(self, value: list[Any]) -> _SavedValue:
        elements = [self._save_value(element) for element in value]
        return self._intern("list", elements, lambda: [element.revive() for element in elements])

    def _save_dict(self, value: dict[Any, Any]) -> _SavedValue:
        items = {key: self._save_value(value[key]) for key in sorted(value, key=repr)}
        parts = [part for key, item in items.items() for part in (self._save_value(key), item)]
        return self._intern("dict", parts, lambda: {key: item.revive() for key, item in items.items()})

    def _save_map(self, value: OrderedMap[Any]) -> _SavedValue:
        kind = _class_of(value)
        # The order follows from the keys
        attributes = {name: self._save_value(item) for name, item in _state_of(value) if name != "_order"}
        items = {key: self._save_value(value[key]) for key in value}
        parts = [*attributes.values(), *(part for key, item in items.items() for part in (self._save_value(key), item))]
        return self._intern(kind.__name__, parts, partial(_revive, kind, attributes, items))

    def _save_sorted_list(self, value: Any) -> _SavedValue:
        values: list[Any] = list(value)
        # What it orders is named elsewhere, and its order follows from that
        digest = digest_of([self._save_value(element).exact_digest for element in values])
        return _SavedValue(digest, b"", partial(SortedList, values))

    def _save_object(self, value: Any) -> _SavedValue:
        kind: Any = _class_of(value)
        attributes = {name: self._save_value(attribute) for name, attribute in _state_of(value)}
        return self._intern(kind.__name__, list(attributes.values()), partial(_revive, kind, attributes))

    def _save_queue(self, value: Queue) -> _SavedValue:
        saved = self._save_object(value)
        # Of the numbers of messages, only their order matters
        messages = sorted(value.visible(Ticks(Ticks.MAX), len(value)), key=lambda message: message.number)
        digests = [self._save_value(message).named_digest for message in messages]
        return saved._replace(named_digest=digest_of(saved.named_digest, digests))

    def _save_constant(self, value: Any) -> _SavedValue:
        """Return what is kept of a value that never changes; it is looked at once."""
        if (constant := self._constants.get(id(value))) is not None:
            return constant[1]
        exact_digest, named_digest = self._digests(repr(_plain(value)))
        # Such as the rules of the engine's faults
        elements = cast("tuple[object, ...]", value) if issubclass(_class_of(value), tuple) else ()
        if parts := [id(element) for element in elements if isinstance(element, _PARTS)]:
            exact_digest = digest_of(exact_digest, parts)
        if isinstance(value, Message):
            _, named_digest = self._digests(repr(_plain(value._replace(number=0))))
        saved = self._values.setdefault(exact_digest, _SavedValue(exact_digest, named_digest, lambda: value))
        self._constants[id(value)] = value, saved
        return saved

    def _intern(self, kind: str, parts: Collection[Any], revive: Callable[[], Any]) -> _SavedValue:
        """Return what is kept of a value with these parts, the same for equal values."""
        exact_hash, named_hash = blake2b(kind.encode(), digest_size=16), blake2b(kind.encode(), digest_size=16)
        for part in parts:
            exact_hash.update(part[0])
            named_hash.update(part[1])
        digest = exact_hash.digest()
        return self._values.setdefault(digest, _SavedValue(digest, named_hash.digest(), revive))

    def _digests(self, text: str) -> tuple[bytes, bytes]:
        return digest_of(text), digest_of(self._stamps.replace_stamps(text))


def _revive(kind: Any, attributes: Mapping[str, _SavedValue], items: Mapping[str, _SavedValue] | None = None) -> Any:
    revived = kind.__new__(kind)
    for name, attribute in attributes.items():
        setattr(revived, name, attribute.revive())
    if items is not None:
        revived.replace({key: item.revive() for key, item in items.items()})
    return revived


def _class_of(value: object) -> Any:
    return type(value)


@lru_cache
def _is_constant(kind: Any) -> bool:
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
    container: Any = value
    if isinstance(value, Mapping):
        return sorted(((key, _plain(element)) for key, element in container.items()), key=repr)
    if isinstance(value, Set):
        return sorted((_plain(element) for element in container), key=repr)
    if isinstance(value, Collection):
        return [_plain(element) for element in container]
    if callable(value):
        return getattr(value, "__qualname__", type(value).__name__)
    return type(value).__name__, [(name, _plain(element)) for name, element in _state_of(value)]


def _state_of(value: object) -> Iterator[tuple[str, Any]]:
    """Yield what an object holds, in its slots and in its dictionary, by name."""
    for name in _slots(_class_of(value)):
        yield name, getattr(value, name)
    attributes: dict[str, Any] = getattr(value, "__dict__", {})
    for name in sorted(attributes):
        yield name, attributes[name]


@lru_cache
def _slots(kind: Any) -> list[str]:
    names = {name for base in kind.__mro__ for name in getattr(base, "__slots__", ())}
    return sorted(names - {"__dict__", "__weakref__"})
