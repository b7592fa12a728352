"""Detect that actors share objects besides the account, such as a list that they append to."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Coroutine, Iterable, Iterator
from functools import partial
from inspect import unwrap
from types import CellType, FunctionType, MethodType
from typing import Any, Final, TypeAlias

from .sync_actor import SyncActor

_CONTAINERS: Final = (list, dict, set, deque, bytearray)
_OURS: Final = ("tablepatterns.", "tablepatterns_", "azure.", "builtins")
_Place: TypeAlias = Callable[[], object]


class SharedObjects:
    """Objects of the user through which an actor may pass something to a check, or to another actor.

    The search runs each part of an actor's code once, and cannot know what such an object would hold in a schedule. No
    actor has begun when they are collected.
    """

    def __init__(self, checks: Iterable[object], actors: Iterable[Coroutine[Any, Any, Any]]) -> None:
        seen_ids: set[int] = set()
        self._places = [place for check in checks for place in _places(check, seen_ids)]
        places_by_actor: list[dict[int, _Place]] = [dict(_identified_places(actor)) for actor in actors]
        times = Counter(object_id for places in places_by_actor for object_id in places)
        place_of = {object_id: place for places in places_by_actor for object_id, place in places.items()}
        self._places += [place for object_id, place in place_of.items() if times[object_id] > 1]

    def state(self) -> list[object]:
        """Return shallow copies, to detect that any of them has changed."""
        return [_shallow_copy(place()) for place in self._places]


def _identified_places(actor: Coroutine[Any, Any, Any]) -> Iterator[tuple[int, _Place]]:
    frame, seen_ids = getattr(actor, "cr_frame", None), set[int]()
    values = [] if frame is None else list(frame.f_locals.values())
    for value in [actor.function] if isinstance(actor, SyncActor) else values:
        for place in _places(value, seen_ids):
            yield id(place()), place


def _places(value: Any, seen_ids: set[int]) -> Iterator[_Place]:
    """Yield getters of the mutable objects that are reachable from a value."""
    if id(value) in seen_ids:
        return
    seen_ids.add(id(value))
    if isinstance(value, partial):
        for part in (value.func, *value.args, *value.keywords.values()):
            yield from _places(part, seen_ids)
    elif isinstance(value, MethodType):
        yield from _places(value.__func__, seen_ids)
        yield from _places(value.__self__, seen_ids)
    elif isinstance(value, FunctionType):
        function = unwrap(value)
        # One that is written in C has no objects, such as `open`, which notebooks wrap
        if isinstance(function, FunctionType):
            yield from _places_of_function(function, seen_ids)
    elif issubclass(type(value), _CONTAINERS):
        yield lambda: value
        for part in value.values() if issubclass(type(value), dict) else value:
            yield from _places(part, seen_ids)
    elif hasattr(value, "__dict__") and not isinstance(value, type) and _is_of_user(type(value)):
        yield from _places(vars(value), seen_ids)


def _places_of_function(function: FunctionType, seen_ids: set[int]) -> Iterator[_Place]:
    if not _is_of_user(function):
        return
    for cell in function.__closure__ or ():
        yield partial(_contents, cell)
        yield from _places(_contents(cell), seen_ids)
    for name in function.__code__.co_names:
        value = function.__globals__.get(name)
        if isinstance(value, (*_CONTAINERS, FunctionType)):
            yield partial(function.__globals__.get, name)
            yield from _places(value, seen_ids)


def _is_of_user(thing: Any) -> bool:
    return not f"{thing.__module__}.".startswith(_OURS)


def _contents(cell: CellType) -> object:
    try:
        return cell.cell_contents
    except ValueError:
        return None


def _shallow_copy(value: Any) -> object:
    container: object = value
    kind = type(container)
    if issubclass(kind, dict):
        return id(value), [(id(key), id(item)) for key, item in value.items()]
    if issubclass(kind, bytearray):
        return bytes(value)
    return (id(value), [id(item) for item in value]) if issubclass(kind, _CONTAINERS) else id(value)
