"""Write Python expressions and names, for the modules of `review --code` and for advice."""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, dataclass, fields
from typing import Any

from tablepatterns.entity_set.derived import Derived
from tablepatterns.entity_set.placement import InBlobs, InTable
from tablepatterns.key import Key

from .design.derived_arguments import arguments_of


@dataclass(frozen=True)
class CodeNames:
    """What the generated code calls the parts of a set: variable, constant of the key, and the model if it has one.

    :param options: the arguments `derived` and `mappings`, if the set has such parts
    """

    set: str
    key: str
    model: str | None
    options: Mapping[str, str | None]


def call(function: str, *arguments: str, **named: str | None) -> str:
    """Return a call; named arguments that are None are left out."""
    options = (f"{name}={value}" for name, value in named.items() if value is not None)
    return f"{function}({', '.join((*arguments, *options))})"


def array(items: Iterable[str]) -> str:
    return f"[{', '.join(items)}]"


def text(value: str) -> str:
    r"""Return the literal of a string, in double quotes.

    >>> print(text("a 'b'"), text('a "b"'))
    "a 'b'" "a \"b\""
    """
    # With both kinds of quotes, only the single ones are escaped
    inner = repr(f"'{value}\"")[3:-1].removesuffix('"').replace("\\'", "'")
    return '"' + inner.replace('"', '\\"') + '"'


def source(value: Any) -> str:
    """Return the expression of a value: a text, a list, a key, or where derived rows are stored."""
    match value:
        case str():
            return text(value)
        case [*items]:
            return array(map(source, items))
        case Key():
            most = None if value.max_units == Key("a", "b").max_units else str(value.max_units)
            return call("Key", text(value.partition_template), text(value.row_template), max_units=most)
        case InTable():
            return call("InTable", *([] if value.name is None else [text(value.name)]))
        case InBlobs():
            return call("InBlobs", text(value.container))
        case _:
            return repr(value)


def derived_source(derived: Derived, **changes: Any) -> str:
    """Return the call that makes derived data, with other arguments; those of None are left out."""
    arguments = arguments_of(derived)
    positional = [source(name) for name in arguments.pop("fields", ())] or [source(arguments.pop("key"))]
    named = {name: source(value) for name, value in arguments.items()}
    return call(type(derived).__name__, *positional, **{**named, **changes})


def declaration(value: Any) -> str:
    """Return the call that makes an instance of a dataclass; arguments with their default are left out."""
    arguments: dict[str, str] = {}
    for field in fields(value):
        default = field.default_factory() if field.default_factory is not MISSING else field.default
        if (argument := getattr(value, field.name)) != default:
            arguments[field.name] = repr(argument)
    return call(type(value).__name__, **arguments)


class Names:
    """Identifiers that are unique in a module."""

    def __init__(self, used: Iterable[str] = ()) -> None:
        self._used = {*used, *dir(builtins), *keyword.kwlist, *keyword.softkwlist}

    def new(self, name: str) -> str:
        """Return a name that is not used yet: this, or this with a number."""
        unique, number = name, 1
        while unique in self._used:
            number += 1
            unique = f"{name}_{number}"
        self._used.add(unique)
        return unique


def snake(name: str) -> str:
    """Return a name for a variable.

    >>> snake("SignIns"), snake("two of 'Sales'"), snake("3"), snake("")
    ('sign_ins', 'two_of_sales', 'n3', 'n')
    """
    words = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name)
    variable = re.sub(r"[^A-Za-z0-9]+", "_", words).strip("_").lower()
    return variable if variable[:1].isalpha() else f"n{variable}"


def camel(name: str) -> str:
    """Return a name for a class.

    >>> camel("sign-in"), camel("2nd copy"), camel("日本")
    ('SignIn', 'Entity2ndCopy', 'Entity')
    """
    words = "".join(word[:1].upper() + word[1:] for word in re.split(r"[^A-Za-z0-9]+", name))
    return words if words[:1].isalpha() else f"Entity{words}"
