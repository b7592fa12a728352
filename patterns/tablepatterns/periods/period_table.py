"""PeriodTable: the table of one period, which is never written once the period has expired, and so never made again."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from azure.core.exceptions import HttpResponseError

from ..entity import Entity
from ..errors import TableBeingDeleted
from ..filters import Filter
from ..words.operation import Operation
from ..words.table import Page, Table
from ..words.translation import code_of


class PeriodTable(Table):
    """A table that asks before each write whether it may still be written, and that holds nothing once it is deleted.

    It asks right before each request, that which makes a missing table included.

    :param table: the table
    :param check: refuses the operations that must not be sent now; none of them stands for making the table
    :param check_drop: refuses to have the table dropped now
    """

    def __init__(
        self, table: Table, check: Callable[[Sequence[Operation]], None], check_drop: Callable[[], None]
    ) -> None:
        super().__init__(table._client, table._hook)
        self._check = check
        self._check_drop = check_drop

    async def create(self) -> bool:
        """Create the table, unless its period has expired; return False if it existed. Cost: 1 transaction.

        :raises PeriodExpired: the period has expired
        :raises TableBeingDeleted: the table was deleted a moment ago
        """
        self._check(())
        try:
            return await super().create()
        except HttpResponseError as error:
            if not _being_deleted(error):
                raise
            raise self._refusal(error) from error

    async def submit(self, *operations: Operation) -> list[Entity]:
        """Carry out all operations in one entity group transaction, unless the period has expired.

        :raises PeriodExpired: the period has expired
        :raises BadKey: an entity is of another period
        :raises TableBeingDeleted: the table was deleted a moment ago

        The rest is as for any table.
        """
        self._check(operations)
        try:
            return await super().submit(*operations)
        except HttpResponseError as error:
            if code_of(error) == "TableNotFound":
                # It may have been dropped on the way, which is then the reason
                self._check(())
            if not _being_deleted(error) or isinstance(error, TableBeingDeleted):
                raise
            raise self._refusal(error) from error

    async def get(self, partition_key: str, row_key: str, select: Sequence[str] | None = None) -> Entity | None:
        """Read one entity by its keys, or None. Cost: 1 transaction, a point query."""
        try:
            return await super().get(partition_key, row_key, select)
        except HttpResponseError as error:
            if not _being_deleted(error):
                raise
            return None

    async def page(
        self, where: Filter | None, *, size: int, token: str | None = None, select: Sequence[str] | None = None
    ) -> Page[Entity]:
        """Read one page of a query. Cost: 1 transaction."""
        try:
            return await super().page(where, size=size, token=token, select=select)
        except HttpResponseError as error:
            if not _being_deleted(error):
                raise
            return Page((), None)

    async def drop(self) -> None:
        """Delete the table with everything in it; one that is deleted already is fine. Cost: 1 transaction.

        :raises BadInput: the period has not expired
        """
        self._check_drop()
        try:
            await super().drop()
        except HttpResponseError as error:
            if not _being_deleted(error):
                raise

    def _refusal(self, error: HttpResponseError) -> TableBeingDeleted:
        text = (
            f"the table {self.name!r} is being deleted, and nothing has changed; write to the table of another period"
        )
        return TableBeingDeleted(text, error)


def _being_deleted(error: HttpResponseError) -> bool:
    return code_of(error) == "TableBeingDeleted"
