"""Keep counts and sums of each group of entities in one row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from ..argument_types import checked
from ..edm import Int64
from ..entity import Entity, storable
from ..entity_set.derived import Change, Fields, Keys, Primary, RowProfile, keys_of
from ..entity_set.placement import InBlobs, InPartition, Placement, RowReader, check_partition
from ..entity_set.shared_rows import PART, KeyList, Totals, check_size, merging, rewriting, spread_key
from ..errors import BadDesign, BadProperty, DerivedDataMismatch, LimitExceeded
from ..key import Key
from ..limits import INT64_MAX, INT64_MIN
from ..sdk.operation import Operation


class Summary(Totals):
    """Keep counts and sums of entities, so that an aggregate is one read.

    Use it for totals that are read often, such as how many employees a department has and the sum of their salaries.

    >>> from tablepatterns import EntitySet, Key, connect
    >>> staff = Summary(Key("{Department}", "department"), count="EmployeeCount", sums={"Salary": "Payroll"})
    >>> employees = EntitySet(connect(), "Employees", Key("{Department}", "empid_{EmployeeId:06d}"), derived=[staff])
    >>> for number, salary in ((223, 5000), (152, 4000)):
    ...     _ = employees.insert({"Department": "Sales", "EmployeeId": number, "Salary": salary})
    >>> employees.totals(staff, Department="Sales")
    {'EmployeeCount': 2, 'Payroll': Int64(9000)}

    Consistency: in the partition, counts and sums change in one transaction with the entity, so they are always exact.
    Elsewhere they are eventually consistent, and each entity is counted once. In the partition, the row may be that of
    another entity, and entities that are older than the summary are added by `recount`. Only whole numbers are added.
    More: docs/patterns/summary.md.

    Cost: in the partition one more point query for each group that a write changes, and nothing if it changes none. In
    another table `insert`, and `replace` that changes one group, 4 table + 2 queue transactions, equivalent to 26 table
    operations; two more of a table for a second group. `totals` 1 table transaction.

    :param key: the key of the rows; its fields make the groups, and an entity that lacks one of them is in none
    :param count: the property that holds the count; None for no count
    :param sums: maps each field to add up to the property that holds the sum; a missing field adds nothing
    :param store: where the rows are stored: `InPartition()` or `InTable(name)`
    :param spread: the number of rows to spread a group over, 1 to 1,000, for fewer conflicts between its writers. The
        rows then belong to the summary alone, with a number at the end of the RowKey
    :param members: the property that lists the entities of a group, if the rows are outside their partition
    :param name: a label for errors, reports and messages; by default the RowKey template
    :raises BadDesign: the parameters cannot be combined, with each other or with a set

    Guide: denormalization pattern (summary entities); one-to-many relationships.
    """

    @checked
    def __init__(
        self,
        key: Key,
        *,
        count: str | None = "Count",
        sums: Mapping[str, str] | None = None,
        store: Placement | None = None,
        spread: int = 1,
        members: str = "Members",
        name: str | None = None,
    ) -> None:
        self.placement = store or InPartition()
        # Rows in the partition do not list their entities
        self.is_verifiable = self.is_eventual
        self.count = count
        self.sums = dict(sums or {})
        self.spread = spread
        self.layout = spread_key(key) if spread > 1 else key
        self.key_list = KeyList(members, local=False)
        self.name = name or key.row_template
        self._check()

    def _check(self) -> None:
        names = self.properties
        if not names:
            raise BadDesign(self.name, names, "a summary needs a count or a sum", "give one")
        for name in (*names, self.key_list.name):
            storable(name, 0)
            if [*names, self.key_list.name, *self.layout.fields].count(name) > 1:
                raise BadDesign(self.name, name, "two properties have this name", "rename one")
        if isinstance(self.placement, InBlobs):
            raise BadDesign(self.name, self.placement, "a summary cannot be stored in blobs", "use InTable()")
        if not 1 <= self.spread <= 1000:
            raise BadDesign("spread", self.spread, "a group has 1 to 1,000 rows", "give such a number")

    @property
    def reads(self) -> Collection[str]:
        return {*self.layout.fields, *self.sums} - {PART}

    @property
    def properties(self) -> list[str]:
        return [*([self.count] if self.count else []), *self.sums.values()]

    def row_key_pattern(self, key: Key) -> Key | None:
        """Return the key of the rows elsewhere; in the partition the rows may belong to other entities."""
        return self.layout if self.is_eventual else None

    def check_key(self, key: Key, table: str) -> None:
        check_partition(self.name, self.layout, key, self.placement)

    def keys(self, key: Key, fields: Fields) -> list[Keys]:
        return self.rows_of(self.layout, key, fields)

    def affected_keys(self, change: Change) -> list[Keys]:
        return list(self._parts(change))

    def part(self, key: Key, fields: Fields | None) -> dict[Keys, tuple[int, ...]]:
        if fields is None:
            return {}
        return {
            keys: (1, *(_check_whole_number(name, fields.get(name)) for name in self.sums))
            for keys in self.keys(key, fields)
        }

    async def operations(self, change: Change, rows: RowReader) -> list[Operation]:
        parts = self._parts(change)
        return [self._added(keys, await rows.get(*keys), old, new) for keys, (old, new) in parts.items()]

    def _parts(self, change: Change) -> dict[Keys, tuple[tuple[int, ...] | None, tuple[int, ...] | None]]:
        """Return what an entity adds to each affected group before and after a change."""
        old, new = self.part(change.key, change.old), self.part(change.key, change.new)
        return {} if old == new else {keys: (old.get(keys), new.get(keys)) for keys in [*old, *new]}

    def repair_operation(self, keys: Keys, row: Entity | None, primary: Primary) -> Operation | None:
        entries = self.key_list.stored_entries(self.name, keys, row)
        before = dict(entries)
        entries.pop(primary.row, None)
        addition = self.part(primary.key, primary.fields).get(keys)
        if addition is not None:
            entries[primary.row] = ",".join(map(str, addition))
        if entries == before:
            return None
        parts = [list(map(int, note.split(","))) for note in entries.values()]
        properties = {**self._sum_of(parts), **self.key_list.properties(keys[0], entries)} if entries else {}
        check_size(self.name, keys, properties, "spread the group")
        return rewriting(keys, row, properties)

    def primary_keys_of(self, key: Key, row: Entity) -> list[Keys] | None:
        """Return the keys of the entities that a row elsewhere lists; None if the row is of another kind."""
        keys = keys_of(row)
        if not self.is_eventual or not self.layout.matches(*keys) or self.may_be_primary(keys, key):
            return None
        return list(self.key_list.entries(row)) if self.key_list.is_in(row) else None

    def as_properties(self, totals: Sequence[int]) -> dict[str, Any]:
        properties: dict[str, Any] = {self.count: totals[0]} if self.count else {}
        for name, total in zip(self.sums.values(), totals[1:], strict=True):
            if not INT64_MIN <= total <= INT64_MAX:
                raise LimitExceeded(name, total, "a sum has at most 64 bits", "use smaller groups or larger units")
            properties[name] = Int64(total)
        return properties

    def totals_in(self, row: Mapping[str, Any] | None) -> tuple[int, ...]:
        names = [self.count, *self.sums.values()]
        values = [(row or {}).get(name, 0) if name else 0 for name in names]
        for name, value in zip(names, values, strict=True):
            if not isinstance(value, int) or isinstance(value, bool):
                text = f"{self.name}: {name} is {value!r}, which is not a total, so it belongs to something else"
                raise DerivedDataMismatch(text)
        return tuple(map(int, values))

    def _added(
        self, keys: Keys, row: Entity | None, old: tuple[int, ...] | None, new: tuple[int, ...] | None
    ) -> Operation:
        totals = Counter(dict(enumerate(self.totals_in(row))))
        totals.subtract(dict(enumerate(old or ())))
        totals.update(dict(enumerate(new or ())))
        if (row is None and old) or (self.count and totals[0] < 0):
            text = f"{self.name}: the row {keys} does not count this entity. Nothing was written; call recount."
            raise DerivedDataMismatch(text)
        return merging(keys, row, self.as_properties([totals[number] for number in range(len(self.sums) + 1)]))

    def _profile(self, key: Key) -> RowProfile:
        groups = tuple(name for name in self.layout.fields if name != PART)
        size, names = 1 + len(self.sums), tuple(self.properties)
        return RowProfile(
            "summary", "totals", "totals", self.layout, None, groups, self.is_eventual, size, names, self.spread
        )

    def _row_of(self, key: Key, keys: Keys, members: Sequence[Fields]) -> dict[str, Any]:
        numbers = {key.keys_of(fields): self.part(key, fields)[keys] for fields in members}
        totals = self._sum_of(numbers.values())
        if not self.is_eventual:
            return totals
        notes = {row: ",".join(map(str, numbers_of_row)) for row, numbers_of_row in numbers.items()}
        return {**totals, **self.key_list.properties(keys[0], notes)}

    def __repr__(self) -> str:
        return f"<Summary {self.name} {self.placement}>"


def _check_whole_number(name: str, value: Any) -> int:
    if value is None:
        return 0
    if not isinstance(value, int) or isinstance(value, bool):
        rule = "only whole numbers can be summed, since sums of floats drift"
        raise BadProperty(name, value, rule, "store it in its smallest unit, such as cents")
    return int(value)
