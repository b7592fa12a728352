"""Correct keys that a recipe would reject, so that the rest can be reviewed. Each correction is a finding."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from string import Formatter
from typing import Final

from tablepatterns.errors import BadDesign
from tablepatterns.figures import plural
from tablepatterns.key import Key
from tablepatterns.key.formats import escaped_braces
from tablepatterns.limits import FORBIDDEN_IN_KEYS

from ..design.distribution import names_one, values_in
from ..design.key_parts import key_text
from ..design.model import FieldType, Flaw, Shape

_FORMATS: Final[Mapping[FieldType, str]] = {"datetime": "ticks", "guid": "uuid", "double": "float"}
_INTEGERS: Final = ("int32", "int64")
_PLAIN_NUMBER: Final = re.compile(r"(?:[1-9]\d*)?d?$")
_FEWEST_DIGITS: Final = 6
_FORBIDDEN: Final = re.compile(FORBIDDEN_IN_KEYS)


@dataclass
class Corrections:
    flaws: list[Flaw] = field(default_factory=list["Flaw"])

    def templates(self, subject: str, partition: str, row: str, shape: Shape, years: float) -> tuple[str, str]:
        """Return the templates of a key, if possible in a form that `Key` accepts.

        :param subject: the set, or its derived data
        :param years: the years of growth for which numbers must have enough digits
        """
        seen: dict[str, str] = {}
        halves: list[str] = []
        for half in (partition, row):
            try:
                pieces = [(literal, name, spec or "") for literal, name, spec, _ in Formatter().parse(half)]
            except ValueError:
                return partition, row
            halves.append("".join(self._piece(subject, piece, seen, shape, years) for piece in pieces))
        return self._separated(subject, *halves)

    def _piece(
        self, subject: str, piece: tuple[str, str | None, str], seen: dict[str, str], shape: Shape, years: float
    ) -> str:
        literal, name, spec = piece
        # A parsed literal has single braces
        literal = escaped_braces(self._allowed(subject, literal))
        if name is None:
            return literal
        if name in seen:
            self.flaws.append(_twice(subject, name, is_same=spec == seen[name]))
            return literal.rstrip("_-|")
        seen[name] = spec
        wanted = self._format(subject, name, spec, shape, years)
        return f"{literal}{{{name}:{wanted}}}" if wanted else f"{literal}{{{name}}}"

    def _allowed(self, subject: str, literal: str) -> str:
        if not _FORBIDDEN.search(literal):
            return literal
        says = f"The key of {subject} contains {literal!r}, which no key can contain."
        self.flaws.append(Flaw("forbidden", subject, says, "Use another separator, such as '_'."))
        return _FORBIDDEN.sub("_", literal)

    def _format(self, subject: str, name: str, spec: str, shape: Shape, years: float) -> str:
        """Return the format that preserves the order of a field's values."""
        kind = shape.fields[name].type if name in shape.fields else "string"
        if kind in _INTEGERS and _PLAIN_NUMBER.match(spec):
            most = shape.fields[name].distinct or shape.count + shape.growth * years
            wanted = f"0{max(_FEWEST_DIGITS, len(str(math.ceil(most))) + 1)}d"
        elif kind in _FORMATS and not spec:
            wanted = _FORMATS[kind]
        else:
            return spec
        if kind != "guid":
            given = f"{{{name}:{spec}}}" if spec else f"{{{name}}}"
            order = "10 sorts before 9" if kind in _INTEGERS else "values sort as text"
            says = f"{name} is written to the key of {subject} as {given}, without padding: {order}."
            self.flaws.append(Flaw("unpadded", subject, says, f"Write it as {{{name}:{wanted}}}.", (name,)))
        return wanted

    def _separated(self, subject: str, partition: str, row: str) -> tuple[str, str]:
        """Return the templates with a separator after each text field that another field follows."""
        apart = partition.replace("}{", "}_{"), row.replace("}{", "}_{")
        if apart == (partition, row):
            return apart
        with suppress(BadDesign):
            Key(partition, row)
            return partition, row
        says = f"In the key of {subject}, nothing separates a text from the field that follows."
        better = "Put a separator between them, or use the format 'escape': 'a', 'bc' and 'ab', 'c' make the same key."
        self.flaws.append(Flaw("ambiguous", subject, says, better))
        return apart

    def overlapping(self, subject: str, key: Key, whose: str, other_key: Key) -> None:
        says = (
            f"Rows of {subject} can have the same keys as those of {whose}: {key_text(key)} and {key_text(other_key)}."
        )
        better = "Begin the RowKeys of each kind with a prefix of its own, such as 'order_' and 'item_'."
        self.flaws.append(Flaw("overlap", subject, says, better))

    def enough(self, subject: str, key: Key, shape: Shape, tables: int) -> Shape:
        """Return a shape whose key fields have enough values for each entity of a table to have its own key."""
        names = [name for name in key.fields if name in shape.fields]
        if len(names) < len(key.fields) or shape.count <= 1 or names_one(shape, names):
            return shape
        there = values_in(shape, names)
        if not names or there * tables >= shape.count:
            return shape
        says = (
            f"The key of {subject} has {plural(there, 'different value')} for {plural(shape.count / tables, 'entity')}"
            f"{' of each period' if tables > 1 else ''}: a second entity with the same key is rejected."
        )
        better = f"Add a field to the RowKey that tells them apart, such as {{{shape.entity}Id:uuid}}."
        self.flaws.append(Flaw("too-few", subject, says, better))
        # Assume enough values for one of the fields
        free = [name for name in key.row_fields if shape.fields[name].type != "boolean"] or names
        widened = max(free, key=lambda name: values_in(shape, [name]))
        distinct = 2 * math.ceil(values_in(shape, [widened]) * shape.count / max(1.0, there))
        field = replace(shape.fields[widened], distinct=min(distinct, shape.count), within=None, order="none")
        return replace(shape, fields={**shape.fields, widened: field})


def _twice(subject: str, name: str, *, is_same: bool) -> Flaw:
    if is_same:
        says = f"{name} is in both keys of {subject}, so each partition holds one value of it."
        better = "Remove it from the RowKey, and use a constant or another field there."
    else:
        says = f"{name} is in both keys of {subject}, in two formats, and a key takes each field once."
        better = "Store what the PartitionKey needs in a field of its own, such as the day of a timestamp."
    return Flaw("both-keys", subject, says, better, (name,))
