"""Read a design from a TOML file.

Keys that a recipe would reject are corrected, so that the rest can be reviewed. Each correction is a finding.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path as FilePath
from string import Formatter
from typing import Any, Final, TypeVar

from tablepatterns.entity_set.derived import Derived
from tablepatterns.entity_set.entity_set import EntitySet
from tablepatterns.entity_set.mapping import PropertyMapping
from tablepatterns.entity_set.placement import InTable, Placement
from tablepatterns.errors import BadDesign, BadInput, message_of
from tablepatterns.figures import plural
from tablepatterns.key import Key
from tablepatterns.key.formats import escaped_braces
from tablepatterns.limits import FORBIDDEN_IN_KEYS
from tablepatterns.recipes.denormalize import CopiedFields
from tablepatterns.recipes.encrypted_properties.encrypted_properties import EncryptedProperties
from tablepatterns.recipes.index_entities import IndexEntity
from tablepatterns.recipes.inter_partition_index import InterPartitionIndex
from tablepatterns.recipes.intra_partition_index import IntraPartitionIndex
from tablepatterns.recipes.large_properties.large_properties import LargeProperties
from tablepatterns.recipes.summary import Summary
from tablepatterns.storage import Storage, connect

from ..design.distribution import combinations, names_one, values_in
from ..design.key_parts import key_text, pieces_of, pieces_of_key
from ..design.model import DeclaredSet, Design, Field, FieldType, Flaw, Shape, part_of
from ..kinds import KINDS
from ..kinds.recipes import declare_set, number_of_tables, recipe_of_set, sample_key
from ..toml_file import Problem, TomlFile, TomlPath, lines_of, owner_of
from . import format as tables
from .checks import faults

__all__ = ["BadDesignFile", "read_design"]

T = TypeVar("T")


class BadDesignFile(BadInput):
    """A design file with errors; `problems` holds all of them: the line and the error of each."""

    def __init__(self, name: str, problems: Sequence[tuple[int, str]]) -> None:
        self.problems = tuple(problems)
        super().__init__("design file", name, "it has errors", "fix them")
        self.message = lines_of(name, self.problems)


def read_design(given: str | FilePath) -> Design:
    """Return the design that a file, or a string, declares.

    An error lists all problems with their lines and keys. No request is sent.

    >>> design = read_design('''
    ... name = "Staff"
    ... [[set]]
    ... name = "Employees"
    ... key = { partition = "{Department}", row = "empid_{EmployeeId:06d}" }
    ... count = 20_000
    ... [set.fields]
    ... Department = { distinct = 12 }
    ... EmployeeId = { type = "int32" }
    ... ''')
    >>> design.sets[0].shape.count
    20000

    :param given: the path of a file, or a string of more than one line
    :raises BadDesignFile: the text is not TOML, or not a design that can be reviewed
    :raises OSError: the file cannot be read
    """
    file = TomlFile.of(given, "design", BadDesignFile)
    values = file.values()
    table = file.read(tables.DesignTable, values)
    reader = _Reader(values, table.years)
    sets = reader.sets(table.set)
    if not sets and not reader.problems:
        reader.problems.append(Problem((), "there is no set; add [[set]] for each set of entities"))
    design = Design(table.name, sets, table.years, tuple(reader.corrections.flaws))
    problems = reader.problems or list(faults(design))
    if problems:
        raise file.error(problems)
    return design


# -- Corrections

_FORMATS: Final[Mapping[FieldType, str]] = {"datetime": "ticks", "guid": "uuid", "double": "float"}
_INTEGERS: Final = ("int32", "int64")
_PLAIN_NUMBER: Final = re.compile(r"(?:[1-9]\d*)?d?$")
_FEWEST_DIGITS: Final = 6
_ROUNDED: Final = 0.9
"""The share of a count for which values are enough: both are estimates."""
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
        keys = f"{key_text(key)} and {key_text(other_key)}"
        says = f"Rows of {subject} can have the same keys as those of {whose}: {keys}."
        better = "Begin the RowKeys of each kind with a prefix of its own, such as 'order_' and 'item_'."
        pieces = (piece for one in (key, other_key) for piece in pieces_of(one.row_template))
        texts = dict.fromkeys(piece.name for piece in pieces if piece.name and piece.width is None)
        self.flaws.append(Flaw("overlap", subject, says, better, tuple(texts)))

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
        if there * tables < _ROUNDED * shape.count:
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


# -- Sets


def _with_numbers_within(shape: Shape, key: Key) -> Shape:
    """Return a shape in which numbers of too few digits for all entities number those of the rest of the key.

    So do the seats of a row and the steps of a build, but not numbers that rise with each entity of the set.
    """
    fields = dict(shape.fields)
    for piece in pieces_of_key(key):
        field, width = fields.get(piece.name or ""), piece.width
        others = [name for name in key.fields if name != piece.name]
        is_of_each = field is not None and field.distinct is None and field.within is None and field.order == "none"
        if field is None or width is None or field.type not in _INTEGERS or not is_of_each:
            continue
        most = 10 ** (width - piece.spec.startswith("+")) - 1
        if others and most < shape.count <= most * combinations(shape, others):
            fields[piece.name or ""] = replace(field, distinct=most)
    return replace(shape, fields=fields)


@dataclass
class _Reader:
    """Creates the declared sets from the tables of a file, and collects the problems."""

    values: Mapping[str, Any]
    years: float
    corrections: Corrections = field(default_factory=Corrections)
    keys: list[tuple[str, str, Key]] = field(default_factory=list[tuple[str, str, Key]])
    """The table, name and key of each kind of rows so far."""
    problems: list[Problem] = field(default_factory=list["Problem"])
    storage: Storage = field(default_factory=connect)

    def sets(self, set_tables: Sequence[tables.SetTable]) -> tuple[DeclaredSet, ...]:
        """Return the sets; a set that is filled from others is created after them."""
        sets: dict[int, DeclaredSet] = {}
        set_tables = [_with_fields(set_table, set_tables) for set_table in set_tables]

        def is_filled(table: tables.SetTable) -> bool:
            return any(isinstance(derived, tables.FilledTable) for derived in table.derived)

        for number, table in sorted(enumerate(set_tables), key=lambda pair: is_filled(pair[1])):
            declared_set = _SetReader(self, table, ("set", number), list(sets.values())).read()
            if declared_set is not None:
                sets[number] = declared_set
        return tuple(sets[number] for number in sorted(sets))

    def overlaps(self, subject: str, table: str, key: Key) -> bool:
        """Record other rows of the table whose keys may overlap; return whether there are any."""
        others = [(name, other) for place, name, other in self.keys if place == table.lower() and key.overlaps(other)]
        for name, other_key in others:
            self.corrections.overlapping(subject, key, name, other_key)
        return bool(others)

    def create(self, make: Callable[[], T], path: TomlPath, *below: str | int) -> T | None:
        """Call a function and return its result, or report its error at a key."""
        try:
            return make()
        except BadInput as error:
            self.report(message_of(error), path, *below)
            return None

    def report(self, says: str, path: TomlPath, *below: str | int) -> None:
        self.problems.append(Problem((*path, *below), f"{owner_of(self.values, path)}: {says}"))


@dataclass
class _SetReader:
    """Creates the declared set of a table; `others` are the sets so far."""

    file: _Reader
    table: Any
    path: TomlPath
    others: Sequence[DeclaredSet]
    prefixed: bool = False
    """Whether the RowKeys of the entities need a prefix that distinguishes them from the other rows of the set."""

    def __post_init__(self) -> None:
        table = self.table
        self.shape = Shape(table.entity or table.name, table.count, table.fields, table.growth)
        self.stored = table.table or table.name
        self.kind = KINDS[table.pattern]

    def read(self) -> DeclaredSet | None:
        table, before, own = self.table, len(self.file.problems), tables.settings_of(self.table)
        key = self._key(table.key, self.path, table.name, row=self.kind.row_template(own))
        key, derived = self._rows(key)
        mappings = [
            self.file.create(partial(_mapping, mapping), (*self.path, "mappings", at))
            for at, mapping in enumerate(table.mappings)
        ]
        if key is None or len(self.file.problems) > before:
            return None
        self.shape = _with_numbers_within(self.shape, key)
        declared_set = DeclaredSet(
            table.name,
            self.stored,
            key,
            self.shape,
            table.pattern,
            self.kind.settings(own),
            tuple(via for via in derived if via is not None),
            tuple(mapping for mapping in mappings if mapping is not None),
            retention=table.retention,
        )
        # A date in the key has other values in each table
        tables_count = 1 if any(piece.is_clock for piece in pieces_of_key(key)) else number_of_tables(declared_set)
        self.shape = self.file.corrections.enough(table.name, key, self.shape, tables_count)
        return self._with_recipe(declared_set)

    def _with_recipe(self, declared_set: DeclaredSet) -> DeclaredSet | None:
        """Return a set with the settings of the recipe that stores it, or report the part that the recipe rejects."""
        table, create = self.table, self.file.create
        make, derived = partial(recipe_of_set, self.file.storage, declared_set), declared_set.derived
        recipe = create(partial(make, ()), self.path, "key")
        for at in range(len(derived)):
            if recipe is not None:
                recipe = create(partial(make, derived[: at + 1]), self.path, "derived", at, "key")
        if recipe is None:
            return None
        parts = {"shape": self.shape, "name": table.name, "queries": table.query, "writes": table.write}
        parts |= {name: getattr(table, name) for name in ("retention", "access", "archive", "permanent")}
        stored_set = create(partial(declare_set, recipe, **parts), self.path)
        # Some patterns differ only in their keys, so the recipe does not show which one it is
        return None if stored_set is None else replace(stored_set, pattern=table.pattern)

    def _rows(self, key: Key | None) -> tuple[Key | None, list[Derived | None]]:
        """Return the key and the derived data, with keys that do not overlap."""
        name, keys = self.table.name, list(self.file.keys)
        if key is not None and self.kind.shares_tables:
            if self.file.overlaps(name, self.stored, key):
                # A table of its own
                self.stored = f"{self.stored}{re.sub(r'[^A-Za-z0-9]', '', name)}"[:63]
            self.file.keys.append((self.stored.lower(), name, key))
        derived = self._all_derived(key)
        if key is not None and self.prefixed:
            # Only a prefix distinguishes the entities from other rows
            key = Key(key.partition_template, f"{_PREFIX}{key.row_template}", max_units=key.max_units)
            self.file.keys = [*keys, (self.stored.lower(), name, key)]
            derived = self._all_derived(key)
        return key, derived

    def _all_derived(self, key: Key | None) -> list[Derived | None]:
        return [self._derived(table, key, (*self.path, "derived", at)) for at, table in enumerate(self.table.derived)]

    def _key(
        self, table: Any, path: TomlPath, subject: str, *, partition: str | None = None, row: str | None = None
    ) -> Key | None:
        """Return the key of a table, with these parts as defaults; or report the missing part."""
        first = partition if table.partition is None else table.partition
        second = row if table.row is None else table.row
        for name, value in (("partition", first), ("row", second)):
            if value is None:
                self.file.report(f"{name} is missing", path, "key")
        if first is None or second is None:
            return None
        first, second = self.file.corrections.templates(subject, first, second, self.shape, self.file.years)
        return self.file.create(partial(Key, first, second), path, "key")

    def _derived(self, table: Any, primary: Key | None, path: TomlPath) -> Derived | None:
        if isinstance(table, tables.FilledTable):
            return self._filled(table, path)
        if primary is None:
            return None
        key, own = None, getattr(table, "key", None)
        names = table.fields if isinstance(table, tables.ListTable) and own is None else ()
        for name in names:
            if (kind := self.shape.fields.get(name, Field()).type) != "string":
                row = f"{name.lower()}_{{{name}:{_FORMATS.get(kind, '010d')}}}"
                self.file.report(f'{name} is not text, so the lists need a key, such as row = "{row}"', path, "fields")
        if own is not None:
            is_local = isinstance(table, tables.IntraTable)
            subject = part_of(self.table.name, table.name or own.row or "")
            key = self._key(own, path, subject, partition=primary.partition_template if is_local else None)
            if key is None:
                return None
            if isinstance(table, (tables.IntraTable, tables.InterTable)) and self.kind.shares_tables:
                key = self._without_overlap(subject, getattr(table, "table", None) or self.stored, key, is_local)
        return self.file.create(partial(_derived, table, key), path)

    def _without_overlap(self, subject: str, table: str, key: Key, is_local: bool) -> Key:
        """Return a key that does not overlap with the keys of other rows in the table."""
        if self.file.overlaps(subject, table, key):
            mark = re.sub(r"[^A-Za-z0-9]", "", subject.rpartition(": ")[2]).lower() or "row"
            first = key.partition_template if is_local else f"{mark}_{key.partition_template}"
            key = Key(first, f"{mark}_{key.row_template}", max_units=key.max_units)
            others = [other_key for place, _, other_key in self.file.keys if place == table.lower()]
            self.prefixed = self.prefixed or any(map(key.overlaps, others))
        self.file.keys.append((table.lower(), subject, key))
        return key

    def _filled(self, table: tables.FilledTable, path: TomlPath) -> Derived | None:
        for of in self.others:
            for derived, profile in of.profiles():
                if of.name == table.filled_from and profile.copied and isinstance(derived, CopiedFields):
                    copied = EntitySet(self.file.storage, of.table, of.key, derived=of.derived)
                    return self.file.create(partial(derived.filled_from, copied), path, "filled_from")
        says = f"filled_from = {table.filled_from!r}: no set of this name has a denormalize; declare it there too"
        self.file.report(says, path, "filled_from")
        return None


_PREFIX: Final = "entity_"


def _with_fields(table: tables.SetTable, set_tables: Sequence[tables.SetTable]) -> tables.SetTable:
    """Return a set with the fields of the set that is archived there, if it declares none."""
    source, seen = table, list[str]()
    while not source.fields and source.name not in seen:
        seen.append(source.name)
        name = source.name
        source = next((other for other in set_tables if other.archive and other.archive.to == name), source)
    return replace(table, fields=source.fields)


def _derived(table: Any, key: Any) -> Derived:
    """Return the derived data that a table declares; the table's keys are its arguments."""
    declared: dict[str, Any] = table.__dict__
    others = ("pattern", "key", "store", "table")
    arguments: dict[str, Any] = {name: value for name, value in declared.items() if name not in others}
    match table:
        case tables.IntraTable():
            return IntraPartitionIndex(key, **arguments)
        case tables.InterTable():
            return InterPartitionIndex(key, table=table.table, **arguments)
        case tables.ListTable():
            return IndexEntity(*arguments.pop("fields"), key=key, store=_store(table), **arguments)
        case tables.CopiesTable():
            return CopiedFields(key, store=_store(table), **arguments)
        case _:
            arguments["count"] = table.count or None
            return Summary(key, store=_store(table), **arguments)


def _store(table: Any) -> Placement | None:
    """Return the placement of derived rows; `table` names their table, with or without `store`."""
    if table.store is None or table.store == InTable(""):
        return InTable(table.table) if table.table or table.store else None
    found: Placement = table.store
    return found


def _mapping(table: Any) -> PropertyMapping:
    if isinstance(table, tables.EncryptedTable):
        return EncryptedProperties(table.names, keys=sample_key())
    options = {} if table.above is None else {"above": table.above}
    return LargeProperties(table.names, container=table.container, **options)
