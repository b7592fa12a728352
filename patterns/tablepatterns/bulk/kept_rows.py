"""Kept rows: what a load knows of the rows that entities share, so that it need not read them for each transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from ..deriving.derived import Keys
from ..deriving.row_store import RowReader
from ..entity import Entity
from ..pace import Pace
from ..words.operation import Operation

_MOST_BYTES: Final = 16 * 1024 * 1024


class KeptRows:
    """Rows of one partition as they were last read or written, each under its ETag; for one task or thread.

    What is kept may be out of date. A write that is conditional on its ETag is then refused, and nothing is lost.

    :param stored: where the rows are
    :param pace: how fast they are read
    """

    def __init__(self, stored: RowReader, pace: Pace) -> None:
        self._stored = stored
        self._pace = pace
        self._rows: dict[Keys, Entity | None] = {}
        self._bytes = 0

    async def get(self, partition_key: str, row_key: str) -> Entity | None:
        """Return a row as it was last known, or None. Cost: 1 transaction, the first time that it is asked for."""
        keys = partition_key, row_key
        if keys not in self._rows:
            await self._pace.turn()
            self._rows[keys] = await self._stored.get(*keys)
        return self._rows[keys]

    def forget(self) -> None:
        """Read every row again: one of them is not what it was."""
        self._rows.clear()
        self._bytes = 0

    def wrote(
        self, left: Mapping[Keys, Entity | None], operations: Sequence[Operation], written: Sequence[Entity]
    ) -> None:
        """Keep rows as a transaction has left them.

        :param left: what they hold, by their keys; None for one that is gone
        :param operations: what was written, with the identity that the service gave each in `written`
        """
        stored = {row.key: row for row in written}
        for keys, row in left.items():
            if row is not None:
                row.be(stored[keys])
            self._rows[keys] = row
        self._bytes += sum(each.payload_bound for each in operations if each.key in left)
        if self._bytes > _MOST_BYTES:
            self.forget()
