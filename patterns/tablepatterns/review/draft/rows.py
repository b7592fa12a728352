"""Rows of one kind, with the fields of their keys."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, TypeAlias
from uuid import UUID

from ...edm import Int64, Ticks
from ...entity import Entity
from ...errors import BadKey
from ...key.formats import format_of
from ..design.model import FieldType
from .kinds import Kind
from .sampling import Keys
from .templates import Part, Slot, recognized, slots, template_of

Find: TypeAlias = Callable[[Keys], Awaitable[Entity | None]]
"""Returns the row with some keys, if it was read or may still be asked for."""

_TYPES: Final[Mapping[type, FieldType]] = {
    str: "string",
    bool: "boolean",
    int: "int32",
    Int64: "int64",
    float: "double",
    bytes: "binary",
    UUID: "guid",
    Ticks: "datetime",
}
_NAMED: Final[Mapping[FieldType, str]] = {"guid": "Id", "datetime": "At", "double": "Value", "string": "Name"}


def type_of(value: object) -> FieldType:
    """Return the EDM type of a stored value."""
    return _TYPES.get(type(value), "datetime")


def spelled(spec: str, value: object) -> str | None:
    """Return the text of a value in a key; None if it has none in this format."""
    try:
        return str(value) if not spec and type(value) in (int, Int64) else format_of("value", spec).write(value)
    except BadKey:
        return None


@dataclass
class Rows:
    """The rows of one kind in one table.

    :param kind: the rows
    :param table: the table
    :param partition: the parts of their PartitionKey
    :param row: the parts of their RowKey
    :param names: the names of the fields of both keys, None where unknown
    """

    kind: Kind
    table: str
    partition: list[Part]
    row: list[Part]
    names: list[str | None] = field(default_factory=list[str | None])
    guesses: list[str] = field(default_factory=list[str])
    """The names that nothing in the rows says."""
    joined: list[str] = field(default_factory=list[str])
    """The properties whose texts were found in the key, over what looked like several fields."""

    @classmethod
    def of(cls, kind: Kind, table: str) -> Rows:
        """Return the rows of a kind, with the templates that their keys were written with."""
        first, second = (recognized([str(row[half]) for row in kind.rows]) for half in ("PartitionKey", "RowKey"))
        found = cls(kind, table, first, second)
        found.names = [None] * len(found.slots)
        found._name_by_properties()
        return found

    @property
    def rows(self) -> Sequence[Entity]:
        """The rows themselves."""
        return self.kind.rows

    @cached_property
    def slots(self) -> list[Slot]:
        """The fields of the PartitionKey, then those of the RowKey."""
        return [*slots(self.partition), *slots(self.row)]

    @property
    def partition_slots(self) -> int:
        """How many fields the PartitionKey has."""
        return len(slots(self.partition))

    @cached_property
    def by_keys(self) -> dict[Keys, int]:
        """The number of each row, by its keys."""
        return {(row["PartitionKey"], row["RowKey"]): at for at, row in enumerate(self.rows)}

    def change_spec(self, at: int, spec: str) -> None:
        """Give a field of the key another format."""
        old = self.slots[at]
        new = Slot(spec, old.texts, old.type, old.literal)
        for parts in (self.partition, self.row):
            parts[:] = [new if part is old else part for part in parts]
        self.__dict__.pop("slots", None)

    def join_parts(self, names: Sequence[str], numbers: Sequence[int], texts: Sequence[Sequence[str]]) -> bool:
        """Make several parts of a key one text, if some rows show that a property has it; return whether it was found.

        Text that ends alike in all keys, such as addresses of one domain, otherwise looks like several fields.

        :param names: the properties
        :param numbers: some rows of this kind
        :param texts: for each property its texts, one for each of these rows
        """
        for half, parts in (("RowKey", self.row), ("PartitionKey", self.partition)):
            keys = [str(self.rows[at][half]) for at in numbers]
            for each, wanted in zip(names, texts, strict=True):
                starts = {key.find(text) for key, text in zip(keys, wanted, strict=True)}
                if len(set(wanted)) < 2 or len(starts) > 1 or -1 in starts:
                    continue
                start = starts.pop()
                ends = {key[start + len(text) :] for key, text in zip(keys, wanted, strict=True)}
                if len(ends) == 1 and self._join(half, parts, keys[0][:start], ends.pop()):
                    self.joined.append(each)
                    return True
        return False

    def _join(self, half: str, parts: list[Part], head: str, tail: str) -> bool:
        """Make a half of the key a text between two literals, if all keys have these."""
        keys = [str(row[half]) for row in self.rows]
        if not all(key.startswith(head) and key.endswith(tail) and len(key) > len(head + tail) for key in keys):
            return False
        slot = Slot("", tuple(key[len(head) : len(key) - len(tail)] for key in keys), literal=head)
        if [part for part in parts if isinstance(part, Slot)] == [slot]:
            return False
        first = self.partition_slots
        kept = self.names[first:] if half == "PartitionKey" else self.names[:first]
        parts[:] = [part for part in (head, slot, tail) if part]
        self.names = [None, *kept] if half == "PartitionKey" else [*kept, None]
        self.__dict__.pop("slots", None)
        return True

    def keys_from(self, values: Sequence[str]) -> Keys:
        """Return the keys with these texts of the fields."""
        left = iter(values)
        return _joined(self.partition, left), _joined(self.row, left)

    def value(self, at: int, name: str) -> Any:
        """Return a property of a row."""
        return self.rows[at].get(name)

    def templates(self) -> tuple[str, str]:
        """Return the templates of the key; each field has a name."""
        names = [name or "" for name in self.names]
        first = self.partition_slots
        return template_of(self.partition, names[:first]), template_of(self.row, names[first:])

    def name_rest(self, known: Mapping[tuple[str, int], str]) -> None:
        """Give each field without a name one that follows from the text in front of it, or from its type.

        :param known: the names of fields of the PartitionKey in other rows of the table, by template and number
        """
        taken = {*self.kind.properties, *(name for name in self.names if name)}
        shape = template_of(self.partition, ["x"] * self.partition_slots)
        for at in range(len(self.slots)):
            if self.names[at] is not None:
                continue
            shared = known.get((shape, at)) if at < self.partition_slots else None
            name = shared if shared and shared not in taken else self.guess_name(at)
            self.names[at] = name
            taken.add(name)

    def guess_name(self, at: int) -> str:
        """Return a name for one field of the key, which follows from the text in front of it or from its type."""
        taken = {*self.kind.properties, *(name for name in self.names if name)}
        found = _unused(self._suggested(at, self.slots[at]), taken)
        self.guesses.append(found)
        return found

    def shared_names(self) -> dict[tuple[str, int], str]:
        """Return the names of the fields of the PartitionKey, by template and number."""
        shape = template_of(self.partition, ["x"] * self.partition_slots)
        return {(shape, at): name for at, name in enumerate(self.names[: self.partition_slots]) if name}

    def _suggested(self, at: int, slot: Slot) -> str:
        word = "".join(each for each in slot.literal.rstrip("_-|:.~=").rpartition("_")[2] if each.isalnum())
        if slot.type == "datetime":
            return "Day" if slot.spec.startswith("%") and "%H" not in slot.spec else "At"
        if word and not word[0].isdigit():
            is_id = slot.type in ("int32", "int64", "guid") and not word.lower().endswith("id")
            return f"{word[0].upper()}{word[1:]}{'Id' if is_id else ''}"
        if at < self.partition_slots:
            return "Partition"
        return _NAMED.get(slot.type, "Number")

    def _name_by_properties(self) -> None:
        """Name the fields of the key that a property repeats in every row."""
        for at, slot in enumerate(self.slots):
            for name in sorted(self.kind.properties - {each for each in self.names if each}):
                spec = self.repeated(slot, [row.get(name) for row in self.rows])
                if spec is not None and len(set(slot.texts)) > 1:
                    self.names[at] = name
                    if spec != slot.spec:
                        self.change_spec(at, spec)
                    break

    def repeated(self, slot: Slot, values: Sequence[object]) -> str | None:
        """Return the format with which a field of the key has these values, one for each row; None if there is none."""
        for spec in formats(slot):
            pairs = zip(slot.texts, values, strict=True)
            if all(value is not None and spelled(spec, value) == text for text, value in pairs):
                return spec
        return None


def formats(slot: Slot) -> list[str]:
    """Return the formats that a field may have: numbers that are all above zero may be signed."""
    found = [slot.spec]
    digits = slot.spec.removeprefix("+0").removeprefix("0").removesuffix("d")
    if slot.spec.startswith("+") and digits.isdigit():
        found.append(f"0{int(digits) + 1}d")
    elif digits.isdigit() and int(digits) > 1 and slot.spec.endswith("d"):
        found.append(f"+0{int(digits) - 1}d")
    elif not slot.spec and slot.type == "string":
        found.append("escape")
    return found


def _joined(parts: Sequence[Part], values: Any) -> str:
    text = ""
    for part in parts:
        if isinstance(part, str):
            text += part
        else:
            text += next(values) + (" " if part.spec == "escape" and part is not parts[-1] else "")
    return text


def _unused(name: str, taken: set[str]) -> str:
    number = 1
    found = name
    while found in taken:
        number += 1
        found = f"{name}{number}"
    return found
