"""Check that the parts of a set can be combined."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from itertools import combinations
from typing import TYPE_CHECKING, Final

from ..declared_rows import RowKind
from ..errors import BadDesign
from ..key import Key
from ..recipe import Account, identity_of, is_sync
from ..sdk.table import Table
from .commit import LookedUpFields
from .derived import Derived, Index
from .mapping import Mappings

if TYPE_CHECKING:
    from .named_table import StoredNames

EVERY_ROW: Final = ("{PartitionKey}", "{RowKey}")
"""The key templates of a set that reads a whole table, including rows of other sets."""


def check_compatible(table: str, key: Key, derived: Collection[Derived], mappings: Mappings) -> None:
    """Reject derived data that does not fit the entities of a set, or two kinds that conflict with each other."""
    for derived_data in derived:
        derived_data.check_key(key, table)
        accounts = [derived_data.account, mappings.account] if isinstance(derived_data, LookedUpFields) else []
        if len({(identity_of(account), is_sync(account)) for account in accounts}) > 1:
            rule = "the set that it copies from is on another account, or on a sync one beside an async one"
            raise BadDesign("derived", derived_data.name, rule, "create both sets with the same account")
        mappings.check_read(derived_data.name, derived_data.reads)
        if isinstance(derived_data, Index) and (properties := derived_data.shape(key).include) is not None:
            mappings.check_held(derived_data.name, properties)
        pattern = derived_data.row_key_pattern(key)
        is_with_primaries = derived_data.placement.store_name(table) == ("table", table.lower())
        if derived_data.is_eventual and pattern is not None and is_with_primaries:
            _check_apart(derived_data.name, pattern, key, "the primary rows")
        if isinstance(derived_data, Index):
            _check_copies(derived_data, key, derived)
    for one, other in combinations(derived, 2):
        if one.is_eventual and other.is_eventual and one.name == other.name:
            rule = "messages name derived data, and this set has the name twice"
            raise BadDesign("derived", one.name, rule, "give each its own name")
        row, rival = one.row_key_pattern(key), other.row_key_pattern(key)
        is_same_store = one.placement.store_name(table) == other.placement.store_name(table)
        if row is not None and rival is not None and is_same_store:
            _check_apart(other.name, rival, row, repr(one.name))


def _check_copies(index: Index, key: Key, derived: Collection[Derived]) -> None:
    """Reject an index that copies fields which another set updates in the primary row only."""
    shape = index.shape(key)
    for derived_data in derived:
        looked_up = derived_data.looked_up if isinstance(derived_data, LookedUpFields) else ()
        for name in sorted(name for name in looked_up if shape.holds(name) or name in shape.key.fields):
            rule = f"its rows hold this property, and would become stale when {derived_data.name} changes it"
            raise BadDesign(f"index {index.name}", name, rule, "include other properties, and not this one")


def _check_apart(name: str, key: Key, other_key: Key, whose: str) -> None:
    """Reject two kinds of rows in one table whose keys could be the same."""
    if key.overlaps(other_key):
        hint = "give each its own RowKey prefix, or a PartitionKey prefix if it has its own partitions"
        raise BadDesign("derived", name, f"its rows could have the keys of {whose}", hint)


def kinds_of(table: str, key: Key, derived: Collection[Derived]) -> list[RowKind]:
    templates = (key.partition_template, key.row_template)
    owner = ("entities", table.lower(), *templates)
    kinds: list[RowKind] = []
    if templates != EVERY_ROW:
        kinds.append(RowKind(("table", table.lower()), key, owner, f"entities of {table!r}"))
    for derived_data in derived:
        rows = derived_data.row_key_pattern(key)
        if rows is not None:
            description = f"rows of {derived_data.name!r}, derived from {table!r},"
            kinds.append(RowKind(derived_data.placement.store_name(table), rows, owner, description))
    return kinds


def check_within(table: str, derived: Collection[Derived]) -> None:
    """Reject derived data outside the table, which would remain when the table is dropped."""
    for derived_data in derived:
        if derived_data.placement.store_name(table) != ("table", table.lower()):
            rule = f"its rows are not in {table!r}, so dropping the table of a period would leave them"
            raise BadDesign("derived", derived_data.name, rule, "keep them in the table of the primary rows")


def check_backfilling(derived: Collection[Derived], backfilling: Iterable[Derived]) -> frozenset[Derived]:
    pending_backfills = frozenset(backfilling)
    for derived_data in pending_backfills.difference(derived):
        raise BadDesign("backfilling", derived_data.name, "the set does not derive it", "give it as derived too")
    return pending_backfills


def tables_of(
    table: Table, account: Account, derived: Collection[Derived], names: StoredNames | None
) -> Mapping[str, Table]:
    tables = {table.name: table}
    for name in {derived_data.table(table.name) for derived_data in derived} - {table.name}:
        derived_table = account.table(name)
        tables[name] = derived_table if names is None else names.named(derived_table)
    return tables
