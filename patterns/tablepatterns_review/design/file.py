"""Read a design from a TOML file."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path as FilePath
from typing import Any, Final, TypeVar

from tablepatterns.entity_set.derived import Derived
from tablepatterns.entity_set.entity_set import EntitySet
from tablepatterns.entity_set.mapping import PropertyMapping
from tablepatterns.entity_set.placement import InTable, Placement
from tablepatterns.errors import BadInput, message_of
from tablepatterns.key import Key
from tablepatterns.recipes.denormalize import CopiedFields
from tablepatterns.recipes.encrypted_properties.encrypted_properties import EncryptedProperties
from tablepatterns.recipes.index_entities import IndexEntity
from tablepatterns.recipes.inter_partition_index import InterPartitionIndex
from tablepatterns.recipes.intra_partition_index import IntraPartitionIndex
from tablepatterns.recipes.large_properties.large_properties import LargeProperties
from tablepatterns.recipes.summary import Summary
from tablepatterns.storage import Storage, connect

from ..kinds import KINDS
from ..kinds.log import log_of
from ..measure.account import recipe_of_set, sample_key
from ..model import part_of
from ..toml_file import Problem, TomlFile, TomlPath, lines, owner_of
from . import format as tables
from .checks import faults
from .corrections import Corrections
from .from_sets import declare_set
from .model import DeclaredLog, DeclaredSet, Design, Shape

__all__ = ["BadDesignFile", "read_design"]

T = TypeVar("T")


class BadDesignFile(BadInput):
    """A design file with errors; `problems` holds all of them, with their lines.

    :param name: the name of the file
    :param problems: the line and the error of each
    """

    def __init__(self, name: str, problems: Sequence[tuple[int, str]]) -> None:
        self.problems = tuple(problems)
        super().__init__("design file", name, "it has errors", "fix them")
        self.message = lines(name, self.problems)


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
    sets, logs = reader.sets(table.set), reader.logs(table.blob_log)
    if not sets and not logs and not reader.problems:
        reader.problems.append(Problem((), "there is no set; add [[set]] for each set of entities"))
    design = Design(table.name, sets, table.years, tuple(reader.corrections.flaws), logs)
    problems = reader.problems or [Problem(fault.path, f"{fault.whose}: {fault.says}") for fault in faults(design)]
    if problems:
        raise file.error(problems)
    return design


@dataclass
class _Reader:
    """Creates the declared sets from the tables of a file, and collects the problems."""

    values: Mapping[str, Any]
    years: float
    corrections: Corrections = field(default_factory=Corrections)
    keys: list[tuple[str, str, Key]] = field(default_factory=list[tuple[str, str, Key]])
    """The table, name and key of each kind of rows so far."""
    prefixed: bool = False
    """Whether the RowKeys of a set's entities need a prefix that distinguishes them from its other rows."""
    problems: list[Problem] = field(default_factory=list["Problem"])
    storage: Storage = field(default_factory=connect)

    def sets(self, set_tables: Sequence[tables.SetTable]) -> tuple[DeclaredSet, ...]:
        """Return the sets; a set that is filled from others is created after them."""
        made: dict[int, DeclaredSet] = {}
        set_tables = [_with_fields(set_table, set_tables) for set_table in set_tables]
        for number, set_table in sorted(enumerate(set_tables), key=lambda each: any(map(_is_filled, each[1].derived))):
            declared_set = self._set(set_table, ("set", number), list(made.values()))
            if declared_set is not None:
                made[number] = declared_set
        return tuple(made[number] for number in sorted(made))

    def logs(self, log_tables: Sequence[tables.LogTable]) -> tuple[DeclaredLog, ...]:
        """Return the blob logs."""
        logs = [_log(log_table) for log_table in log_tables]
        for number, log in enumerate(logs):
            self._create(partial(log_of, self.storage, log), ("blob_log", number))
        return tuple(logs)

    def _set(self, table: Any, path: TomlPath, other_sets: Sequence[DeclaredSet]) -> DeclaredSet | None:
        before, self.prefixed = len(self.problems), False
        kind, own = KINDS[table.pattern], tables.settings_of(table)
        shape = Shape(table.entity or table.name, table.count, table.fields, table.growth)
        key = self._key_of(table.key, path, (table.name, shape), row=kind.row_template(own))
        if key is not None:
            shape = self.corrections.enough(table.name, key, shape)
        key, derived, stored = self._rows(table, key, path, other_sets, shape)
        mappings = [
            self._create(partial(_mapping, mapping), (*path, "mappings", at))
            for at, mapping in enumerate(table.mappings)
        ]
        if key is None or len(self.problems) > before:
            return None
        declared_set = DeclaredSet(
            table.name,
            stored,
            key,
            shape,
            table.pattern,
            kind.settings(own),
            tuple(via for via in derived if via is not None),
            tuple(mapping for mapping in mappings if mapping is not None),
            retention=table.retention,
            archive=table.archive,
        )
        return self._with_recipe(declared_set, table, path)

    def _with_recipe(self, declared_set: DeclaredSet, table: Any, path: TomlPath) -> DeclaredSet | None:
        """Return a set with the settings of the recipe that stores it, or report the part that the recipe rejects."""
        make, derived = partial(recipe_of_set, self.storage, declared_set), declared_set.derived
        recipe = self._create(partial(make, ()), path, "key")
        for at in range(len(derived)):
            if recipe is not None:
                recipe = self._create(partial(make, derived[: at + 1]), path, "derived", at, "key")
        if recipe is None:
            return None
        declare = partial(declare_set, recipe, shape=declared_set.shape, name=table.name, queries=table.query)
        options = {name: getattr(table, name) for name in ("retention", "access", "archive")}
        stored_set = self._create(partial(declare, writes=table.write, **options), path)
        # Some patterns differ only in their keys, so the recipe does not show which one it is
        return None if stored_set is None else replace(stored_set, pattern=table.pattern)

    def _rows(
        self, table: Any, key: Key | None, path: TomlPath, other_sets: Sequence[DeclaredSet], shape: Shape
    ) -> tuple[Key | None, list[Derived | None], str]:
        """Return the key of a set, its derived data and its table, with keys that do not overlap."""
        stored, keys = table.table or table.name, list(self.keys)
        if key is not None and _shares_tables(table):
            if self._overlaps(table.name, stored, key):
                stored = _other_table(stored, table.name)
            self.keys.append((stored.lower(), table.name, key))
        derived = self._all_derived(table, key, path, other_sets, shape, stored)
        if key is not None and self.prefixed:
            # Only a prefix distinguishes the entities from other rows
            self.keys, key = keys, Key(key.partition_template, f"{_PREFIX}{key.row_template}", max_units=key.max_units)
            self.keys.append((stored.lower(), table.name, key))
            derived = self._all_derived(table, key, path, other_sets, shape, stored)
        return key, derived, stored

    def _all_derived(
        self,
        table: Any,
        key: Key | None,
        path: TomlPath,
        other_sets: Sequence[DeclaredSet],
        shape: Shape,
        stored: str,
    ) -> list[Derived | None]:
        return [
            self._derived(derived_table, key, (*path, "derived", at), other_sets, table, shape, stored)
            for at, derived_table in enumerate(table.derived)
        ]

    def _without_overlap(self, subject: str, table: str, key: Key, *, is_local: bool) -> Key:
        """Return a key that does not overlap with the keys of other rows in the table."""
        if self._overlaps(subject, table, key):
            mark = f"{_mark(subject)}_"
            first = key.partition_template if is_local else f"{mark}{key.partition_template}"
            key = Key(first, f"{mark}{key.row_template}", max_units=key.max_units)
            there = [other_key for place, _, other_key in self.keys if place == table.lower()]
            self.prefixed = self.prefixed or any(key.overlaps(other_key) for other_key in there)
        self.keys.append((table.lower(), subject, key))
        return key

    def _overlaps(self, subject: str, table: str, key: Key) -> bool:
        """Record other rows of the table whose keys may overlap; return whether there are any."""
        there = [
            (name, other_key)
            for place, name, other_key in self.keys
            if place == table.lower() and key.overlaps(other_key)
        ]
        for name, other_key in there:
            self.corrections.overlapping(subject, key, name, other_key)
        return bool(there)

    def _key_of(
        self,
        table: Any,
        path: TomlPath,
        of: tuple[str, Shape],
        partition: str | None = None,
        row: str | None = None,
    ) -> Key | None:
        """Return the key of a table, with these parts as defaults; or report the missing part.

        :param of: the subject of the key, and the shape of its entities
        """
        first = table.partition if table.partition is not None else partition
        second = table.row if table.row is not None else row
        for name, value in (("partition", first), ("row", second)):
            if value is None:
                self._report(f"{name} is missing", path, "key")
        if first is None or second is None:
            return None
        first, second = self.corrections.templates(of[0], first, second, of[1], self.years)
        return self._create(partial(Key, first, second), path, "key")

    def _derived(
        self,
        table: Any,
        primary: Key | None,
        path: TomlPath,
        other_sets: Sequence[DeclaredSet],
        set_table: tables.SetTable,
        shape: Shape,
        stored: str,
    ) -> Derived | None:
        if isinstance(table, tables.FilledTable):
            return self._filled(table, path, other_sets)
        if primary is None:
            return None
        key = None
        if (own := getattr(table, "key", None)) is not None:
            is_local = isinstance(table, tables.IntraTable)
            subject = part_of(set_table.name, table.name or own.row or "")
            key = self._key_of(own, path, (subject, shape), primary.partition_template if is_local else None)
            if key is None:
                return None
            if isinstance(table, (tables.IntraTable, tables.InterTable)) and _shares_tables(set_table):
                key = self._without_overlap(subject, getattr(table, "table", None) or stored, key, is_local=is_local)
        return self._create(partial(_derived, table, key), path)

    def _filled(self, table: tables.FilledTable, path: TomlPath, other_sets: Sequence[DeclaredSet]) -> Derived | None:
        for declared_set in other_sets:
            for derived, profile in declared_set.profiles():
                if declared_set.name == table.filled_from and profile.copied and isinstance(derived, CopiedFields):
                    copied = EntitySet(self.storage, declared_set.table, declared_set.key, derived=declared_set.derived)
                    return self._create(partial(derived.filled_from, copied), path, "filled_from")
        says = f"filled_from = {table.filled_from!r}: no set of this name has a denormalize; declare it there too"
        self._report(says, path, "filled_from")
        return None

    def _create(self, make: Callable[[], T], path: TomlPath, *below: str | int) -> T | None:
        """Call a function and return its result, or report its error at a key."""
        try:
            return make()
        except BadInput as error:
            self._report(message_of(error), path, *below)
            return None

    def _report(self, says: str, path: TomlPath, *below: str | int) -> None:
        self.problems.append(Problem((*path, *below), f"{owner_of(self.values, path)}: {says}"))


_PREFIX: Final = "entity_"


def _mark(subject: str) -> str:
    return re.sub(r"[^A-Za-z0-9]", "", subject.rpartition(": ")[2]).lower() or "row"


def _other_table(table: str, name: str) -> str:
    """Return the name of a table of its own for the rows of a set."""
    own = re.sub(r"[^A-Za-z0-9]", "", name)
    return f"{table}{own}"[:63]


def _with_fields(table: tables.SetTable, set_tables: Sequence[tables.SetTable]) -> tables.SetTable:
    """Return a set with the fields of the set that is archived there, if it declares none."""
    source, seen = table, list[str]()
    while not source.fields and source.name not in seen:
        seen.append(source.name)
        source = next(
            (set_table for set_table in set_tables if set_table.archive and set_table.archive.to == source.name), source
        )
    return replace(table, fields=source.fields)


def _shares_tables(table: Any) -> bool:
    return KINDS[table.pattern].shares_tables


def _is_filled(table: object) -> bool:
    return isinstance(table, tables.FilledTable)


def _derived(table: Any, key: Any) -> Derived:
    """Return the derived data that a table declares; the table's keys are its arguments."""
    declared: dict[str, Any] = table.__dict__
    arguments: dict[str, Any] = {
        name: value for name, value in declared.items() if name not in ("pattern", "key", "store", "table")
    }
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


def _log(table: tables.LogTable) -> DeclaredLog:
    declared: dict[str, Any] = {**table.__dict__, "service": table.prefix}
    return DeclaredLog(writes=declared.pop("write"), reads=declared.pop("read"), **declared)


def _mapping(table: Any) -> PropertyMapping:
    if isinstance(table, tables.EncryptedTable):
        return EncryptedProperties(table.names, keys=sample_key())
    options = {} if table.above is None else {"above": table.above}
    return LargeProperties(table.names, container=table.container, **options)
