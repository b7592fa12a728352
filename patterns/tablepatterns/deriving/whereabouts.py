"""Whereabouts: where derived rows that several entities share lie, and so how they are kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from ..errors import BadDesign
from ..key import Key


@dataclass(frozen=True)
class InPartition:
    """In the partition of the primary rows: they change in one entity group transaction, and are exact at any time."""

    is_elsewhere: ClassVar[bool] = False

    def table(self, primary: str) -> str:
        """Return the name of the table of the rows, by that of the primary rows."""
        return primary


@dataclass(frozen=True)
class InTable:
    """In other partitions: they follow the primary rows by intent, write, reconcile.

    :param name: the table; None for that of the primary rows. No other set may keep rows there under keys of the same
        form: `repair` of one would take those of the other for orphans. Two such sets of one connection are refused
    """

    name: str | None = None
    is_elsewhere: ClassVar[bool] = True

    def table(self, primary: str) -> str:
        """Return the name of the table of the rows, by that of the primary rows."""
        return self.name or primary


@dataclass(frozen=True)
class InBlobs:
    """In block blobs, which hold as much as there is: they follow the primary rows by intent, write, reconcile.

    :param container: the container's name; it is made by the first write, and is for this set's rows alone
    """

    container: str
    is_elsewhere: ClassVar[bool] = True

    def table(self, primary: str) -> str:
        """Return the name of the table of the primary rows: the others are in none."""
        return primary


Whereabouts: TypeAlias = InPartition | InTable | InBlobs


def check_partition(name: str, key: Key, primary: Key, store: Whereabouts) -> None:
    """Refuse rows that would lie, by their key, where their store says they do not.

    :param name: what the error calls them
    :param key: their key
    :param primary: the key of the primary rows
    :raises BadDesign: they would
    """
    shares = key.partition_template == primary.partition_template
    if isinstance(store, InPartition) and not shares:
        rule = f"its rows must share the primary's partition, {primary.partition_template!r}"
        raise BadDesign(name, key.partition_template, rule, "use the same PartitionKey template, or store=InTable()")
    if store == InTable() and shares:
        rule = "its rows would share the primary's partition"
        raise BadDesign(name, key.partition_template, rule, "give the key another PartitionKey, or no store")
