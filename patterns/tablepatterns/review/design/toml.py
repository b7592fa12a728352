"""Read typed values from a TOML file, and collect every error with its line."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final, TypeAlias, cast

from ...errors import BadInput

TomlPath: TypeAlias = tuple[str | int, ...]
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

    lines: Mapping[TomlPath, int]

    @classmethod
    def of(cls, text: str) -> Places:
        """Return the lines of a text that is TOML."""
        return cls(_Scan(text).lines())

    def line(self, path: TomlPath) -> int:
        """Return the line of a key; of one within a value on one line, that of the value; 1 for the whole."""
        for length in range(len(path), 0, -1):
            if path[:length] in self.lines:
                return self.lines[path[:length]]
        return 1


class _Scan:
    """Goes through a text line by line, past values of several lines."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._counts: dict[TomlPath, int] = {}
        self._found: dict[TomlPath, int] = {}

    def lines(self) -> dict[TomlPath, int]:
        """Return the line of each key."""
        position, table = 0, TomlPath()
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

    def _entered(self, names: list[str], *, is_array: bool) -> TomlPath:
        path: TomlPath = ()
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


_KINDS: Final[Mapping[type, str]] = {
    str: "a text",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    list: "a list",
    dict: "a table",
}


@dataclass(frozen=True)
class Problem:
    """Something wrong with a file.

    :param path: the key
    :param says: whose key it is, what is wrong with it, and the way out
    """

    path: TomlPath
    says: str


class Section:
    """One table of a file. What is wrong is noted, and read as if it were not there.

    :param values: the table
    :param path: where it is
    :param whose: what an error calls it, such as `query "by e-mail"`
    :param problems: where problems are noted
    """

    def __init__(self, values: Mapping[str, Any], path: TomlPath, whose: str, problems: list[Problem]) -> None:
        self._values = values
        self._asked: set[str] = set()
        self.path = path
        self.whose = whose
        self.problems = problems

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def is_table(self, name: str) -> bool:
        """Whether a value is a table."""
        return isinstance(self._values.get(name), dict)

    def note(self, says: str, *below: str | int) -> None:
        """Note what is wrong with a key of the table, or with the table."""
        self.problems.append(Problem((*self.path, *below), f"{self.whose}: {says}" if self.whose else says))

    def text(self, name: str, default: str | None = None, *, one_of: Sequence[str] = ()) -> str | None:
        """Return a text; it must be there unless there is a default."""
        found = cast("str | None", self._value(name, str, default))
        if found is None or not one_of or found in one_of:
            return found
        self.note(f"{name} = {found!r}: {_meant(found, one_of)}", name)
        return default

    def needed(self, name: str) -> str:
        """Return a text that must be there; empty where it is not."""
        if name not in self._values:
            self._asked.add(name)
            self.note(f"{name} is missing; give a text")
            return ""
        return self.text(name) or ""

    def number(self, name: str, default: float = 0.0, *, least: float = 0.0) -> float:
        """Return a number."""
        found = self._value(name, float, default)
        if found is not None and found < least:
            self.note(f"{name} = {found}: it must be {least:g} or more", name)
        return float(default if found is None else found)

    def perhaps(self, name: str, *, least: float = 0.0) -> float | None:
        """Return a number that need not be there."""
        self._asked.add(name)
        return self.number(name, least=least) if name in self._values else None

    def whole(self, name: str, default: int | None = None, *, least: int = 0) -> int | None:
        """Return a whole number."""
        found = cast("int | None", self._value(name, int, default))
        if found is not None and found < least:
            self.note(f"{name} = {found}: it must be {least} or more", name)
        return found

    def flag(self, name: str, *, default: bool = False) -> bool:
        """Return true or false."""
        return bool(self._value(name, bool, default))

    def texts(self, name: str) -> tuple[str, ...]:
        """Return a list of texts; one text is a list of one."""
        if isinstance(self._values.get(name), str):
            return (str(self._value(name, str, "")),)
        found = cast("list[object]", self._value(name, list, []))
        if all(isinstance(each, str) for each in found):
            return tuple(map(str, found))
        self.note(f"{name} is a list of something else than texts", name)
        return ()

    def named_texts(self, name: str) -> dict[str, str]:
        """Return a table of texts."""
        section = self.section(name)
        return {key: section.text(key) or "" for key in section}

    def section(self, name: str, whose: str | None = None) -> Section:
        """Return a table within this one; one that is not there is empty."""
        found = cast("dict[str, Any]", self._value(name, dict, {}))
        return Section(found, (*self.path, name), whose or self._below(name), self.problems)

    def sections(self, name: str, what: str) -> list[Section]:
        """Return the tables of an array of tables, each called by its own name.

        :param what: what they are, such as `query`
        """
        found = cast("list[object]", self._value(name, list, []))
        sections: list[Section] = []
        for number, each in enumerate(found):
            if not isinstance(each, dict):
                self.note(f"{name} is a list of tables: write [[{name}]]", name)
                continue
            values = cast("dict[str, Any]", each)
            called = values.get("name") or values.get("pattern")
            whose = f'{what} "{called}"' if called else f"{what} {number + 1}"
            sections.append(Section(values, (*self.path, name, number), whose, self.problems))
        return sections

    def offer(self, *names: str) -> None:
        """Take keys for known that were not asked for."""
        self._asked.update(names)

    def refuse_others(self) -> None:
        """Note keys that nobody asked for."""
        for name in self._values:
            if name not in self._asked:
                self.note(f"{name} is no key here: {_meant(name, sorted(self._asked))}", name)

    def _below(self, name: str) -> str:
        return f"{self.whose}: {name}" if self.whose else name

    def _value(self, name: str, kind: type, default: Any) -> Any:
        self._asked.add(name)
        found = self._values.get(name)
        if found is None:
            return default
        kinds = (int, float) if kind is float else (kind,)
        if not isinstance(found, kinds) or (isinstance(found, bool) and kind is not bool):
            self.note(f"{name} = {found!r}: it must be {_KINDS[kind]}", name)
            return default
        return found


def _meant(found: str, known: Sequence[str]) -> str:
    near = get_close_matches(found, known, n=1)
    return f"did you mean {near[0]}?" if near else f"give one of {', '.join(known)}"


def meant(found: str, known: Sequence[str], what: str) -> str:
    """Return what was probably meant, or what there is.

    >>> meant("Emial", ["Email", "Department"], "fields")
    'did you mean Email?'

    :param what: what the known ones are
    """
    near = get_close_matches(found, known, n=1)
    return f"did you mean {near[0]}?" if near else f"{what}: {', '.join(known) or 'none'}"


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
