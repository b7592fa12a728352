"""Write Python expressions, laid out as `ruff format` does."""

from __future__ import annotations

import builtins
import keyword
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from datetime import date, datetime
from typing import Any, Final, TypeAlias, cast
from uuid import UUID

from tablepatterns.edm import Int64
from tablepatterns.key.ranges import Between, Prefix

_WIDTH: Final = 88
_LONG: Final = 60
"""The padding from which a sample value is written without it."""


@dataclass(frozen=True)
class Brackets:
    """A call or a display: what is between its brackets is written in one line, or one item per line.

    :param opening: the text up to the opening bracket
    :param items: each item with the text before it, such as `name=`
    :param closing: the closing bracket
    """

    opening: str
    items: Sequence[tuple[str, Expression]]
    closing: str = ")"


Expression: TypeAlias = str | Brackets


def call(function: str, *arguments: Expression, **named: Expression | None) -> Brackets:
    """Return a call; named arguments that are None are left out."""
    given = [(f"{name}=", value) for name, value in named.items() if value is not None]
    return Brackets(f"{function}(", [*(("", each) for each in arguments), *given])


def listed(items: Iterable[Expression]) -> Brackets:
    """Return a list."""
    return Brackets("[", [("", each) for each in items], "]")


def lines_of(prefix: str, expression: Expression, suffix: str = "", indent: int = 0) -> list[str]:
    """Return the lines of a statement or an item."""
    line = f"{' ' * indent}{prefix}{flat(expression)}{suffix}"
    if isinstance(expression, str) or not expression.items or len(line) <= _WIDTH:
        return [line]
    lines = [f"{' ' * indent}{prefix}{expression.opening}"]
    for before, item in expression.items:
        lines += lines_of(before, item, ",", indent + 4)
    return [*lines, f"{' ' * indent}{expression.closing}{suffix}"]


def flat(expression: Expression) -> str:
    """Return an expression in one line."""
    if isinstance(expression, str):
        return expression
    comma = "," if expression.opening == "(" and len(expression.items) == 1 else ""
    inner = ", ".join(f"{before}{flat(item)}" for before, item in expression.items)
    return f"{expression.opening}{inner}{comma}{expression.closing}"


def text(value: str) -> str:
    """Return the literal of a string, with the quotes that need fewer backslashes.

    >>> print(text("a 'b'"), text('a "b"'))
    "a 'b'" 'a "b"'
    """
    # The width of other characters depends on the program that shows them
    is_plain = all(
        unicodedata.east_asian_width(character) not in "WFA" and not unicodedata.combining(character)
        for character in value
    )
    inner = (repr if is_plain else ascii)(f"'{value}\"")[3:-1].removesuffix('"')
    # With both kinds of quotes, only the single ones are escaped
    inner = inner.replace("\\'", "'")
    if value.count('"') > value.count("'"):
        return "'" + inner.replace("'", "\\'") + "'"
    return '"' + inner.replace('"', '\\"') + '"'


def literal(value: Any) -> Expression:
    """Return the literal of a value of a design, or of a sample entity."""
    match value:
        case str():
            start = value.rstrip("x")
            return text(value) if len(value) - len(start) < _LONG else f'{text(start)}.ljust({len(value)}, "x")'
        case bytes():
            is_one = len(set(value)) == 1
            return f"bytes([{value[0]}]) * {len(value)}" if is_one else f"bytes.fromhex({text(value.hex())})"
        case Int64():
            return f"Int64({int(value)})"
        case datetime():
            parts = list(value.timetuple()[:6])
            parts += [value.microsecond] if value.microsecond else []
            return call("datetime", *map(str, parts), tzinfo="timezone.utc")
        case date():
            return f"date({value.year}, {value.month}, {value.day})"
        case UUID():
            return call("UUID", text(str(value)))
        case Between():
            return call("between", literal(cast("Any", value.low)), literal(cast("Any", value.high)))
        case Prefix():
            return call("prefix", text(value.text))
        case tuple():
            return Brackets("(", [("", literal(each)) for each in cast("tuple[object, ...]", value)])
        case Mapping():
            return entries(cast("Mapping[str, object]", value))
        case _:
            return repr(value)


def entries(values: Mapping[str, object]) -> Brackets:
    """Return a dictionary."""
    return Brackets("{", [(f"{text(name)}: ", literal(value)) for name, value in values.items()], "}")


def declared(value: Any) -> Brackets:
    """Return the call that makes an instance of a dataclass; arguments with their default are left out."""
    given: dict[str, Expression] = {}
    for field in fields(value):
        default = field.default_factory() if field.default_factory is not MISSING else field.default
        if (found := getattr(value, field.name)) != default:
            given[field.name] = literal(found)
    return call(type(value).__name__, **given)


class Names:
    """Identifiers that are unique in a module.

    :param taken: names that are used already
    """

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = {*taken, *dir(builtins), *keyword.kwlist, *keyword.softkwlist}

    def new(self, name: str) -> str:
        """Return a name that is not taken: this, or this with a number."""
        found, number = name, 1
        while found in self._taken:
            number += 1
            found = f"{name}_{number}"
        self._taken.add(found)
        return found


def snake(name: str) -> str:
    """Return a name for a variable.

    >>> snake("SignIns"), snake("two of 'Sales'"), snake("3"), snake("")
    ('sign_ins', 'two_of_sales', 'n3', 'n')
    """
    words = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name)
    found = re.sub(r"[^A-Za-z0-9]+", "_", words).strip("_").lower()
    return found if found[:1].isalpha() else f"n{found}"


def camel(name: str) -> str:
    """Return a name for a class.

    >>> camel("sign-in")
    'SignIn'
    """
    return "".join(word[:1].upper() + word[1:] for word in re.split(r"[^A-Za-z0-9]+", name)) or "Entity"
