"""Find the differences between two responses to one operation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Any, NamedTuple

from differential.answers import Compared
from differential.counterparts import Counterparts, Own


class Missing(Enum):
    """What stands in a difference for a member that one of the answers lacks."""

    MISSING = "(missing)"

    def __repr__(self) -> str:
        return self.value


MISSING = Missing.MISSING


class Difference(NamedTuple):
    """One place in which two answers differ.

    :param path: the members that lead there
    """

    path: tuple[Any, ...]
    engine: Any
    azurite: Any

    def __str__(self) -> str:
        return f"{' > '.join(map(str, self.path)) or 'answer'}: engine {self.engine!r}, Azurite {self.azurite!r}"


def differences(engine: Compared, azurite: Compared, counterparts: Counterparts) -> list[Difference]:
    """Return all places in which two answers differ; what each account made differs if it is no counterpart.

    The SDK's error counts only where it was told the same: otherwise it follows from that.
    """
    if engine.keys() != azurite.keys():
        return [Difference((), engine, azurite)]
    found = list(_differences((), engine, azurite, counterparts))
    return [difference for difference in found if difference.path != ("error",)] or found


def _differences(path: tuple[Any, ...], engine: Any, azurite: Any, counterparts: Counterparts) -> Iterator[Difference]:
    if isinstance(engine, Mapping) and isinstance(azurite, Mapping):
        for name in {**engine, **azurite}:
            ours, theirs = engine.get(name, MISSING), azurite.get(name, MISSING)
            yield from _differences((*path, name), ours, theirs, counterparts)
        if path == ("rows",):
            yield from _order(engine, azurite)
    elif type(engine) is type(azurite) is list:
        yield from _differences(path, dict(enumerate(engine)), dict(enumerate(azurite)), counterparts)
    elif not _same(engine, azurite, counterparts):
        yield Difference(path, engine, azurite)


def _same(engine: Any, azurite: Any, counterparts: Counterparts) -> bool:
    if isinstance(engine, Own) and isinstance(azurite, Own):
        return counterparts.same(engine, azurite)
    # 1 and 1.0 are values of two types, 0.0 and -0.0 two values
    return repr(engine) == repr(azurite)


def _order(engine: Mapping[Any, Any], azurite: Mapping[Any, Any]) -> Iterator[Difference]:
    """Yield a difference if the rows that are in both come in another order."""
    ours, theirs = [name for name in engine if name in azurite], [name for name in azurite if name in engine]
    if ours != theirs:
        yield Difference(("order",), ours, theirs)
