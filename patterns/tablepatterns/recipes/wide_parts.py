"""Split one logical entity over several rows; this module sends no requests.

Part 1 is the head. It holds properties like any other part, and lists the rows of the value: `2` means `01` and `02`;
`2 4f8c...` means `01` and `02_4f8c...`, where the second word is the generation of a value that was too large for one
transaction. Other rows are orphans: a crashed writer did not publish them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final

from .. import limits
from ..edm import utf16_length, value_size
from ..entity import WRITE_ID, Entity, WriteIds, storable, write_ids_of
from ..errors import BadProperty, DerivedDataMismatch, LimitExceeded
from ..filters import Interval
from ..key import KeyRange, after_prefix
from ..sdk.operation import ANY, Operation

PARTS: Final = "WideParts"
"""The property of the head with the number of parts and their generation."""
MAX_PARTS: Final = 49
"""The limit that lets one transaction publish a value: its head, its other rows, and the deletion of the old ones."""
ROOM: Final = limits.MAX_CUSTOM_PROPERTIES - len((PARTS, WRITE_ID))
"""How many properties a part holds."""
PART_BYTES: Final = 15 * 64 * limits.KIB
"""1 MiB less a sixteenth, for the keys, and since the service's exact formula is not published."""

_HEAD: Final = re.compile(r"([1-9]\d?)(?: ([0-9a-f]{32}))?", re.ASCII)
_SUFFIX: Final = re.compile(r"(\d\d)(?:_([0-9a-f]{32}))?", re.ASCII)
_ROW: Final = re.compile(rf"(.*?){_SUFFIX.pattern}", re.ASCII | re.DOTALL)

Fields = Mapping[str, Any]


@dataclass(frozen=True)
class Part:
    """One row: its RowKey, its properties, the ETag it has in the table, and the ids of its last writes."""

    row_key: str
    etag: str
    write_ids: WriteIds = field(repr=False)
    fields: Fields = field(repr=False)

    def guards(self, operation: Operation) -> Operation:
        """Return a write of this row that fails if it has changed since it was read."""
        return replace(operation, etag=self.etag, write_ids=self.write_ids)


@dataclass(frozen=True)
class Stored:
    """The rows of one logical entity as they were read or written; without parts if no value is published."""

    partition_key: str
    first: str
    """The RowKey of part 1, whether it exists or not."""
    parts: tuple[Part, ...] = ()
    generation: str = ""
    orphans: tuple[Part, ...] = ()
    is_whole: bool = True

    @property
    def fields(self) -> dict[str, Any]:
        return {name: value for part in self.parts for name, value in part.fields.items()}

    @property
    def places(self) -> dict[str, int]:
        """The part of each property, counted from 0."""
        return {name: number for number, part in enumerate(self.parts) for name in part.fields}

    @property
    def range(self) -> KeyRange:
        """The range of all rows of this entity, unpublished ones included."""
        behind = after_prefix(self.row_key(98, ""))
        return KeyRange(self.partition_key, Interval(self.first, upper=behind, upper_inclusive=False))

    def row_key(self, number: int, generation: str | None = None) -> str:
        """Return the RowKey of a part, counted from 0."""
        suffix = self.generation if generation is None else generation
        return f"{self.first[:-2]}{number + 1:02d}" + (f"_{suffix}" if number and suffix else "")

    def row(self, number: int, count: int, fields: Fields, generation: str | None = None) -> dict[str, Any]:
        suffix = self.generation if generation is None else generation
        head = {} if number else {PARTS: f"{count} {suffix}".strip()}
        return {**self.keys(number, suffix), **head, **fields}

    def deletions(self, parts: Iterable[Part]) -> list[Operation]:
        return [part.guards(Operation.delete(self.partition_key, part.row_key, part.etag)) for part in parts]

    def keys(self, number: int, generation: str | None = None) -> dict[str, Any]:
        return {"PartitionKey": self.partition_key, "RowKey": self.row_key(number, generation)}

    def rewritten(self, parts: Sequence[Fields]) -> list[Operation]:
        """Return the operations that replace the whole value; each is conditional on the row as read."""
        writes = [self._rewritten(number, len(parts), fields) for number, fields in enumerate(parts)]
        return writes + self.deletions(self.parts[len(parts) :])

    def _rewritten(self, number: int, count: int, fields: Fields) -> Operation:
        row = self.row(number, count, fields)
        if number < len(self.parts):
            return self.parts[number].guards(Operation.replace(row, ANY))
        return Operation.insert_or_replace(row) if number else Operation.insert(row)

    def merged(self, parts: Sequence[Fields], changes_of_caller: Fields) -> list[Operation]:
        """Return the operations that change some properties, one for each affected part.

        If a property is new or moves to another part, the head is written too. So if two writers put one property in
        two places, the second fails.
        """
        count, names_before = len(parts), [part.fields.keys() for part in self.parts]
        layout_differs = [part.keys() for part in parts] != names_before
        writes: list[Operation] = []
        for number, fields in enumerate(parts):
            before = names_before[number] if number < len(names_before) else None
            if before is None or before - fields.keys():
                writes.append(self._rewritten(number, count, fields))
                continue
            changes = {name: value for name, value in fields.items() if name in changes_of_caller or name not in before}
            if changes or (layout_differs and not number):
                row = self.row(number, count, changes) if layout_differs else self.keys(number) | changes
                merge = Operation.merge(row, ANY, becomes=self.row(number, count, fields))
                writes.append(self.parts[number].guards(merge))
        return writes + self.deletions(self.parts[count:])

    def unpublished(self, parts: Sequence[Fields], generation: str) -> list[Operation]:
        """Return the writes of all parts except the head, under a generation that no head names yet."""
        rows = (self.row(number, len(parts), fields, generation) for number, fields in enumerate(parts) if number)
        return [Operation.insert(row) for row in rows]

    def publication(self, parts: Sequence[Fields], generation: str) -> list[Operation]:
        """Return the transaction that publishes a generation: write the head and new rows, and delete the old ones.

        The new rows get an empty merge. So the transaction fails if cleanup has deleted one of them; and afterwards
        they have other ETags than the ones that cleanup may have read.
        """
        head = self.row(0, len(parts), parts[0], generation)
        publication = self.parts[0].guards(Operation.replace(head, ANY)) if self.parts else Operation.insert(head)
        new_rows = [Operation.merge(self.keys(number, generation), ANY) for number in range(1, len(parts))]
        return [publication, *new_rows, *self.deletions(self.parts[1:])]

    def after_write(self, parts: Sequence[Fields], generation: str, answers: Iterable[Entity]) -> Stored:
        """Return the stored value after a write; rows that were not written keep their ETags."""
        known_parts = {part.row_key: (part.etag, part.write_ids) for part in self.parts}
        known_parts |= {row.row_key or "": (row.etag or "", write_ids_of(row)) for row in answers}
        keys = [self.row_key(number, generation) for number in range(len(parts))]
        now = tuple(Part(key, *known_parts[key], fields) for key, fields in zip(keys, parts, strict=True))
        return Stored(self.partition_key, self.first, now, generation)


def stored(partition_key: str, first: str, rows: Iterable[Entity], *, is_whole: bool = True) -> Stored:
    """Return the value that is stored in the rows of a range; rows of other kinds are ignored."""
    rows_by_key = {row.row_key or "": row for row in rows if _generation(row, first) is not None}
    head = rows_by_key.get(first)
    nothing = Stored(partition_key, first)
    if head is None:
        if orphans := [key for key, row in rows_by_key.items() if not _generation(row, first)]:
            raise _mismatch(partition_key, first, f"there are parts {orphans} without a head")
        return Stored(partition_key, first, orphans=tuple(_part(row) for row in rows_by_key.values()))
    listing = _HEAD.fullmatch(str(head.get(PARTS)))
    if listing is None:
        raise _mismatch(partition_key, first, f"the head lists {head.get(PARTS)!r}")
    generation = listing[2] or ""
    keys = [nothing.row_key(number, generation) for number in range(int(listing[1]))]
    for key in keys:
        if key not in rows_by_key:
            raise _mismatch(partition_key, key, f"the head lists {listing[0]!r}")
    parts = tuple(_part(rows_by_key.pop(key)) for key in keys)
    value = Stored(partition_key, first, parts, generation, tuple(map(_part, rows_by_key.values())), is_whole)
    if len(value.places) != sum(len(part.fields) for part in parts):
        raise _mismatch(partition_key, first, "a property is in two parts")
    return value


def head_of(row_key: str) -> str | None:
    """Return the RowKey of the head of a row's entity, such as `2014_01`; None for a row that is not a part."""
    match = _ROW.fullmatch(row_key)
    return f"{match[1]}01" if match else None


def _generation(row: Entity, first: str) -> str | None:
    """Return the generation of a part, "" if it has none; None for a row that is not a part."""
    text = row.row_key or ""
    match = _SUFFIX.fullmatch(text[len(first) - 2 :]) if text.startswith(first[:-2]) else None
    return (match[2] or "") if match else None


def _part(row: Entity) -> Part:
    fields = {name: row[name] for name in row if name not in ("PartitionKey", "RowKey", PARTS)}
    return Part(row.row_key or "", row.etag or "", write_ids_of(row), fields)


def _mismatch(partition_key: str, row_key: str, reason: str) -> DerivedDataMismatch:
    text = f"the row ({partition_key!r}, {row_key!r}) of a wide entity is missing or does not match: {reason}"
    return DerivedDataMismatch(f"{text}; another program changed the rows, so restore them, or delete them all")


@dataclass(frozen=True)
class Layout:
    """Assign properties to parts.

    :param names: if given, only these may be stored, with the first `ROOM` in part 1, and so on; otherwise a property
        stays in its part, and a new one goes to the first part with room
    :param part_bytes: the maximum size of a part's properties; a single larger property has its own part
    """

    names: tuple[str, ...] = ()
    part_bytes: int = PART_BYTES

    def place(self, name: str) -> int | None:
        """Return the fixed part of a property, counted from 0, or None if it depends on the others."""
        if not self.names:
            return None
        if name not in self._order:
            raise BadProperty("property", name, "it is not declared", "append it to properties")
        return self._order[name] // ROOM

    @cached_property
    def _order(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self.names)}

    def arrange(self, fields: Fields, places: Mapping[str, int]) -> list[dict[str, Any]]:
        """Return the properties of each part, at least one; `places` has the current part of each stored property."""
        sizes = {name: 8 + 2 * utf16_length(name) + value_size(storable(name, fields[name])) for name in fields}
        if PARTS in fields:
            raise BadProperty(PARTS, fields[PARTS], "the name is reserved", "rename the field")
        parts = self._fixed(fields, sizes) if self.names else self._first_fit(fields, sizes, places)
        if not self.names and not all(parts[1:]):
            parts = self._first_fit(fields, sizes, {})
        if len(parts) > MAX_PARTS:
            rule = f"a wide entity has at most {MAX_PARTS}, of {ROOM} properties and {self.part_bytes} bytes each"
            raise LimitExceeded("parts", len(parts), rule, "store large values in blobs, with LargeProperties")
        return parts

    def _fixed(self, fields: Fields, sizes: Mapping[str, int]) -> list[dict[str, Any]]:
        parts: list[dict[str, Any]] = [{} for _ in range(0, len(self.names), ROOM)]
        for name, value in fields.items():
            parts[self.place(name) or 0][name] = value
        for number, part in enumerate(parts, 1):
            if (size := sum(sizes[name] for name in part)) > self.part_bytes:
                rule = f"a part has at most {self.part_bytes}, and declared properties cannot move to another part"
                raise LimitExceeded(f"bytes of part {number}", size, rule, "omit `properties`, so that they can")
        return parts

    def _first_fit(self, fields: Fields, sizes: Mapping[str, int], places: Mapping[str, int]) -> list[dict[str, Any]]:
        parts: list[dict[str, Any]] = [{} for _ in range(max(places.values(), default=0) + 1)]
        part_sizes = [0] * len(parts)

        def has_room(number: int, size: int) -> bool:
            fits = part_sizes[number] + size <= self.part_bytes or not parts[number]
            return fits and len(parts[number]) < ROOM

        # Stored properties first, each in its own part if that has room: the fewer move, the fewer rows are written
        for name in sorted(fields, key=lambda field_name: field_name not in places):
            numbers = [*([places[name]] if name in places else []), *range(len(parts))]
            number = next((number for number in numbers if has_room(number, sizes[name])), len(parts))
            if number == len(parts):
                parts.append({})
                part_sizes.append(0)
            parts[number][name] = fields[name]
            part_sizes[number] += sizes[name]
        while len(parts) > 1 and not parts[-1]:
            parts.pop()
        return parts
