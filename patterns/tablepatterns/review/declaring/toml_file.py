"""TOML file: what a file holds, and everything that is wrong with it, by line."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

from ...errors import BadInput
from .toml_places import Places
from .toml_tables import Problem

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

Refusal: TypeAlias = Callable[[str, Sequence[tuple[int, str]]], BadInput]
"""Makes the error of a file, from its name, and for each problem its line and what is wrong."""

_PLACE: Final = re.compile(r"\s*\(at line (\d+), column \d+\)")


def lines(name: str, problems: Iterable[tuple[int, str]]) -> str:
    """Return what is wrong with a file, a line for each, as compilers write them, so that an editor leads there."""
    return "\n".join(f"{name}:{line}: {says}" for line, says in problems)


@dataclass(frozen=True)
class TomlFile:
    """A text in TOML.

    :param name: what it is called where something is wrong with it
    :param text: what it holds
    :param refusal: makes the error that is raised then
    """

    name: str
    text: str
    refusal: Refusal

    @classmethod
    def of(cls, given: str | Path, name: str, refusal: Refusal) -> TomlFile:
        """Return what is at a path, or a text with more than one line, which is called `name`."""
        if isinstance(given, str) and "\n" in given:
            return cls(name, given, refusal)
        path = Path(given)
        return cls(path.name, path.read_text(encoding="utf-8"), refusal)

    def values(self) -> Mapping[str, Any]:
        """Return what the text says, or raise the refusal: it is not TOML."""
        try:
            return tomllib.loads(self.text)
        except tomllib.TOMLDecodeError as error:
            place = _PLACE.search(str(error))
            line = int(place[1]) if place else self.text.count("\n") + 1
            says = f"it is not TOML: {_PLACE.sub('', str(error)).strip()}"
            raise self.refusal(self.name, [(line, says)]) from error

    def refused(self, problems: Iterable[Problem]) -> BadInput:
        """Return the refusal: all that is wrong, in the order of its lines, and each once."""
        places = Places.of(self.text)
        return self.refusal(self.name, sorted({(places.line(each.path), each.says) for each in problems}))
