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

    The search runs each part of an actor's code once, and cannot know what such an object would hold in a schedule.

    :param checks: the checks of the scenario
    :param actors: the coroutines of the actors, none of which has begun
    """

    def __init__(self, checks: Iterable[object], actors: Iterable[Coroutine[Any, Any, Any]]) -> None:
        seen: set[int] = set()
        self._places = [place for check in checks for place in _places(check, seen)]
        found: list[dict[int, _Place]] = [dict(_identified(actor)) for actor in actors]
        times = Counter(each for places in found for each in places)
        self._places += {each: place for places in found for each, place in places.items() if times[each] > 1}.values()

    def state(self) -> list[object]:
        """Return shallow copies, to detect that any of them has changed."""
        return [_shallow(place()) for place in self._places]


def _identified(actor: Coroutine[Any, Any, Any]) -> Iterator[tuple[int, _Place]]:
    frame, seen = getattr(actor, "cr_frame", None), set[int]()
    values = [] if frame is None else list(frame.f_locals.values())
    for value in [actor.function] if isinstance(actor, SyncActor) else values:
        for place in _places(value, seen):
            yield id(place()), place


def _places(value: Any, seen: set[int]) -> Iterator[_Place]:
    """Yield getters of the mutable objects that are reachable from a value."""
    if id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value, partial):
        for each in (value.func, *value.args, *value.keywords.values()):
            yield from _places(each, seen)
    elif isinstance(value, MethodType):
        yield from _places(value.__func__, seen)
        yield from _places(value.__self__, seen)
    elif isinstance(value, FunctionType):
        yield from _places_of_function(unwrap(value), seen)
    elif issubclass(type(value), _CONTAINERS):
        yield partial(_itself, value)
        for each in value.values() if issubclass(type(value), dict) else value:
            yield from _places(each, seen)
    elif hasattr(value, "__dict__") and not isinstance(value, type) and _is_of_user(type(value)):
        yield from _places(vars(value), seen)


def _places_of_function(function: FunctionType, seen: set[int]) -> Iterator[_Place]:
    if not _is_of_user(function):
        return
    for cell in function.__closure__ or ():
        yield partial(_contents, cell)
        yield from _places(_contents(cell), seen)
    for name in function.__code__.co_names:
        value = function.__globals__.get(name)
        if isinstance(value, (*_CONTAINERS, FunctionType)):
            yield partial(function.__globals__.get, name)
            yield from _places(value, seen)


def _is_of_user(thing: Any) -> bool:
    return not f"{thing.__module__}.".startswith(_OURS)


def _itself(value: object) -> object:
    return value


def _contents(cell: CellType) -> object:
    try:
        return cell.cell_contents
    except ValueError:
        return None


def _shallow(value: Any) -> object:
    held: object = value
    kind = type(held)
    if issubclass(kind, dict):
        return id(value), [(id(key), id(each)) for key, each in value.items()]
    if issubclass(kind, bytearray):
        return bytes(value)
    return (id(value), [id(each) for each in value]) if issubclass(kind, _CONTAINERS) else id(value)
