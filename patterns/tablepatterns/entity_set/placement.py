"""Where derived rows are stored: in the partition of the entities, in a table, or in blobs; and how they are read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol, TypeAlias

from ..declared_rows import StoreName
from ..entity import Entity
from ..errors import BadDesign
from ..filters import Filter
from ..key import Key
from ..sdk.operation import Operation
from ..sdk.table import Page


class _Placement:
    """Rows in the table of the entities, unless a subclass says otherwise."""

    is_eventual: ClassVar[bool] = True

    def table(self, primary: str) -> str:
        """Return the name of the table of the rows, given that of the entities."""
        return primary

    def store_name(self, primary: str) -> StoreName:
        """Return what the rows are stored in, given the name of the table of the entities."""
        return "table", self.table(primary).lower()


@dataclass(frozen=True)
class InPartition(_Placement):
    """In the partition of the entities: rows change in the same transaction, so they are always consistent."""

    is_eventual: ClassVar[bool] = False


@dataclass(frozen=True)
class InTable(_Placement):
    """In other partitions: rows are eventually consistent; see docs/protocols/intents.md.

    :param name: the table; None for that of the entities. No other set may store rows there whose keys match, because
        `repair` would delete them as orphans. Two such sets of one connection raise `BadDesign`
    """

    name: str | None = None

    def table(self, primary: str) -> str:
        return self.name or primary


@dataclass(frozen=True)
class InBlobs(_Placement):
    """In block blobs, for lists that outgrow a row: blobs are eventually consistent; see docs/protocols/intents.md.

    :param container: the container's name, for the rows of this set only; the first write creates it
    """

    container: str

    def store_name(self, primary: str) -> StoreName:
        return "container", self.container


Placement: TypeAlias = InPartition | InTable | InBlobs


def check_partition(name: str, key: Key, primary: Key, placement: Placement) -> None:
    """Reject rows whose key contradicts their placement."""
    shares = key.partition_template == primary.partition_template
    if isinstance(placement, InPartition) and not shares:
        rule = f"its rows must share the primary's partition, {primary.partition_template!r}"
        raise BadDesign(name, key.partition_template, rule, "use the same PartitionKey template, or store=InTable()")
    if placement == InTable() and shares:
        rule = "its rows would share the primary's partition"
        raise BadDesign(name, key.partition_template, rule, "give the key another PartitionKey, or no store")


class RowReader(Protocol):
    async def get(self, partition_key: str, row_key: str) -> Entity | None:
        """Read one row by its keys, or None."""
        ...


class RowStore(RowReader, Protocol):
    """What stores derived rows: a table, or the blobs of a container."""

    @property
    def name(self) -> str: ...

    async def page(self, where: Filter | None, *, size: int, token: str | None = None) -> Page[Entity]: ...

    async def submit(self, *operations: Operation) -> list[Entity]:
        """Carry out writes on condition of the rows' ETags."""
        ...
