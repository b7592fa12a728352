"""The closed set of formats, by the spelling that a template uses."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from typing import Final
from uuid import UUID

from ..errors import BadDesign
from .format import Format
from .language import HEX, Characters, one_of
from .moments import Calendar, InvertedTicks, TickCount
from .numbers import Float, Padded, Signed
from .text import FORBIDDEN, Escaped, Text


class Uuid(Format):
    """A UUID in its usual 36 characters, lower case."""

    @cached_property
    def characters(self) -> Sequence[Characters]:
        return [one_of("-") if each == "-" else HEX for each in str(UUID(int=0))]

    def write(self, value: object) -> str:
        if not isinstance(value, UUID):
            raise self.refusal(value, f"it must be a UUID, not {type(value).__name__}", "convert it")
        return str(value)

    def read(self, text: str) -> UUID:
        return UUID(text)


_NAMED: Final[dict[str, type[Format]]] = {
    "": Text,
    "escape": Escaped,
    "float": Float,
    "ticks": TickCount,
    "inverted": InvertedTicks,
    "uuid": Uuid,
}
_INTEGER: Final = re.compile(r"(\+?)0([1-9][0-9]*)d")


def format_of(name: str, spec: str) -> Format:
    """Return the format that a template names for a field, or raise BadDesign."""
    if spec in _NAMED:
        return _NAMED[spec](name)
    integer = _INTEGER.fullmatch(spec)
    if integer:
        return (Signed if integer[1] else Padded)(name, int(integer[2]))
    if Calendar.allows(spec) and not FORBIDDEN.search(spec):
        return Calendar(name, spec)
    known = "no format, escape, 06d, +06d, float, ticks, inverted, uuid, or a date such as %Y-%m-%d from the year down"
    raise BadDesign(f"the format of {{{name}}}", spec, "a key knows no such format", f"use {known}")
