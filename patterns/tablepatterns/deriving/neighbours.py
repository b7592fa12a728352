"""Neighbours: the sets of one connection that keep rows in one place, so that none takes another's for its orphans.

Rows elsewhere say which primary row they follow from by its key, and not of which table. So two sets must not keep rows
in one place under keys that could be the same. Other processes are not seen here.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final
from weakref import WeakKeyDictionary

from ..errors import BadDesign
from ..key import Key
from ..recipe import Account
from .derived import Derived, Place


@dataclass(frozen=True)
class _Tenant:
    """A set that keeps rows somewhere: the same one however often it is made."""

    table: str
    key: tuple[str, str]
    rows: Key


_Tenants = dict[Place, set[_Tenant]]
_TENANTS: Final[WeakKeyDictionary[Account, _Tenants]] = WeakKeyDictionary()
_LOCK: Final = threading.Lock()


def move_in(account: Account, table: str, key: Key, derived: Collection[Derived]) -> None:
    """Note where a set keeps rows outside the partitions of its entities, for the sets that are made after it.

    :param table: the table of the primary rows
    :param key: the key of the primary rows
    :raises BadDesign: another set of the account keeps rows there that could have the same keys; nothing is noted
    """
    wanted = [
        (each, _Tenant(table.lower(), (key.partition_template, key.row_template), rows))
        for each in derived
        if each.is_elsewhere and (rows := each.own_rows(key)) is not None
    ]
    with _LOCK:
        tenants = _TENANTS.setdefault(account, defaultdict(set))
        for each, tenant in wanted:
            _check_alone(each, each.place(table), tenant, tenants)
        for each, tenant in wanted:
            tenants[each.place(table)].add(tenant)


def _check_alone(derived: Derived, place: Place, tenant: _Tenant, tenants: _Tenants) -> None:
    for other in tenants.get(place, ()):
        is_same = (other.table, other.key) == (tenant.table, tenant.key)
        if not is_same and other.rows.overlaps(tenant.rows):
            rule = f"a set of {other.table!r} keeps rows under such keys in the {place[0]} {place[1]!r}"
            way_out = "give each set a place of its own, or a PartitionKey that begins with its name"
            raise BadDesign("derived", derived.name, rule, way_out)
