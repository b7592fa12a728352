"""Plan the operations of a bulk load, depending on its mode and on the entities that are stored already."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any, Literal

from ...entity_set.commit import Step, Write, own_steps
from ...entity_set.derived import Index
from ...entity_set.entity_set import EntitySet
from ...entity_set.intents import LookedUpFields
from ...entity_set.internals import primary_layout
from ...errors import (
    BadDesign,
    BadInput,
    BadKey,
    DuplicateIndexValue,
    EntityAlreadyExists,
    EntityChanged,
    EntityNotFound,
    ReferenceNotFound,
)
from ...rate_limit import Pace
from ...recipe import Account
from ...same_value import same_value
from ...sdk.operation import check_transaction
from .chunk import PlannedEntity

Mode = Literal["insert", "insert_or_replace"]


class LoadStopped(Exception):
    """The load cannot continue, because of an error at an entity of the input; not raised to callers."""

    def __init__(self, error: Exception, position: int | None) -> None:
        super().__init__(str(error))
        self.error = error
        self.position = position


class at_input:  # noqa: N801 - it is used as a context manager
    """Attribute bad input to the entity at that position."""

    def __init__(self, position: int) -> None:
        self._position = position

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, BadInput):
            raise LoadStopped(error, self._position) from error


class Planner:
    """Plan the operations that write each entity of a load.

    :param entity_set: the set to load
    :param resumed: whether an interrupted load may have stored some of the entities
    """

    def __init__(self, entity_set: EntitySet[Account], mode: Mode, max_per_second: Pace, *, resumed: bool) -> None:
        self._entity_set = entity_set
        self._mode = mode
        self._pace = max_per_second
        self._resumed = resumed
        self._sharing = tuple(
            derived for derived in entity_set.derived if derived.shares_rows and not derived.is_eventual
        )
        looked_up = (derived.looked_up for derived in entity_set.derived if isinstance(derived, LookedUpFields))
        self._ignored_fields = frozenset(entity_set.key.fields).union(*looked_up)

    @property
    def shares_rows(self) -> bool:
        """Whether entities of a partition share rows, so that chunks are planned one after the other."""
        return bool(self._sharing)

    @property
    def looks_up(self) -> bool:
        """Return whether `replan` reads the entity."""
        return self.needs_stored or self._may_be_stored

    @property
    def _may_be_stored(self) -> bool:
        return self._mode == "insert" and self._resumed

    @property
    def needs_stored(self) -> bool:
        """Whether the operations depend on the stored entity, because old derived rows must be deleted."""
        return self._mode == "insert_or_replace" and bool(self._entity_set.derived)

    async def new(self, position: int, entity: Mapping[str, Any]) -> PlannedEntity:
        """Plan the write of an entity that is not stored yet.

        :raises Stopped: the entity cannot be stored
        """
        try:
            return await self._plan(position, self._entity_set.inserting(entity))
        except BadInput as error:
            raise LoadStopped(error, position) from error

    def check_duplicates(self, plans: Iterable[PlannedEntity]) -> None:
        """Reject two inserts with the same key.

        :raises Stopped: at the second of the two
        """
        if self._mode != "insert":
            return
        positions: dict[tuple[str, str], int] = {}
        for plan in plans:
            for step in plan.steps:
                if step.owner is None or isinstance(step.owner, Index):
                    first = positions.setdefault(step.operation.key, plan.position)
                    if first != plan.position:
                        raise LoadStopped(_repeated(step.operation.key, step.owner, first), plan.position)

    async def replan(self, plan: PlannedEntity) -> PlannedEntity | None:
        """Plan the write of an entity again, based on the stored one; None if it is stored already.

        Only a resumed load accepts an equal entity.
        """
        position, fields = plan.position, plan.fields
        if not self.looks_up:
            return await self.new(position, fields)
        await self._pace.turn()
        stored = await self._entity_set.get(**primary_layout(self._entity_set).key_fields(fields))
        if stored is None:
            return await self.new(position, fields)
        if self._may_be_stored:
            return None if same_value(stored, fields, apart_from=self._ignored_fields) else plan
        stored.clear()
        stored.update(fields)
        with at_input(position):
            return await self._plan(position, self._entity_set.replacing(stored))

    async def _plan(self, position: int, write: Write) -> PlannedEntity:
        encoded = await write.encoded()
        steps = await self._steps(encoded)
        if self._mode == "insert_or_replace" and not self._entity_set.derived:
            # Nothing depends on the stored entity, so the service's upsert is enough
            steps = [step._replace(operation=replace(step.operation, kind=self._mode)) for step in steps]
        entity_plan = PlannedEntity(position, encoded, steps)
        if not entity_plan.is_one_transaction:
            check_transaction([step.operation for step in steps])
        return entity_plan

    async def _steps(self, write: Write) -> list[Step]:
        """Return the operations on the entity's own rows; shared rows are planned later, and only checked here."""
        for derived in self._sharing:
            # Not every kind of derived data knows which rows it changes
            with suppress(BadDesign):
                derived.affected_keys(write.change)
        return await own_steps(self._entity_set.table, write)

    def may_succeed_replanned(self, error: Exception) -> bool:
        """Return whether planning again may succeed after this error."""
        return self.lost_race(error) or (self._resumed and isinstance(error, EntityAlreadyExists))

    def lost_race(self, error: Exception) -> bool:
        """Return whether the error is due to a change after the operations were planned."""
        if isinstance(error, EntityChanged):
            return True
        row_differs = isinstance(error, (EntityAlreadyExists, EntityNotFound))
        return self.needs_stored and row_differs and not isinstance(error, (DuplicateIndexValue, ReferenceNotFound))


def _repeated(key: tuple[str, str], index: Index | None, first: int) -> BadKey:
    subject = "the entity's key" if index is None else f"the key in {index.name}"
    return BadKey(subject, key, f"entity {first} of the input has the same", "omit one of the two, or change its key")
