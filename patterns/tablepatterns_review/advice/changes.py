"""Changes of a design, as values that are set in the design and in its file alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from tablepatterns.entity_set.derived import Derived
from tablepatterns.entity_set.mapping import PropertyMapping
from tablepatterns.entity_set.placement import InTable
from tablepatterns.key import Key

from ..design.derived_arguments import arguments_of, rebuilt
from ..design.model import DeclaredSet, Design, Field, Query, Write

AccessT = TypeVar("AccessT", Query, Write)
Values = Mapping[str, Any]


@dataclass(frozen=True)
class Change:
    """One change of a set. It alters the design, never what is asked of it.

    :param pattern: the pattern that it uses, by its name in the catalog; None if it uses none
    :param corrects: the subject whose flaws of the file it corrects
    :param values: the key, table, pattern or retention of the set
    :param settings: arguments of the recipe of the set; None to remove one
    :param fields: what the values of fields look like, by the name of the field
    :param access: arguments of queries and writes, by their name
    :param derived: the derived data to add, to replace or to remove
    :param mapping: the mapping to add, and its table in a design file
    """

    set: str
    says: str
    pattern: str | None = None
    corrects: str | None = None
    values: Values = field(default_factory=dict[str, Any])
    settings: Values = field(default_factory=dict[str, Any])
    fields: Mapping[str, Values] = field(default_factory=dict[str, Values])
    access: Mapping[str, Values] = field(default_factory=dict[str, Values])
    derived: DerivedChange | None = None
    mapping: tuple[PropertyMapping, Values] | None = None

    def applied(self, design: Design) -> Design:
        sets = tuple(self._changed(of) if of.name == self.set else of for of in design.sets)
        flaws = tuple(flaw for flaw in design.flaws if flaw.subject != self.corrects)
        return replace(design, sets=sets, flaws=flaws)

    def _changed(self, of: DeclaredSet) -> DeclaredSet:
        fields = {name: replace(of.shape.fields.get(name, Field()), **values) for name, values in self.fields.items()}
        key, derived = self.values.get("key", of.key), of.derived
        if key.partition_template != of.key.partition_template:
            derived = tuple(_in_partition(old, of, key) for old in derived)
        return replace(
            of,
            derived=derived if self.derived is None else self.derived.applied(derived),
            mappings=of.mappings if self.mapping is None else (*of.mappings, self.mapping[0]),
            settings={name: value for name, value in {**of.settings, **self.settings}.items() if value is not None},
            shape=replace(of.shape, fields={**of.shape.fields, **fields}),
            queries=tuple(map(self._changed_access, of.queries)),
            writes=tuple(map(self._changed_access, of.writes)),
            **self.values,
        )

    def _changed_access(self, access: AccessT) -> AccessT:
        return replace(access, **self.access.get(access.name, {}))


@dataclass(frozen=True)
class DerivedChange:
    """Derived data that is added, replaced or removed.

    :param new: None to remove it
    :param table: the keys of the new derived data in a design file, with its arguments as values
    :param name: the name of the old derived data; None to add
    :param at: its position in the set
    """

    new: Derived | None
    table: Values
    name: str | None = None
    at: int = 0

    def applied(self, derived: tuple[Derived, ...]) -> tuple[Derived, ...]:
        added = () if self.new is None else (self.new,)
        if self.name is None:
            return (*derived, *added)
        at = [each.name for each in derived].index(self.name)
        return (*derived[:at], *added, *derived[at + 1 :])


def _in_partition(derived: Derived, of: DeclaredSet, key: Key) -> Derived:
    """Return an index in the partition with the PartitionKey of another primary key; it keeps its own RowKey."""
    layout = of.profile(derived).layout
    if derived.is_eventual or layout is None:
        return derived
    include = None if layout.include is None else layout.include - set(of.key.fields)
    return rebuilt(derived, key=Key(key.partition_template, layout.key.row_template), include=include)


def put_derived(declared_set: DeclaredSet, derived: Derived, says: str, *, replaces: str | None = None) -> Change:
    at = 0 if replaces is None else _position(declared_set, replaces)
    pattern = declared_set.profile(derived).pattern
    table = {"pattern": pattern, **arguments_of(derived)}
    store = table.get("store")
    if isinstance(store, InTable) and store.name is not None:
        del table["store"]
        table["table"] = store.name
    return Change(declared_set.name, says, pattern, derived=DerivedChange(derived, table, replaces, at))


def remove_derived(declared_set: DeclaredSet, name: str) -> Change:
    derived = DerivedChange(None, {}, name, _position(declared_set, name))
    return Change(declared_set.name, f"remove {name!r}", derived=derived)


def _position(declared_set: DeclaredSet, name: str) -> int:
    return [derived.name for derived in declared_set.derived].index(name)


def change_key(
    declared_set: DeclaredSet,
    key: Key,
    says: str,
    *,
    fields: Mapping[str, Values] | None = None,
    corrects: str | None = None,
) -> Change:
    return Change(declared_set.name, says, "compound_key", corrects, {"key": key}, fields=fields or {})
