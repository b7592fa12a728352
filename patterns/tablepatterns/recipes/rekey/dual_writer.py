"""Write entities to the primary table of a move, and then to the other one.

A writer sends a message, and then reads the phase. A process that changes the phase writes it, and then waits until
there are no messages. So either the writer sees the new phase, or the change of the phase waits for the writer.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import Enum
from hashlib import blake2b
from typing import Any, Final, NamedTuple, cast

from azure.core.exceptions import AzureError

from ...argument_types import check_least
from ...entity import Entity, without_none
from ...entity_set.derived import Keys
from ...entity_set.entity_set import EntitySet
from ...entity_set.internals import adapter_or_none, check_both_sync, check_same_model, set_identity
from ...entity_set.shared_rows import replacing
from ...errors import BadDesign, BadInput, EntityChanged, EntityNotFound, LeaseLost, OutcomeUnknown
from ...messages.lease import Envelope, Lease, process_received
from ...recipe import Account, Account_co, Pattern, elapsed
from ...retry import LOST_RACE, RETRY_FOR, Overtaken, overtaken_by
from .fence import fenced, under_lease
from .mirror import Claim, Difference, Mirror, keys_or_none

Act = Callable[[EntitySet[Account]], Awaitable[Entity | None]]
"""Writes an entity to the set of the primary table, and returns it; None if it deleted it."""


_REJECTED: Final = (BadInput, *LOST_RACE)
"""The errors of a write that has changed nothing."""
_FIRST_WAIT: Final = 0.05
_LONGEST_WAIT: Final = 1.0
_log: Final = logging.getLogger(__name__)


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

    @classmethod
    def of(cls, row: Entity | None) -> State:
        """Return the state in a row; the first one if there is none."""
        if row is None:
            return cls()
        verification, was_cut_over = row.get("Verification"), row.get("WasCutOver", False)
        return cls(Phase(row["Phase"]), row["IsVerified"], verification, was_cut_over, row.get("CommittedAt"), row)

    def properties(self) -> dict[str, Any]:
        properties: dict[str, Any] = {
            "Phase": self.phase.value,
            "IsVerified": self.is_verified,
            "Verification": self.verification,
            "WasCutOver": self.was_cut_over,
            "CommittedAt": self.committed_at,
        }
        return without_none(properties)

    @property
    def etag(self) -> str | None:
        """The ETag of the row; None before the first change."""
        return None if self.row is None else self.row.etag


class Timing(NamedTuple):
    """The parameters of a `Rekey` that are seconds."""

    lease: int
    refresh: float
    max_pause: float
    longest_stall: float


class DualWriter(Pattern[Account_co]):
    """The two sets of a move, without their models, its phase and its messages; the parameters are those of `Rekey`."""

    def __init__(
        self,
        old_set: EntitySet[Account_co, Any],
        new_set: EntitySet[Account_co, Any],
        timing: Timing,
        *,
        control: str,
        queue: str | None,
        name: str | None,
    ) -> None:
        super().__init__(cast("Account_co", new_set.account))
        for option, seconds in timing._asdict().items():
            check_least(option, seconds, 1 if option == "lease" else 0, BadDesign)
        _check_sets(old_set, new_set)
        self.name = name or _name_of(old_set, new_set)
        self.queue = f"rekey-{self.name}" if queue is None else queue
        self.kind = f"rekey {self.name}"
        self._last = _LastRead()
        self.timing = timing
        self.old_set: EntitySet[Account] = fenced(old_set, self._is_old_fenced)
        self.new_set: EntitySet[Account] = fenced(new_set, self._is_new_fenced)
        self._control = self.account.table(control)
        self._state_keys: Keys = ("rekey", self.name)
        self._messages = self.account.queue(self.queue)

    # ------------------------------------------------------------------ the phase

    async def read_state(self) -> State:
        """Return the state as it is now. Cost: 1 transaction."""
        asked_at = elapsed(self.account)
        return self._remember_state(State.of(await self._control.get(*self._state_keys)), asked_at)

    async def change_state(self, state: State, **changes: Any) -> State:
        """Change the state that was read, on condition of its ETag. Cost: 1 transaction."""
        asked_at = elapsed(self.account)
        new_state = replace(state, **changes)
        new_state = replace(new_state, was_cut_over=new_state.was_cut_over or new_state.phase.has_new_primary)
        operation = replacing(self._state_keys, state.row, new_state.properties())
        with overtaken_by(*LOST_RACE):
            (row_written,) = await self._control.submit(operation)
        return self._remember_state(replace(new_state, row=row_written), asked_at)

    def _remember_state(self, state: State, asked_at: timedelta) -> State:
        self._last.state, self._last.until = state, asked_at + timedelta(seconds=self.timing.refresh)
        return state

    async def recent_state(self) -> State:
        """Return the state as it was at most `refresh` seconds ago. Cost: 1 transaction or none."""
        last = self._last
        if last.state.phase is Phase.COMMITTED or (last.until is not None and elapsed(self.account) < last.until):
            return last.state
        return await self.read_state()

    async def is_readable(self, entity_set: EntitySet[Any]) -> bool:
        """Whether a table is still kept up to date: the old one until the move is committed. Cost: 0 or 1 transaction.

        Call it after a read: the phase that the read relied on may be out of date by then.
        """
        return entity_set is not self.old_set or (await self.recent_state()).phase is not Phase.COMMITTED

    @property
    def is_committed(self) -> bool:
        return self._last.state.phase is Phase.COMMITTED

    def fenced_until(self, state: State) -> datetime | None:
        """Return until when deleted entities leave tombstones; None before the commit."""
        return None if state.committed_at is None else state.committed_at + timedelta(seconds=self.timing.longest_stall)

    def _is_new_fenced(self) -> bool:
        until = self.fenced_until(self._last.state)
        return until is None or self.account.now() < until

    def _is_old_fenced(self) -> bool:
        state = self._last.state
        return state.was_cut_over and state.phase is not Phase.COMMITTED

    async def wait_for_phase(self, state: State) -> State:
        """Wait until writers may continue, and return the state then.

        If that takes too long, the process that changes the phase may have crashed, so its change is canceled.
        """
        last_state, since, pause = state, elapsed(self.account), _FIRST_WAIT
        while True:
            await self.account.sleep(pause)
            now = await self.read_state()
            if not now.phase.is_paused:
                return now
            if now.etag != last_state.etag:
                last_state, since = now, elapsed(self.account)
            elif (elapsed(self.account) - since).total_seconds() >= self.timing.max_pause:
                with suppress(Overtaken):
                    return await self.change_state(now, phase=now.phase.canceled)
            pause = min(2 * pause, _LONGEST_WAIT)

    def mirror(self, state: State) -> Mirror:
        """Return what copies the primary table in a phase to the other one."""
        if state.phase.has_new_primary:
            return Mirror(self.new_set, self.old_set, is_new_primary=True)
        return Mirror(self.old_set, self.new_set, is_new_primary=False)

    # ------------------------------------------------------------------ writes

    def claim(self, *versions: Mapping[str, Any] | None) -> Claim:
        """Return the claim on the rows of an entity before and after a change."""
        field_lists = [fields for fields in versions if fields is not None]
        old, new = (
            tuple(dict.fromkeys(keys for fields in field_lists if (keys := keys_or_none(entity_set, fields))))
            for entity_set in (self.old_set, self.new_set)
        )
        return Claim(old, new)

    async def write(
        self, act: Act, before: Mapping[str, Any] | None, after: Mapping[str, Any] | None, retry_for: float
    ) -> Entity | None:
        """Write an entity to the primary table and then to the other one; return what `act` returns.

        :param act: the write to the primary table; it is called again if the process has stalled before it
        :param before: the fields before the change; None for a new entity
        :param after: the fields after the change; None if the entity is deleted
        """
        claim = self.claim(before, after)
        while True:
            lease, state = await self.begin([claim])
            if lease is None:
                return await act(self.new_set)
            mirror = self.mirror(state)
            try:
                await lease.renew_if_due()
                entity = await act(under_lease(mirror.source, lease))
                break
            except LeaseLost:
                # The process stalled, and has written nothing; the phase may have changed
                continue
            except _REJECTED:
                await self._finish(lease, mirror, claim, retry_for)
                raise
        lease = await self._still_announced(lease, [claim], mirror, entity)
        if lease is None:
            return entity
        sources, targets = mirror.sources(claim), mirror.targets(claim)
        known_entities = {keys: entity for keys in sources if entity is None or entity.key == keys}
        had = None if before is None else keys_or_none(mirror.target, before)
        await self._finish(lease, mirror, claim, retry_for, known_entities, [keys for keys in targets if keys != had])
        return entity

    async def begin(self, claims: Sequence[Claim]) -> tuple[Lease | None, State]:
        """Announce a change, and return the lease of its message with the state that holds until it is deleted.

        There is no lease once the move is committed, since the old table is not written any more. Cost: 2 transactions,
        none once the move is known to be committed.
        """
        state = self._last.state
        while state.phase is not Phase.COMMITTED:
            lease = await self._announce(claims)
            state = await self.read_state()
            if not state.phase.is_paused and state.phase is not Phase.COMMITTED:
                return lease, state
            # The change of the phase waits for this message
            await lease.complete()
            if state.phase.is_paused:
                state = await self.wait_for_phase(state)
        return None, state

    async def _announce(self, claims: Sequence[Claim]) -> Lease:
        body = {"entities": [claim.plain() for claim in claims]}
        return await Lease.on_new(self.account, self._messages, Envelope(self.kind, body), self.timing.lease)

    async def _still_announced(
        self, lease: Lease, claims: Sequence[Claim], mirror: Mirror, entity: Entity | None
    ) -> Lease | None:
        """Check after a write that its message existed until then, so that the phase cannot have changed before.

        :return: the lease; None if the move is committed, so that there are no copies
        """
        try:
            await lease.renew_if_due()
        except LeaseLost as error:
            # A worker that received the message may have read the entity before it was written
            if (await self.read_state()).phase is not Phase.COMMITTED:
                lease = await self._announce(claims)
            state = await self.read_state()
            if state.phase.has_new_primary == mirror.is_new_primary:
                return None if state.phase is Phase.COMMITTED else lease
            if state.phase is Phase.COMMITTED and entity is not None:
                # No program reads the old table any more
                with suppress(EntityChanged, EntityNotFound):
                    await mirror.source.delete(entity)
            await self.handle(lease)
            await lease.complete()
            change = "committed" if state.phase is Phase.COMMITTED else "cut over or rolled back"
            text = f"the write took so long that the move to new keys was {change} before it ended, so it may have"
            raise OutcomeUnknown(f"{text} no effect; read the entity, and repeat the write if it lacks it") from error
        return lease

    async def _finish(
        self,
        lease: Lease,
        mirror: Mirror,
        claim: Claim,
        retry_for: float,
        known_entities: Mapping[Any, Entity | None] | None = None,
        absent: Sequence[Any] = (),
    ) -> None:
        """Update the copies after a write, and delete its message.

        The change itself is made. If this fails, the failure is logged, and a worker does it when the message appears.
        """
        try:
            await self.note(await mirror.settle(lease, claim, retry_for, known_entities, absent))
            await lease.complete()
        except AzureError as error:
            _log.warning("%s: the copy of an entity is left to a worker (%s)", self.kind, type(error).__name__)

    async def note(self, problems: Sequence[Difference]) -> None:
        """Make the verification invalid if entities could not be copied. Cost: none; 1 or 2 if there are some."""
        while problems:
            state = await self.read_state()
            if state.verification is None and not state.is_verified:
                return
            with suppress(Overtaken):
                await self.change_state(state, verification=None, is_verified=False)
                return

    # ------------------------------------------------------------------ messages

    async def handle(self, lease: Lease) -> None:
        claims = Claim.parse(lease.work.body)
        state = await self.read_state()
        if state.phase is Phase.COMMITTED:
            return
        mirror = self.mirror(state)

        async def settle(claim: Claim) -> list[Difference]:
            await mirror.fence(claim, RETRY_FOR)
            return await mirror.settle(lease, claim, RETRY_FOR)

        problem_lists = await self.account.gather(*map(settle, claims), independent=True)
        await self.note([problem for problems in problem_lists for problem in problems])

    async def process_messages(self, seconds: int) -> int:
        return await process_received(self.account, self._messages, self.kind, seconds, self.handle)

    async def waiting(self) -> int:
        """Return the number of messages, including hidden ones: 0 if no change is in progress. Cost: 1 transaction."""
        return await self._messages.length()


class _LastRead:
    """The state that this process has read last, shared by the views of an object."""

    state: State = State()
    until: timedelta | None = None


def is_same_table(old_set: EntitySet[Any, Any], new_set: EntitySet[Any, Any]) -> bool:
    return set_identity(old_set)[:2] == set_identity(new_set)[:2]


def _check_sets(old_set: EntitySet[Any, Any], new_set: EntitySet[Any, Any]) -> None:
    check_both_sync("new_set", old_set.account, new_set.account)
    if is_same_table(old_set, new_set) and old_set.key.overlaps(new_set.key):
        rule = "in one table, a row could belong to both sets"
        raise BadDesign("new_set", new_set.key, rule, "move to another table, or begin the keys with different text")
    old, new = (adapter_or_none(entity_set) for entity_set in (old_set, new_set))
    check_same_model("new_set", old, new_set)
    if old is not None and new is not None:
        old.model.check_days("of the new keys", new_set.key)
        new.model.check_days("of the old keys", old_set.key)


def _name_of(old_set: EntitySet[Any, Any], new_set: EntitySet[Any, Any]) -> str:
    """Return a name that no other move between these tables has."""
    keys = [f"{key.partition_template}\n{key.row_template}" for key in (old_set.key, new_set.key)]
    digest = blake2b("\n".join(keys).encode(), digest_size=4).hexdigest()
    names = (entity_set.table.name.lower()[:20] for entity_set in (old_set, new_set))
    return f"{'-'.join(names)}-{digest}"
