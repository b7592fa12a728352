"""TOML tables: values of a declared type read from a TOML table, and everything that is wrong with it collected."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Final, cast

from .toml_places import Path

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

    path: Path
    says: str


class Section:
    """One table of a file. What is wrong is noted, and read as if it were not there.

    :param values: the table
    :param path: where it is
    :param whose: what an error calls it, such as `query "by e-mail"`
    :param problems: where problems are noted
    """

    def __init__(self, values: Mapping[str, Any], path: Path, whose: str, problems: list[Problem]) -> None:
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
