"""Plan how each entity of a bulk load is written, by its mode and by what is stored already."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any, Literal

from ...entity_set.commit import Step, Write, own_steps
from ...entity_set.derived import Index
from ...entity_set.entity_set import EntitySet
from ...entity_set.intents import LookedUpFields
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
from .chunk import Planned

Mode = Literal["insert", "insert_or_replace"]


class Stopped(Exception):
    """The load cannot continue, because of an error at an entity of the input; internal to this package."""

    def __init__(self, error: Exception, position: int | None) -> None:
        super().__init__(str(error))
        self.error = error
        self.position = position


@contextmanager
def at(position: int) -> Generator[None, None, None]:
    """Attribute bad input to the entity at that position."""
    try:
        yield
    except BadInput as error:
        raise Stopped(error, position) from error


class Planner:
    """Plan the operations that write each entity of a load.

    :param into: the set that is loaded, as recipes see it
    :param resumed: whether an interrupted load may have stored some of the entities already
    """

    def __init__(self, into: EntitySet[Account], mode: Mode, max_per_second: Pace, *, resumed: bool) -> None:
        self._into = into
        self._mode = mode
        self._pace = max_per_second
        self._resumed = resumed
        self._sharing = tuple(each for each in into.derived if each.shares_rows and not each.is_eventual)
        looked_up = (each.looked_up for each in into.derived if isinstance(each, LookedUpFields))
        self._apart_from = frozenset(into.key.fields).union(*looked_up)

    @property
    def shares_rows(self) -> bool:
        """Whether entities of a partition share rows, so that a chunk is planned as a whole."""
        return bool(self._sharing)

    @property
    def looks_up(self) -> bool:
        """Return whether `anew` reads the entity."""
        return self.needs_stored or self._may_be_ours

    @property
    def _may_be_ours(self) -> bool:
        return self._mode == "insert" and self._resumed

    @property
    def needs_stored(self) -> bool:
        """Whether the operations depend on what is stored, because old derived rows must be deleted."""
        return self._mode == "insert_or_replace" and bool(self._into.derived)

    async def new(self, position: int, entity: Mapping[str, Any]) -> Planned:
        """Plan the write of an entity that is not stored yet.

        :raises Stopped: the entity cannot be stored
        """
        with at(position):
            return await self._planned(position, self._into.inserting(entity))

    def check_together(self, planned: Iterable[Planned]) -> None:
        """Reject two inserts under one key, whatever is stored.

        :raises Stopped: at the second of the two
        """
        if self._mode != "insert":
            return
        positions: dict[tuple[str, str], int] = {}
        for each in planned:
            for step in each.steps:
                if step.owner is None or isinstance(step.owner, Index):
                    first = positions.setdefault(step.operation.key, each.position)
                    if first != each.position:
                        raise Stopped(_repeated(step.operation.key, step.owner, first), each.position)

    async def anew(self, planned: Planned) -> Planned | None:
        """Plan the write of an entity on what is stored now; None if it is stored as it should be.

        Only a resumed load may take an equal entity for its own.
        """
        position, fields = planned.position, planned.fields
        if not self.looks_up:
            return await self.new(position, fields)
        await self._pace.turn()
        stored = await self._into.get(**self._into.primary.key_fields(fields))
        if stored is None:
            return await self.new(position, fields)
        if self._may_be_ours:
            return None if same_value(stored, fields, apart_from=self._apart_from) else planned
        stored.clear()
        stored.update(fields)
        with at(position):
            return await self._planned(position, self._into.replacing(stored))

    async def _planned(self, position: int, write: Write) -> Planned:
        encoded = await write.encoded()
        steps = await self._steps(encoded)
        if self._mode == "insert_or_replace" and not self._into.derived:
            # Nothing depends on what is stored, so the service's own upsert is enough
            steps = [step._replace(operation=replace(step.operation, kind=self._mode)) for step in steps]
        planned = Planned(position, encoded, steps)
        if not planned.is_one_transaction:
            check_transaction([step.operation for step in steps])
        return planned

    async def _steps(self, write: Write) -> list[Step]:
        """Return the operations on the entity's own rows; those on shared rows can only be checked here."""
        for each in self._sharing:
            # Not every kind of derived data knows which rows it changes
            with suppress(BadDesign):
                each.affected_keys(write.change)
        return await own_steps(self._into.table, write)

    def may_help(self, error: Exception) -> bool:
        """Return whether planning again, on what is stored now, may succeed after this error."""
        return self.was_overtaken(error) or (self._resumed and isinstance(error, EntityAlreadyExists))

    def was_overtaken(self, error: Exception) -> bool:
        """Return whether the error only says that something changed after the operations were planned."""
        if isinstance(error, EntityChanged):
            return True
        moved = isinstance(error, (EntityAlreadyExists, EntityNotFound))
        return self.needs_stored and moved and not isinstance(error, (DuplicateIndexValue, ReferenceNotFound))


def _repeated(key: tuple[str, str], index: Index | None, first: int) -> BadKey:
    subject = "the entity's key" if index is None else f"the key in {index.name}"
    rule = f"entity {first} of the input has the same"
    return BadKey(subject, key, rule, "leave one of the two out, or give them different keys")
