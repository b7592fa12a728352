"""The phase of a move to new keys, stored in one row that all processes read."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import Enum
from typing import Any, Final

from ...entity import Entity, write_ids_of
from ...entity_set.derived import Keys
from ...errors import EntityAlreadyExists, EntityChanged, EntityNotFound
from ...recipe import Account
from ...retry import Overtaken
from ...sdk.operation import ANY, Operation


class Phase(Enum):
    """The phase of a move to new keys: which table is the primary one, and whether writers wait."""

    COPYING = "copying"
    """The old table is the primary one, and the new one its copy. The first phase."""
    CUTTING_OVER = "cutting over"
    """The old table is the primary one, and writers wait, for seconds."""
    CUT_OVER = "cut over"
    """The new table is the primary one, and the old one its copy."""
    ROLLING_BACK = "rolling back"
    """The new table is the primary one, and writers wait, for seconds."""
    COMMITTED = "committed"
    """The old table is neither read nor written. The last phase."""

    @property
    def is_paused(self) -> bool:
        """Whether writers wait for the next phase."""
        return self in (Phase.CUTTING_OVER, Phase.ROLLING_BACK)

    @property
    def has_new_primary(self) -> bool:
        """Whether the new table is the primary one."""
        return self not in (Phase.COPYING, Phase.CUTTING_OVER)

    @property
    def canceled(self) -> Phase:
        """The phase in which writers continue if the change that they wait for is canceled."""
        return Phase.CUT_OVER if self.has_new_primary else Phase.COPYING


@dataclass(frozen=True)
class State:
    """What is stored about a move.

    :param is_verified: whether a complete verification has found no difference, and each write since has its copy
    :param verification: the id of the last verification; None once a write since could not be copied
    :param was_cut_over: whether the new table is or has been the primary one, so that the old one may get copies
    :param committed_at: when the move was committed; None before
    """

    phase: Phase = Phase.COPYING
    is_verified: bool = False
    verification: str | None = None
    was_cut_over: bool = False
    committed_at: datetime | None = None
    row: Entity | None = field(default=None, repr=False, compare=False)

    @property
    def etag(self) -> str | None:
        """The ETag of the row; None before the first change."""
        return None if self.row is None else self.row.etag


OVERTAKEN: Final = (EntityAlreadyExists, EntityChanged, EntityNotFound)


class PhaseStore:
    """Reads and changes the state of one move."""

    def __init__(self, account: Account, table: str, keys: Keys) -> None:
        self._table = account.table(table)
        self._keys = keys

    async def read(self) -> State:
        """Return the state as it is now. Cost: 1 transaction."""
        row = await self._table.get(*self._keys)
        if row is None:
            return State()
        return State(
            Phase(row["Phase"]),
            row["IsVerified"],
            row.get("Verification"),
            row.get("WasCutOver", False),
            row.get("CommittedAt"),
            row,
        )

    async def change(self, state: State, **changes: Any) -> State:
        """Change the state that was read, on condition of its ETag. Cost: 1 transaction."""
        new_state = replace(state, **changes)
        new_state = replace(new_state, was_cut_over=new_state.was_cut_over or new_state.phase.has_new_primary)
        properties: dict[str, Any] = {
            "PartitionKey": self._keys[0],
            "RowKey": self._keys[1],
            "Phase": new_state.phase.value,
            "IsVerified": new_state.is_verified,
            "WasCutOver": new_state.was_cut_over,
        }
        if new_state.committed_at is not None:
            properties["CommittedAt"] = new_state.committed_at
        if new_state.verification is not None:
            properties["Verification"] = new_state.verification
        row = state.row
        operation = (
            Operation.insert(properties)
            if row is None
            else Operation.replace(properties, row.etag or ANY, write_ids=write_ids_of(row))
        )
        try:
            (row_written,) = await self._table.submit(operation)
        except OVERTAKEN as error:
            raise Overtaken from error
        return replace(new_state, row=row_written)
