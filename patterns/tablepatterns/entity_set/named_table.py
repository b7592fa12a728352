"""Store the fields of a model under other property names. All other code of a set uses the field names."""

# A named table is created from another table
# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..entity import Entity, replace_fields
from ..errors import BadDesign, LimitExceeded
from ..filters import Filter
from ..filters.expression import map_comparisons
from ..limits import MAX_ENTITY_BYTES
from ..sdk.operation import Operation
from ..sdk.page_token import EntityPage, PageQuery
from ..sdk.table import Table
from .derived import Derived


class StoredNames:
    """The stored names of those fields for which they differ. Other properties keep their names."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self._stored = dict(names)
        for name in names:
            # A stored property that happens to have the name of a renamed field is not that field
            if name not in names.values():
                self._stored[f"{name}__stored"] = name
        self._fields = {stored: name for name, stored in self._stored.items()}
        self._growth = 2 * sum(max(0, len(stored) - len(name)) for name, stored in self._stored.items())

    def stored(self, name: str) -> str:
        return self._stored.get(name, name)

    def check_shared(self, derived: Iterable[Derived]) -> None:
        """Reject stored names of fields that another set reads or writes too, under its own names."""
        for derived_data in derived:
            for name in sorted(derived_data._shared_names):
                if name in self._stored or name in self._fields:
                    rule = "another set reads or writes the property too, and does not know the names of this model"
                    raise BadDesign(f"derived {derived_data.name}", name, rule, "store the field under its own name")

    def renamed(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        return {self._stored.get(name, name): value for name, value in fields.items()}

    def named(self, table: Table) -> Table:
        return NamedTable(table, self)

    def operation_in(self, table: Table, write: Operation) -> Operation:
        """Return a write with the stored names of its fields, unless the table has them already."""
        return write if isinstance(table, NamedTable) else self.operation(write)

    def operation(self, write: Operation) -> Operation:
        becomes = None if write.becomes is None else self.renamed(write.becomes)
        stored_operation = replace(write, entity=self.renamed(write.entity), becomes=becomes, measured_size=None)
        if write.size + self._growth > MAX_ENTITY_BYTES and stored_operation.size > MAX_ENTITY_BYTES:
            subject, rule = "size of the entity in bytes", f"an entity has at most {MAX_ENTITY_BYTES} (1 MiB)"
            raise LimitExceeded(subject, stored_operation.size, rule, "keep large values in blobs")
        return stored_operation

    def row(self, row: Entity) -> Entity:
        """Rename the properties of a row to field names, in place, and return it."""
        return replace_fields(row, {self._fields.get(name, name): value for name, value in row.items()})

    def filter(self, where: Filter) -> Filter:
        return map_comparisons(where, lambda comparison: replace(comparison, name=self.stored(comparison.name)))

    def names(self, select: Sequence[str] | None) -> Sequence[str] | None:
        return None if select is None else [self.stored(name) for name in select]


def names_of(table: Table) -> StoredNames:
    """Return the stored names of a table's fields; of most tables, none differs from the field's."""
    return table._names if isinstance(table, NamedTable) else StoredNames({})


def as_stored(table: Table, row: Entity) -> Entity:
    """Return a row of another set's table with its stored names."""
    if isinstance(table, NamedTable):
        replace_fields(row, table._names.renamed(row))
    return row


def check_unnamed(table: Table, subject: str) -> None:
    """Reject a set with stored names, for patterns that replace the set's table."""
    if isinstance(table, NamedTable):
        rule = f"{subject} cannot rename the fields of a model"
        raise BadDesign("factory", table.name, rule, "use the names of the fields, without Stored")


class NamedTable(Table):
    def __init__(self, table: Table, names: StoredNames) -> None:
        super().__init__(table._client, table._hook, table._requests)
        self._names = names

    async def get(self, partition_key: str, row_key: str, select: Sequence[str] | None = None) -> Entity | None:
        row = await super().get(partition_key, row_key, self._names.names(select))
        return None if row is None else self._names.row(row)

    async def read_page(self, query: PageQuery) -> EntityPage:
        names = self._names
        where = None if query.where is None else names.filter(query.where)
        page = await super().read_page(query._replace(where=where, select=names.names(query.select)))
        return page._replace(entities=list(map(names.row, page.entities)))

    async def submit(self, *operations: Operation) -> list[Entity]:
        return await super().submit(*map(self._names.operation, operations))

    async def _rows(self, operations: Sequence[Operation]) -> list[Entity | None]:
        # The write is recognized by what was sent, which has the stored names
        return [await super(NamedTable, self).get(*operation.key) for operation in operations]
