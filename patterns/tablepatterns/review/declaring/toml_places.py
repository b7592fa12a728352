"""TOML places: on which line of a TOML text a key stands, which no parser of the standard library tells."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

Path: TypeAlias = tuple[str | int, ...]
"""Where a value is: keys, and the numbers of tables in arrays of tables, from the top down."""

_HEADER: Final = re.compile(r"\s*(\[\[?)\s*([^\]#]+?)\s*\]\]?\s*(?:#.*)?$")
_KEY: Final = re.compile(
    r"""\s*((?:"[^"]*"|'[^']*'|[A-Za-z0-9_-]+)(?:\s*\.\s*(?:"[^"]*"|'[^']*'|[A-Za-z0-9_-]+))*)\s*="""
)
_PART: Final = re.compile(r"""\s*("[^"]*"|'[^']*'|[A-Za-z0-9_-]+)\s*\.?""")
_TOKEN: Final = re.compile(
    r'"""(?:\\.|[^\\])*?"""' r"|'''.*?'''" r'|"(?:\\.|[^"\\\n])*"' r"|'[^'\n]*'" r"|\#[^\n]*|[\[\]{}]", re.DOTALL
)
_OPENING: Final = ("[", "{")
_CLOSING: Final = ("]", "}")


@dataclass(frozen=True)
class Places:
    """The lines of the keys of a TOML text.

    >>> lines = ['name = "Staff"', "", "[[set]]", 'name = "Employees"', "[set.fields]", "Email = { size = 24 }"]
    >>> places = Places.of(chr(10).join(lines))
    >>> places.line(("set", 0, "fields", "Email", "size"))
    6

    :param lines: the line of each key, from 1 on
    """

    lines: Mapping[Path, int]

    @classmethod
    def of(cls, text: str) -> Places:
        """Return the lines of a text that is TOML."""
        return cls(_Scan(text).lines())

    def line(self, path: Path) -> int:
        """Return the line of a key; of one within a value on one line, that of the value; 1 for the whole."""
        for length in range(len(path), 0, -1):
            if path[:length] in self.lines:
                return self.lines[path[:length]]
        return 1


class _Scan:
    """Goes through a text line by line, past values of several lines."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._counts: dict[Path, int] = {}
        self._found: dict[Path, int] = {}

    def lines(self) -> dict[Path, int]:
        """Return the line of each key."""
        position, table = 0, Path()
        while position < len(self._text):
            end = self._text.find("\n", position)
            end = len(self._text) if end < 0 else end
            line = self._text[position:end]
            number = self._text.count("\n", 0, position) + 1
            if header := _HEADER.match(line):
                table = self._entered(_parts(header[2]), is_array=header[1] == "[[")
                self._found.setdefault(table, number)
            elif key := _KEY.match(line):
                self._found.setdefault((*table, *_parts(key[1])), number)
                end = self._end_of_value(position + key.end())
            position = end + 1
        return self._found

    def _entered(self, names: list[str], *, is_array: bool) -> Path:
        path: Path = ()
        for at, name in enumerate(names):
            path = (*path, name)
            if is_array and at == len(names) - 1:
                self._counts[path] = self._counts.get(path, 0) + 1
            if path in self._counts:
                path = (*path, self._counts[path] - 1)
        return path

    def _end_of_value(self, start: int) -> int:
        """Return where the line ends on which a value ends."""
        depth = 0
        while True:
            line = self._text.find("\n", start)
            line = len(self._text) if line < 0 else line
            token = _TOKEN.search(self._text, start)
            if token is None or (token.start() > line and depth == 0):
                return line
            depth += (token[0] in _OPENING) - (token[0] in _CLOSING)
            start = token.end()


def _parts(key: str) -> list[str]:
    return [part[1].strip("\"'") for part in _PART.finditer(key)]
