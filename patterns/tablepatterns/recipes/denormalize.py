"""Copy fields of one entity into another that refers to it, so that one read returns both."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..argument_types import checked
from ..entity import Entity, same_value, storable, without_none
from ..entity_set.commit import LookedUpFields
from ..entity_set.derived import Change, Derived, Fields, Keys, Primary, RowLayout, RowProfile, unchanged, with_dates
from ..entity_set.placement import InBlobs, InPartition, InTable, Placement, RowReader, check_partition
from ..entity_set.shared_rows import SharedRows, merging, rewriting
from ..errors import BadDesign, BadKey, ReferenceNotFound
from ..key import Key
from ..sdk.operation import Operation

if TYPE_CHECKING:
    from ..entity_set.entity_set import EntitySet
    from ..entity_set.intents import Intents
from ..entity_set.internals import intents_or_none, primary_layout


class CopiedFields(SharedRows):
    """Copy fields of the entities of one set into the entity of another set that refers to them.

    Use it if entities are usually read together, such as a department, which holds its manager's number, with the
    manager's name and e-mail.

    >>> from tablepatterns import EntitySet, Key, connect
    >>> by_department = Key("{Department}", "department")
    >>> manager = CopiedFields(by_department, refers={"EmployeeId": "ManagerId"}, copies={"Email": "ManagerEmail"})
    >>> storage = connect()
    >>> employees = EntitySet(storage, "Staff", Key("{Department}", "empid_{EmployeeId:06d}"), derived=[manager])
    >>> departments = EntitySet(storage, "Staff", by_department, derived=[manager.filled_from(employees)])
    >>> _ = employees.insert({"Department": "Sales", "EmployeeId": 223, "Email": "jonesj@contoso.com"})
    >>> departments.insert({"Department": "Sales", "ManagerId": 223})["ManagerEmail"]
    'jonesj@contoso.com'
    >>> _ = employees.update(lambda jones: jones.update(Email="jo@contoso.com"), Department="Sales", EmployeeId=223)
    >>> departments.get(Department="Sales")["ManagerEmail"]
    'jo@contoso.com'

    Consistency: in the same partition, the copies change in one transaction with their source, elsewhere eventually. A
    change that would refer to an entity that does not exist, or whose own fields give another key for its copies, is
    rejected. Writes made without the two sets are not copied, and values that callers give for the copies are ignored.
    More: docs/patterns/denormalize.md.

    Cost: in the partition one more point query for an insert, a delete, a change of a copied field, and for an entity
    that starts to refer to another, which changes the ETag of the other; nothing for other changes. In another table
    `replace` 4 table + 2 queue transactions, equivalent to 26 table operations, if a copied field changes. Writing back
    an employee that was read from an index takes one more point query.

    :param key: the key of the entities with the copies; its fields are among those of the copied entities
    :param refers: maps each key field of the copied entity to the field that refers to it; a field that is left out has
        the same name
    :param copies: maps each field to copy to the field that holds the copy
    :param store: where the entities with the copies are: `InPartition()` or `InTable(name)`
    :param name: a label for errors, reports and messages; by default the RowKey template of `key`
    :raises BadDesign: the parameters cannot be combined, with each other or with a set

    Guide: denormalization pattern.
    """

    # In the partition, an entity that starts to refer to another is conditional on the other's primary row. So writes
    # of the other must be conditional on its primary row too, even if it was read from an index
    _guards_primary = True

    @checked
    def __init__(
        self,
        key: Key,
        *,
        refers: Mapping[str, str],
        copies: Mapping[str, str],
        store: Placement | None = None,
        name: str | None = None,
    ) -> None:
        self.key = key
        self.refers = dict(refers)
        self.copies = dict(copies)
        self.placement = store or InPartition()
        self.name = name or key.row_template
        if isinstance(self.placement, InBlobs):
            raise BadDesign(self.name, self.placement, "entities cannot be stored in blobs", "use InTable()")
        if not self.copies:
            raise BadDesign(self.name, self.copies, "it needs at least one field to copy", "name one")
        for copy_name in self.copies.values():
            storable(copy_name, "")
            if copy_name in (*key.fields, *self.refers.values()) or [*self.copies.values()].count(copy_name) > 1:
                raise BadDesign(self.name, copy_name, "another field has this name", "give the copy another name")

    @property
    def reads(self) -> Collection[str]:
        return {*self.key.fields, *self.copies}

    @property
    def _shared_names(self) -> Collection[str]:
        return {*self.copies, *self.copies.values(), *self.refers.values()}

    def filled_from(self, entity_set: EntitySet[Any, Any]) -> Derived:
        """Return the derived data to declare for the set of the entities with the copies.

        :param entity_set: the set that is copied from, which must declare this object
        :raises BadDesign: it does not
        """
        return FilledCopies(self, entity_set)

    def check_key(self, key: Key, table: str) -> None:
        check_partition(self.name, self.key, key, self.placement)
        for name in self.refers:
            if name not in key.fields:
                rule = f"the key, {key}, does not have this field"
                raise BadDesign(self.name, name, rule, "refer to fields of the key")

    def keys(self, key: Key, fields: Fields) -> list[Keys]:
        values = {name: fields.get(name) for name in self.key.fields}
        if any(value is None for value in values.values()):
            return []
        row = self.key.format(with_dates(self.key, key, values))
        if self.placement in (InPartition(), InTable()) and key.matches(*row):
            raise BadKey(self.name, row, "a copied entity could have these keys", "give each its own RowKey prefix")
        return [row]

    def affected_keys(self, change: Change) -> list[Keys]:
        old, new = (None if side is None else self.copied(side) for side in (change.old, change.new))
        if old is not None and new is not None and same_value(old, new):
            key_lists = [self.keys(change.key, side) for side in (change.old, change.new) if side is not None]
            return [] if key_lists[0] == key_lists[1] else [*key_lists[0], *key_lists[1]]
        return super().affected_keys(change)

    def repair_operation(self, keys: Keys, row: Entity | None, primary: Primary) -> Operation | None:
        if row is None or self.referred(primary.key, RowLayout(self.key).entity(row)) != primary.row:
            return None
        # A row that the entity's own fields do not name would not follow its changes
        copies = self.copied(primary.fields or {}) if keys in primary.parts(self) else {}
        stored_copies = {name: row[name] for name in self.copies.values() if name in row}
        if same_value(stored_copies, copies):
            return None
        if stored_copies.keys() <= copies.keys():
            return merging(keys, row, copies)
        own_fields = {name: value for name, value in row.items() if name not in stored_copies}
        return rewriting(keys, row, own_fields | copies)

    def primary_keys_of(self, key: Key, row: Entity) -> list[Keys] | None:
        if not self.key.matches(row["PartitionKey"], row["RowKey"]):
            return None
        referred = self.referred(key, RowLayout(self.key).entity(row))
        return [] if referred is None else [referred]

    def copied(self, fields: Fields) -> dict[str, Any]:
        """Return the values of the copies by their names."""
        return without_none({copy_name: fields.get(name) for name, copy_name in self.copies.items()})

    def reference(self, key: Key, fields: Fields) -> dict[str, Any]:
        """Return the key fields of the entity that an entity refers to."""
        return {name: fields.get(self.refers.get(name, name)) for name in key.fields}

    def referred(self, key: Key, fields: Fields) -> Keys | None:
        """Return the keys of the entity that an entity refers to; None if it cannot refer to any."""
        reference = self.reference(key, fields)
        if any(value is None for value in reference.values()):
            return None
        try:
            return key.format(reference)
        except BadKey:
            return None

    def _profile(self, key: Key) -> RowProfile:
        copied = tuple(self.copies.values())
        return RowProfile("denormalize", "copies", None, self.key, copied=copied, refers=self.refers)

    def __repr__(self) -> str:
        return f"<CopiedFields {self.name} {self.copies}>"


class FilledCopies(LookedUpFields):
    """Maintain the copies in the set of the entities that hold them."""

    def __init__(self, copies: CopiedFields, source: EntitySet[Any, Any]) -> None:
        if copies not in source.derived:
            rule = f"the set declares {[derived.name for derived in source.derived]}"
            raise BadDesign("entity_set", source.table.name, rule, "declare the copies for that set first")
        self._copies = copies
        self._source = source
        self.account = source.account
        self.name = f"{copies.name} filled"
        self.looked_up = frozenset(copies.copies.values())

    @property
    def reads(self) -> Collection[str]:
        return {*self._copies.refers.values(), *self._copies.copies.values()}

    @property
    def _shared_names(self) -> Collection[str]:
        return {*self.reads, *self._copies.copies}

    def check_key(self, key: Key, table: str) -> None:
        if key != self._copies.key:
            rule = f"the copies are in entities with the key {self._copies.key}"
            raise BadDesign(self.name, key, rule, "use that key")
        expected_table = self._copies.table(self._source.table.name)
        if table.lower() != expected_table.lower():
            raise BadDesign(self.name, table, f"the copies are in {expected_table!r}", "use that table")

    async def look_up(self, change: Change, rows: RowReader) -> tuple[Change, list[Operation]]:
        if change.new is None:
            return change, []
        old, new = (None if side is None else self._referred(side) for side in (change.old, change.new))
        if old == new:
            return self._with(change, {} if change.old is None else change.old), []
        if new is None:
            return self._with(change, {}), []
        row = await (self._source.table if self._copies.is_eventual else rows).get(*new)
        if row is None:
            text = f"{self._copies.name}: the entity {new} does not exist. Nothing was written; insert it first."
            raise ReferenceNotFound(text)
        fields = primary_layout(self._source).entity(row)
        if change.row not in self._copies.keys(self._source.key, fields):
            names = ", ".join(self._copies.key.fields)
            text = f"{self._copies.name}: the entity {new} does not name {change.row} as the row of its copies, which"
            raise ReferenceNotFound(f"{text} would not follow it. Nothing was written; change its {names} first.")
        guards = [] if self._copies.is_eventual else [unchanged(new, row)]
        return self._with(change, self._copies.copied(fields)), guards

    def intents_for(self, change: Change) -> list[tuple[Intents, Change]]:
        """Return the intent for the entity that this one starts to refer to, if that is in another partition."""
        intents, new = intents_or_none(self._source), change.new
        if not self._copies.is_eventual or intents is None or new is None:
            return []
        referred = self._referred(new)
        if referred is None or (change.old is not None and self._referred(change.old) == referred):
            return []
        key_fields = {name: new.get(name) for name in self._copies.key.fields}
        fields = key_fields | self._copies.reference(self._source.key, new)
        return [(intents, Change(self._source.key, None, fields, is_written=False))]

    def _profile(self, key: Key) -> RowProfile:
        return RowProfile("denormalize", "copies", None, filled_from=self._copies)

    def _referred(self, fields: Fields) -> Keys | None:
        return self._copies.referred(self._source.key, fields)

    def _with(self, change: Change, stored_copies: Fields) -> Change:
        """Return a change that keeps the stored copies, ignoring the caller's values for them."""
        names = self._copies.copies.values()
        new, old = change.new or {}, change.old or {}
        copies = {name: stored_copies[name] for name in names if stored_copies.get(name) is not None}
        own_fields = {name: value for name, value in new.items() if name not in names}
        if change.merged is None:
            return replace(change, new=own_fields | copies)
        is_removed = any(old.get(name) is not None and name not in copies for name in names)
        merged_names = None if is_removed else change.merged.difference(names) | copies.keys()
        return replace(change, new=own_fields | copies, merged=merged_names)
