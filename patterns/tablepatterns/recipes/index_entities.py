"""List, in one row per value of a field, the keys of all entities that have the value."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from ..argument_types import checked
from ..entity import Entity, storable
from ..entity_set.derived import Change, Fields, Keys, Primary, RowProfile, keys_of
from ..entity_set.placement import InBlobs, InPartition, Placement, RowStore, check_partition
from ..entity_set.shared_rows import PART, KeyList, Lists, check_size, rewriting, spread_key, with_keys
from ..errors import BadDesign, BadInput, BlobChanged, EntityChanged
from ..filters import Filter
from ..key import Key
from ..recipe import Account
from ..sdk.container import ABSENT, Container
from ..sdk.operation import Operation
from ..sdk.table import Page


class IndexEntity(Lists):
    """Find all entities with a value, by a row that lists their keys.

    Use it to find entities by a value that many of them share, such as all employees called Jones, without a scan.

    >>> from tablepatterns import EntitySet, Key, connect
    >>> by_name = IndexEntity("LastName")
    >>> employees = EntitySet(connect(), "Employees", Key("{Department}", "empid_{EmployeeId:06d}"), derived=[by_name])
    >>> for number in (223, 152):
    ...     _ = employees.insert({"Department": "Sales", "EmployeeId": number, "LastName": "Jones"})
    >>> [employee["EmployeeId"] for employee in employees.find_all(by_name, Department="Sales", LastName="Jones")]
    [152, 223]

    Consistency: in the partition, the list of a value changes in one transaction with the entity; in a table or in
    blobs, lists are eventually consistent. `find_all` reads the entities too, so it never returns one that no longer
    has the value. Writers of one list contend with each other, and a row holds some 20,000 keys: spread the list, or
    keep it in blobs. The rows: docs/patterns/index_entities.md.

    Cost: in the partition one more point query for each list that a write changes, and nothing if it changes none. In
    another table `insert` 4 table + 2 queue transactions, equivalent to 26 table operations; `replace` 6 table + 2
    queue transactions, equivalent to 28 table operations, if the value changes. In blobs `insert` 2 table + 2 queue + 1
    blob read + 1 blob write transactions, equivalent to 174 table operations. `keys_of` 1 table transaction, or 1 blob
    read transaction, equivalent to 11 table operations. `find_all` takes one more for each entity found, sent together.

    :param fields: the fields to find entities by; in the primary's partition, the fields of its PartitionKey are added.
        An entity that lacks one of them is in no list
    :param key: the key of the rows; by default made of the fields, which must then be text
    :param store: where the rows are stored: `InPartition()`, `InTable(name)` or `InBlobs(container)`
    :param ids: the property that holds the list; a long list continues in properties with a number after this name
    :param spread: the number of rows to spread each list over, for longer lists and fewer conflicts between writers
    :param name: a label for errors, reports and messages; by default the fields
    :raises BadDesign: the parameters cannot be combined, with each other or with a set

    Guide: index entities pattern.
    """

    @checked
    def __init__(
        self,
        *fields: str,
        key: Key | None = None,
        store: Placement | None = None,
        ids: str = "Ids",
        spread: int = 1,
        name: str | None = None,
    ) -> None:
        if not fields:
            raise BadDesign("fields", fields, "an index entity needs at least one field", "name one")
        storable(ids, "")
        self.fields = fields
        self.placement = store or InPartition()
        self.spread = spread
        self.key = key
        self.name = name or "_".join(fields)
        self.key_list = KeyList(ids, isinstance(self.placement, InPartition), not isinstance(self.placement, InBlobs))
        if not 1 <= spread <= 1000 or (spread > 1 and isinstance(self.placement, InBlobs)):
            raise BadDesign("spread", spread, "a list has 1 to 1,000 rows, or 1 blob", "give such a number")

    @property
    def reads(self) -> Collection[str]:
        return {*self.fields, *(self.key.fields if self.key else ())}

    def row_store(self, account: Account) -> RowStore | None:
        if not isinstance(self.placement, InBlobs):
            return None
        return BlobRows(account, self.placement.container, self.key_list.name)

    def layout(self, primary: Key) -> Key:
        if self.key is None:
            return _default(primary, self.fields, is_eventual=self.is_eventual, spread=self.spread)
        return spread_key(self.key) if self.spread > 1 else self.key

    def row_key_pattern(self, key: Key) -> Key | None:
        return self.layout(key)

    def check_key(self, key: Key, table: str) -> None:
        layout = self.layout(key)
        check_partition(self.name, layout, key, self.placement)
        for field in self.fields:
            if field not in layout.fields:
                rule = f"the key of the rows, {layout}, does not have this field"
                raise BadDesign(self.name, field, rule, "add the field to the key, or leave out the key")

    def keys(self, key: Key, fields: Fields) -> list[Keys]:
        return self.rows_of(self.layout(key), key, fields)

    def affected_keys(self, change: Change) -> list[Keys]:
        old, new = (self.keys(change.key, side) if side else [] for side in (change.old, change.new))
        return [] if old == new else [*old, *new]

    def repair_operation(self, keys: Keys, row: Entity | None, primary: Primary) -> Operation | None:
        entries = self.key_list.stored_entries(self.name, keys, row)
        belongs = primary.fields is not None and keys in self.keys(primary.key, primary.fields)
        if belongs == (primary.row in entries):
            return None
        if belongs:
            return self._list_operation(keys, row, {**entries, primary.row: ""})
        del entries[primary.row]
        return self._list_operation(keys, row, entries)

    def primary_keys_of(self, key: Key, row: Entity) -> list[Keys] | None:
        keys = keys_of(row)
        is_one = self.layout(key).matches(*keys) and not self.may_be_primary(keys, key) and self.key_list.is_in(row)
        return list(self.key_list.entries(row)) if is_one else None

    def _list_operation(self, keys: Keys, row: Entity | None, entries: Mapping[Keys, str]) -> Operation | None:
        lists = self.key_list.properties(keys[0], entries)
        if isinstance(self.placement, InBlobs) and lists:
            # The limits of an entity do not apply to a blob
            return Operation("replace" if row else "insert", *keys, row.etag if row else None, with_keys(keys, lists))
        check_size(self.name, keys, lists, "spread the lists, or keep them in blobs (InBlobs)")
        return rewriting(keys, row, lists)

    def _profile(self, key: Key) -> RowProfile:
        layout = self.layout(key)
        groups = tuple(name for name in layout.fields if name != PART)
        in_table = not isinstance(self.placement, InBlobs)
        return RowProfile(
            "index_entities", "lists", "find_all", layout, None, groups, True, spread=self.spread, in_table=in_table
        )

    def _row_of(self, key: Key, keys: Keys, members: Sequence[Fields]) -> dict[str, Any]:
        return dict(self.key_list.properties(keys[0], {key.keys_of(fields): "" for fields in members}))

    def __repr__(self) -> str:
        return f"<IndexEntity {self.name} {self.placement}>"


@lru_cache
def _default(primary: Key, fields: tuple[str, ...], *, is_eventual: bool, spread: int) -> Key:
    """Return the key made of the fields: `lastname_{LastName}`."""
    part = f"{{{PART}:03d}}" if spread > 1 else ""
    # Text that is followed by more text needs an escape
    last = "" if is_eventual or not part else ":escape"
    spelled = [*(f"{{{field}:escape}}" for field in fields[:-1]), f"{{{fields[-1]}{last}}}"]
    text = "_".join([*(field.lower() for field in fields), *spelled])
    if is_eventual:
        return Key(text, f"ids{part}", max_units=primary.max_units)
    return Key(primary.partition_template, text + part, max_units=primary.max_units)


_TYPE: Final = "text/plain; charset=utf-8"


class BlobRows:
    """Rows as block blobs named `PartitionKey/RowKey`, for lists that are too long for an entity.

    Keys cannot contain a `/`. A blob has one line for each entry of the property `text`, which separates them by `/`.
    """

    is_unfiltered: Final = True

    def __init__(self, account: Account, container: str, text: str) -> None:
        self._account = account
        self.name = container
        self._blobs: Container = account.container(container)
        self._text = text

    async def get(self, partition_key: str, row_key: str) -> Entity | None:
        """Read one row by its keys, or None. Cost: 1 transaction."""
        try:
            blob = await self._blobs.read(f"{partition_key}/{row_key}")
        except BlobChanged as error:
            raise _changed_error((partition_key, row_key), error) from error
        if blob is None:
            return None
        content, etag = blob
        text = content.decode("utf-8").strip("\n").replace("\n", "/")
        row = Entity({"PartitionKey": partition_key, "RowKey": row_key, self._text: text})
        row.etag = etag
        return row

    async def page(self, where: Filter | None, *, size: int, token: str | None = None) -> Page[Entity]:
        """Read one page of rows, ordered by blob name. Cost: 1 transaction per row, and those that list the blobs.

        :param token: the name of the last blob of the previous page
        """
        if where is not None:
            raise BadInput("where", where, "blobs have no filters", "leave it out")
        names: list[str] = []
        async for blob in self._blobs.blobs():
            if "/" not in blob.name or (token is not None and blob.name <= token):
                continue
            names.append(blob.name)
            if len(names) > size:
                break
        rows = await self._account.gather(*(self.get(*name.split("/", 1)) for name in names[:size]), independent=True)
        return Page(tuple(row for row in rows if row is not None), names[size - 1] if len(names) > size else None)

    async def submit(self, *operations: Operation) -> list[Entity]:
        """Write one row if its ETag matches, and return it with its new ETag. Cost: 1 transaction."""
        (operation,) = operations
        name = "/".join(operation.key)
        row = Entity({"PartitionKey": operation.partition_key, "RowKey": operation.row_key})
        try:
            if operation.kind == "delete":
                await self._blobs.delete(name, etag=operation.etag)
                return [row]
            content = str(operation.entity[self._text]).replace("/", "\n") + "\n"
            etag = ABSENT if operation.kind == "insert" else operation.etag
            row.etag = await self._blobs.upload(name, content.encode("utf-8"), etag=etag, content_type=_TYPE)
        except BlobChanged as error:
            raise _changed_error(operation.key, error) from error
        return [row]


def _changed_error(keys: tuple[str, str], error: BlobChanged) -> EntityChanged:
    return EntityChanged(f"the blob of the row {keys} changed since it was read; read it again and retry", error)
