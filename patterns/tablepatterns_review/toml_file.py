"""Read a TOML file into declared types, and report all its errors with line and key.

The types are dataclasses; pydantic checks the values against them, and derives the JSON Schema.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias, TypeVar, cast, get_args, get_origin, get_type_hints

from tablepatterns.errors import BadInput, short_repr
from tablepatterns.figures import number

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib
if TYPE_CHECKING:
    from pydantic import TypeAdapter

T = TypeVar("T")

TomlPath: TypeAlias = tuple[str | int, ...]
"""The path of a value from the root: keys, and indexes of tables in arrays of tables."""

_MARK: Final = "\ufdd0"
"""Stands in a rendered text where a key is; no text has this noncharacter."""


class Places:
    """The lines of the keys of a valid TOML text.

    >>> lines = ['name = "Staff"', "", "[[set]]", 'name = "Employees"', "[set.fields]", "Email = { size = 24 }"]
    >>> Places(chr(10).join(lines)).line(("set", 0, "fields", "Email", "size"))
    6
    """

    def __init__(self, text: str) -> None:
        import tomlkit
        from tomlkit.exceptions import ParseError

        self._document: Any = tomlkit.document()
        self._first = 1
        try:
            self._document = tomlkit.parse(text)
        except ParseError as error:
            # It rejects what other parsers read: keys that are nested very deeply
            self._first = error.line

    def line(self, path: TomlPath) -> int:
        """Return the line of a key, or of the nearest enclosing key that has a line; 1 for the whole file."""
        owners: list[Any] = [(None, self._document)]
        line = self._first
        for step in path:
            owners = list(_children([item for _, item in owners], step))
            line = next(filter(None, (self._line_of(key, item) for key, item in owners)), line)
        return line

    def _line_of(self, key: Any, item: Any) -> int | None:
        """Return the line of a key in the document, by rendering the document with a mark at the key."""
        for owner, attribute in _marked(key, item):
            before = getattr(owner, attribute)
            setattr(owner, attribute, f"{_MARK}{before}")
            text: str = self._document.as_string()
            setattr(owner, attribute, before)
            if _MARK in text:
                return text.count("\n", 0, text.index(_MARK)) + 1
        return None


def _children(owners: Iterable[Any], step: str | int) -> Iterable[tuple[Any, Any]]:
    """Yield the keys and items at a step; a table may be written in several places of a file."""
    from tomlkit.container import Container
    from tomlkit.items import AoT, Array, InlineTable, Table

    if isinstance(step, int):
        arrays = (cast("list[Any]", owner) for owner in owners if isinstance(owner, (AoT, Array)))
        items = [item for array in arrays for item in array]
        yield from ((None, item) for item in items[step : step + 1])
        return
    for owner in owners:
        container = owner.value if isinstance(owner, (Table, InlineTable)) else owner
        body = container.body if isinstance(container, Container) else ()
        yield from ((key, item) for key, item in body if key is not None and key.key == step)


def _marked(key: Any, item: Any) -> Iterable[tuple[Any, str]]:
    """Yield the attributes of a key and its item that are rendered where the key is."""
    from tomlkit.items import AoT, Table

    if isinstance(item, AoT):
        yield from ((table.trivia, "indent") for table in item.body[:1])
    elif isinstance(item, Table):
        yield item.trivia, "indent"
        # A table that only dotted keys or headers of other tables mention
        for inner, value in item.value.body:
            if inner is not None:
                yield from _marked(inner, value)
    elif key is not None:
        yield key, "sep"


TAG: Final = "pattern="
"""The prefix of the tags of union members, so that they cannot be confused with keys of a file."""
_MOST_DEPTH: Final = 20
_LARGEST: Final = 2**63 - 1
"""The largest integer in TOML."""
_PLACE: Final = re.compile(r"\s*\(at line (\d+), column \d+\)")
_TWICE: Final = re.compile("Cannot (overwrite|declare|mutate)")
_KEY: Final = re.compile(r"^[\s\[]*([^=\]]+)")
_A_DATE: Final = "a date without quotes, such as 2026-09-12"
_EXPECTED: Final[Mapping[str, str]] = {
    "string_type": "text in quotes",
    "int_type": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "tuple_type": "a list",
    "finite_number": "a finite number",
    **dict.fromkeys(("dict_type", "mapping_type", "dataclass_type", "union_tag_not_found"), "a table"),
    **dict.fromkeys(("date_type", "date_parsing", "date_from_datetime_parsing"), _A_DATE),
}
_BOUNDS: Final = {
    "greater_than_equal": "it must be {} or more",
    "greater_than": "it must be above {}",
    "less_than_equal": "it must be {} or less",
}


@dataclass(frozen=True)
class Problem:
    """A problem of a file, at a key."""

    path: TomlPath
    says: str


MakeError: TypeAlias = Callable[[str, Sequence[tuple[int, str]]], BadInput]
"""Returns the error of a file: from its name, and the line and the text of each problem."""


def lines_of(name: str, problems: Iterable[tuple[int, str]]) -> str:
    """Return the errors of a file in the format of compilers, which editors can link."""
    return "\n".join(f"{name}:{line}: {problem}" for line, problem in problems)


@dataclass(frozen=True)
class TomlFile:
    name: str
    text: str
    make_error: MakeError

    @classmethod
    def of(cls, given: str | Path, name: str, make_error: MakeError) -> TomlFile:
        """Return the file at a path, or a text of more than one line under the name `name`."""
        if isinstance(given, str) and "\n" in given:
            return cls(name, given, make_error)
        path = Path(given)
        data = path.read_bytes()
        try:
            # Windows editors write a byte order mark, which is not part of the text
            return cls(path.name, data.decode("utf-8-sig"), make_error)
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            raise make_error(path.name, [(line, f"the file is not UTF-8 text{_encoding(data)}")]) from None

    def values(self) -> Mapping[str, Any]:
        try:
            values = tomllib.loads(self.text)
        except (RecursionError, ValueError) as error:
            place = _PLACE.search(str(error))
            says = _PLACE.sub("", str(error)).strip()
            line = int(place[1]) if place else self.text.count("\n") + 1
            if isinstance(error, RecursionError):
                says, line = "nested too deeply", self._line_with_most(r"[\[{.]")
            elif not isinstance(error, tomllib.TOMLDecodeError):
                # An integer with more digits than Python converts
                line = self._line_with_most(r"\d")
            if key := _TWICE.match(says) and _KEY.search(self.text.splitlines()[line - 1]):
                says = f"{key[1].strip()} is declared twice; keep one of them"
            raise self.make_error(self.name, [(line, f"not TOML: {says}")]) from error
        problems = list(_unreadable(values, ()))
        if problems:
            raise self.error(problems)
        return values

    def read(self, kind: type[T], values: Mapping[str, Any] | None = None) -> T:
        """Return the content of the file as a dataclass; an error lists every problem."""
        from pydantic import ValidationError

        values = self.values() if values is None else values
        try:
            # JSON mode is strict about types, but accepts lists for tuples and tables for dataclasses
            return cast(T, adapter(cast(Hashable, kind)).validate_json(json.dumps(values, default=str)))
        except ValidationError as error:
            raise self.error(_problem(each, kind, values) for each in error.errors()) from None

    def error(self, problems: Iterable[Problem]) -> BadInput:
        """Return the error for these problems, ordered by line and without duplicates."""
        places = Places(self.text)
        return self.make_error(self.name, sorted({(places.line(each.path), each.says) for each in problems}))

    def _line_with_most(self, pattern: str) -> int:
        """Return the line with the most matches, since the parser does not report a position."""
        counts = [len(re.findall(pattern, line)) for line in self.text.splitlines()]
        return counts.index(max(counts)) + 1 if counts else 1


@lru_cache(maxsize=16)
def adapter(kind: Hashable) -> TypeAdapter[Any]:
    """Return the pydantic adapter of a type; only reading a file waits for the import."""
    from pydantic import TypeAdapter

    return TypeAdapter(cast("type[Any]", kind))


def _encoding(data: bytes) -> str:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return ", it is UTF-16; save it as UTF-8"
    return ", it holds binary data" if b"\0" in data else "; save it as UTF-8"


def _unreadable(value: Any, path: TomlPath) -> Iterable[Problem]:
    """Yield a problem for each value that is valid TOML, but too deep or too large."""
    if isinstance(value, int) and not -_LARGEST <= value <= _LARGEST:
        yield Problem(path, f"{path[-1]} has more than 64 bits; give a smaller number")
    elif isinstance(value, (dict, list)) and len(path) > _MOST_DEPTH:
        yield Problem(path, "nested too deeply")
    elif isinstance(value, dict):
        for name, item in cast("dict[str, Any]", value).items():
            yield from _unreadable(item, (*path, name))
    elif isinstance(value, list):
        for number, item in enumerate(cast("Sequence[Any]", value)):
            yield from _unreadable(item, (*path, number))


def _problem(error: Any, kind: type[Any], values: Mapping[str, Any]) -> Problem:
    """Convert an error of pydantic into a problem with a key of the file."""
    path = tuple(item for item in error["loc"] if not str(item).startswith(TAG))
    name = next((item for item in reversed(path) if isinstance(item, str)), "")
    given, sort, context = _at(values, path), error["type"], error.get("ctx", {})
    owner, says = owner_of(values, path[:-1]), ""
    if sort in ("unexpected_keyword_argument", "extra_forbidden"):
        says = f"{name} is not a known key; {meant(name, known_keys(kind, error['loc'][:-1]))}"
    elif sort == "missing":
        says, path = f"{name} is missing", path[:-1]
    elif sort in ("literal_error", "enum"):
        says = f"{name} = {short_repr(given)}: {meant(given, _choices(context['expected']))}"
    elif sort == "union_tag_invalid":
        owner, path = owner_of(values, path), (*path, "pattern")
        pattern, choices = _at(values, path), [text.removeprefix(TAG) for text in _choices(context["expected_tags"])]
        says = "pattern is missing; " if pattern is None else f"pattern = {short_repr(pattern)}: "
        says += meant(pattern, choices)
    elif sort == "value_error":
        says = str(context["error"])
    elif sort == "string_too_short":
        says = f"{name} is empty; it must be text in quotes"
    elif sort in _BOUNDS:
        says = f"{name} = {short_repr(given)}: {_BOUNDS[sort].format(number(next(iter(context.values()))))}"
    elif sort in _EXPECTED:
        says = f"{name} = {short_repr(given)}: expected {_EXPECTED[sort]}"
    else:
        says = f"{name} = {short_repr(given)}: {error['msg'][:1].lower()}{error['msg'][1:]}"
    return Problem(path, f"{owner}: {says}" if owner else says)


def _choices(text: str) -> list[str]:
    """Return the choices from pydantic's list, such as `'a', 'b' or 'c'`."""
    return re.findall(r"'([^']*)'", text)


def owner_of(values: Mapping[str, Any], path: TomlPath) -> str:
    """Return the description of the table at a path, by the names in the file.

    >>> owner_of({"set": [{"name": "Staff", "query": [{}]}]}, ("set", 0, "query", 0))
    'query 1'
    """
    owner = ""
    for at, step in enumerate(path):
        if isinstance(step, int):
            here = path[: at + 1]
            called = _at(values, (*here, "name")) or _at(values, (*here, "pattern"))
            owner = f'{path[at - 1]} "{called}"' if called else f"{path[at - 1]} {step + 1}"
        elif at + 1 == len(path) or not isinstance(path[at + 1], int):
            owner = f"{owner}: {step}" if owner and not owner.endswith("fields") else f"{owner}.{step}".lstrip(".")
    return owner


def _at(values: Any, path: TomlPath) -> Any:
    try:
        for step in path:
            values = values[step]
    except (KeyError, IndexError, TypeError):
        return None
    return values


def meant(found: object, choices: Sequence[str], noun: str = "") -> str:
    """Return a suggestion: the name that was probably meant, or the names that exist, which are called `noun`.

    >>> meant("Emial", ["Email", "Department"], "fields"), meant(1, ["a", "b"])
    ('did you mean Email?', 'use one of a, b')
    """
    near = get_close_matches(found, choices, n=1) if isinstance(found, str) else []
    return (
        f"did you mean {near[0]}?" if near else f"{f'{noun}:' if noun else 'use one of'} {', '.join(choices) or 'none'}"
    )


# -- Documentation of declared types

_PARAM: Final = re.compile(r":param (\w+): (.*?)(?=\n\s*:|\Z)", re.DOTALL)


def known_keys(kind: Any, path: Sequence[str | int]) -> list[str]:
    for step in path:
        kind = _inner(kind, step)
    return [field.name for field in fields(kind)] if is_dataclass(kind) else []


def _inner(kind: Any, step: str | int) -> Any:
    if is_dataclass(kind):
        return bare(get_type_hints(kind, include_extras=True).get(str(step)))
    arguments = get_args(kind)
    if isinstance(step, int):
        return bare(arguments[0])
    if step.startswith(TAG):
        members = map(get_args, arguments)
        return next(member[0] for member in members if getattr(member[-1], "tag", None) == step)
    return bare(arguments[-1])


def bare(kind: Any) -> Any:
    """Return a type without annotations and without None."""
    kind = get_args(kind)[0] if get_origin(kind) is Annotated else kind
    some = [argument for argument in get_args(kind) if argument is not type(None)]
    is_optional = type(None) in get_args(kind) and len(some) == 1
    return bare(some[0]) if is_optional else kind


def meanings(kind: type[Any]) -> dict[str, str]:
    """Return the meaning of each key of a table, from the docstrings of its class and of the base classes."""
    found: dict[str, str] = {}
    for each in reversed(kind.__mro__):
        found |= {name: " ".join(text.split()) for name, text in _PARAM.findall(each.__doc__ or "")}
    return found


def described_schema(schema: dict[str, Any], groups: Iterable[Iterable[type[Any]]]) -> dict[str, Any]:
    """Add the meaning of each key of these types to a JSON Schema."""
    definitions = {**schema.get("$defs", {}), str(schema.get("title")): schema}
    for kind in (each for group in groups for each in group):
        table = definitions.get(kind.__name__)
        if table is None:
            continue
        table["description"] = (kind.__doc__ or "").splitlines()[0]
        meaning_of = meanings(kind)
        for field in fields(kind):
            key = table["properties"][field.name]
            key.pop("title", None)
            if field.name in meaning_of:
                key["description"] = meaning_of[field.name]
    return schema
