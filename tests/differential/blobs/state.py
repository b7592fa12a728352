"""The state of the engine before an operation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from differential.blobs.operations import Operation
from differential.blobs.terms import Place
from tablepatterns.edm import Ticks
from tablepatterns_engine.account import Engine
from tablepatterns_engine.blobs.blob import Blob
from tablepatterns_engine.blobs.state import Container, ContainerProperties, Slot


@dataclass(frozen=True)
class Named:
    """What goes by one name.

    :param blob: None as long as nothing is committed
    :param staged: the ids of uncommitted blocks
    """

    blob: Blob | None = None
    snapshots: tuple[Blob, ...] = ()
    staged: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Home:
    """What a container holds.

    :param now: when this was seen, which does not count where two are compared
    """

    properties: ContainerProperties
    names: Mapping[str, Named]
    now: Ticks = field(compare=False)


Homes: TypeAlias = Mapping[str, Home]
"""All containers of the account by name."""


def homes_in(engine: Engine, operation: Operation) -> Homes:
    """Return all that the engine holds."""
    containers, now = engine.blobs.containers._containers.walk(), engine.clock.now()
    return {each.properties.name: _home(each, now) for each in containers}


def found_at(place: Place, homes: Homes) -> Named:
    """Return what goes by the name of a blob."""
    home = homes.get(place.container)
    return home.names.get(place.blob, Named()) if home else Named()


def _home(container: Container, now: Ticks) -> Home:
    return Home(container.properties, {slot.name: _named(slot, now) for slot in container.slots.walk()}, now)


def _named(slot: Slot, now: Ticks) -> Named:
    return Named(slot.current, tuple(slot.earlier), frozenset(slot.staged(now)))
