"""Where two answers to one operation differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Any, NamedTuple
from urllib.parse import quote

from differential.operations import Get, Operation, writes_of
from differential.versions import Place, Versions

_ETAGS = ("etag", "odata.etag")


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


def differences(
    operation: Operation, engine: Mapping[str, Any], azurite: Mapping[str, Any], versions: Versions
) -> list[Difference]:
    """Return all places in which two answers differ; ETags and timestamps differ if they are not of one version.

    The SDK's error counts only where it was told the same: otherwise it follows from that.
    """
    if engine.keys() != azurite.keys():
        return [Difference((), engine, azurite)]
    found = list(_Comparison(operation, versions).of((), engine, azurite))
    return [difference for difference in found if difference.path != ("error",)] or found


class _Comparison:
    def __init__(self, operation: Operation, versions: Versions) -> None:
        self._operation = operation
        self._versions = versions

    def of(self, path: tuple[Any, ...], engine: Any, azurite: Any) -> Iterator[Difference]:
        if isinstance(engine, Mapping) and isinstance(azurite, Mapping):
            for name in {**engine, **azurite}:
                yield from self.of((*path, name), engine.get(name, MISSING), azurite.get(name, MISSING))
            if path == ("rows",):
                yield from _order(engine, azurite)
        elif type(engine) is type(azurite) is list:
            yield from self.of(path, dict(enumerate(engine)), dict(enumerate(azurite)))
        elif not self._same(path, engine, azurite):
            yield Difference(path, engine, azurite)

    def _same(self, path: tuple[Any, ...], engine: Any, azurite: Any) -> bool:
        if MISSING not in (engine, azurite):
            if path[-1] in _ETAGS:
                return self._versions.same(self._place(path), engine, azurite)
            if path[-1] == "Timestamp":
                return self._versions.same(self._place(path), _etag(engine), _etag(azurite))
        # 1 and 1.0 are values of two types, 0.0 and -0.0 two values
        return repr(engine) == repr(azurite)

    def _place(self, path: tuple[Any, ...]) -> Place:
        """Return where the entity is whose version a path leads to."""
        operation = self._operation
        if path[0] == "rows":
            key = path[1]
        elif isinstance(operation, Get):
            key = operation.key
        else:
            number = path[path.index("parts") + 1] if "parts" in path else 0
            key = writes_of(operation)[number].key
        return operation.table.lower(), key


def _order(engine: Mapping[Any, Any], azurite: Mapping[Any, Any]) -> Iterator[Difference]:
    """Yield a difference if the rows that are in both come in another order."""
    ours, theirs = [name for name in engine if name in azurite], [name for name in azurite if name in engine]
    if ours != theirs:
        yield Difference(("order",), ours, theirs)


def _etag(timestamp: str) -> str:
    return f"W/\"datetime'{quote(timestamp)}'\""
