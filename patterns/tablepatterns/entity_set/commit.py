"""Commit: logical changes as one entity group transaction, each conditional on the row that the caller read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from ..entity import Entity
from ..errors import (
    BadInput,
    DerivedDataMismatch,
    DuplicateIndexValue,
    EntityAlreadyExists,
    EntityChanged,
    EntityNotFound,
)
from ..recipe import Account
from ..retry import Overtaken, check_retry_for, contended
from ..same_value import same_value
from ..sdk.operation import ANY, Operation, check_transaction, plain
from ..sdk.table import Table
from ..set_identity import SetIdentity
from ..write_id import Lineage
from .derived import Change, Derived, Fields, Keys, RowLayout, repair_operations
from .intents import Intents, LookedUpFields, Promise
from .mapping import Action, Mappings
from .pending import Pending, combined
from .row_store import RowReader


@dataclass(frozen=True)
class Source:
    """The row from which the caller read an entity, whose ETag guards the whole change.

    Every row of an entity changes in the same transaction, so the ETag of any one of them speaks for all.
    """

    shape: RowLayout
    key: tuple[str, str]
    etag: str
    lineage: Lineage = ()


@dataclass(frozen=True)
class Reading:
    """What a set remembers of an entity that it read or wrote: from which row, what it held, and whether all of it.

    `stored` is what the row held; `fields` is what the mappings of the set made of it.
    """

    source: Source
    stored: Fields
    fields: Fields
    is_whole: bool
    of: SetIdentity
    """The set."""


@dataclass(frozen=True)
class Write:
    """One logical change of a set, checked and ready to be committed, alone or with others of its partition.

    Made by `inserting`, `replacing`, `merging` and `deleting` of an `EntitySet`; nothing was sent yet.
    """

    of: SetIdentity
    change: Change
    derived: tuple[Derived, ...] = field(default=(), repr=False)
    source: Source | None = field(default=None, repr=False)
    entity: Entity = field(default_factory=Entity, repr=False)
    """What is brought up to date once the change is written."""
    is_whole: bool = True
    """Whether the new fields are all that is stored."""
    mappings: Mappings | None = field(default=None, repr=False)
    """How the fields are stored, where they are not stored as they are."""
    before: tuple[Action, ...] = field(default=(), repr=False)
    """What must be done before the rows may be written."""
    given: Fields | None = field(default=None, repr=False)
    """The fields as the caller gave them, once `change` has them as they are stored."""
    intents: Intents | None = field(default=None, repr=False)
    """What announces the change, where something follows from it outside the partition."""
    guards: tuple[tuple[Derived, Operation], ...] = field(default=(), repr=False)
    """Writes that make sure of what the change was completed with."""
    backfilling: frozenset[Derived] = field(default=frozenset(), repr=False)
    """What is derived of which entities may lack the rows as yet."""

    async def encoded(self) -> Write:
        """Return this write with the fields as they are stored."""
        if self.mappings is None or not self.mappings.each or self.given is not None:
            return self
        change, before = await self.mappings.encode(self.change)
        return replace(self, change=change, before=before, given=self.change.new)

    async def completed(self, table: RowReader) -> Write:
        """Return this write with what derived data adds to the primary row itself."""
        write = self
        for each in self.derived:
            if not isinstance(each, LookedUpFields):
                continue
            change, guards = await each.look_up(write.change, table)
            if guards or change is not write.change:
                write = replace(write.writing(change), guards=(*write.guards, *((each, guard) for guard in guards)))
        return write

    def writing(self, change: Change) -> Write:
        """Return this write with other properties that were added as they are stored."""
        if change is self.change:
            return self
        if self.given is None or change.new is None:
            return replace(self, change=change)
        before, after = self.change.new or {}, change.new
        kept = {name: value for name, value in self.given.items() if name in after or name not in before}
        added = {name: value for name, value in after.items() if name not in before or value != before[name]}
        return replace(self, change=change, given={**kept, **added})

    @property
    def key(self) -> tuple[str, str]:
        """The PartitionKey and the RowKey of the primary row."""
        return self.change.row

    def announced(self) -> list[tuple[Intents, Change]]:
        """Return what must be told of before the change is written, to whom."""
        found = [] if self.intents is None else [(self.intents, self.change)]
        for each in self.derived:
            if isinstance(each, LookedUpFields):
                found += each.intents_for(self.change)
        return found

    def primary(self) -> Operation:
        """Return the write of the primary row, unconditional as yet."""
        change, shape = self.change, RowLayout(self.change.key)
        if change.new is None:
            return Operation.delete(*change.row, ANY)
        row = shape.row(change.new, change.row)
        if change.old is None:
            return Operation.insert(row, seen=change.seen)
        if change.merges:
            return Operation.merge(shape.part(change), ANY, becomes=row)
        return Operation.replace(row, ANY, seen=change.seen)

    def wrote(self, written: Entity) -> Entity:
        """Bring the entity in the caller's hands up to date with the primary row as it was written."""
        if self.change.new is None:
            return self.entity
        fields = dict(self.change.new if self.given is None else self.given)
        self.entity.clear()
        self.entity.update(fields)
        self.entity.be(written)
        keys = written["PartitionKey"], written["RowKey"]
        source = Source(RowLayout(self.change.key), keys, written.etag or "", written.lineage)
        stored = fields if self.given is None else dict(self.change.new)
        self.entity.reading = Reading(source, stored, fields, self.is_whole, self.of)
        return self.entity


@dataclass(frozen=True)
class Step:
    """An operation, the change it belongs to, and the derived data it is for; None for the primary row."""

    operation: Operation
    write: Write
    owner: Derived | None = None

    @property
    def shares_row(self) -> bool:
        """Whether other entities may have a part in the row, so that a conflict on it begins the write anew."""
        return self.owner is not None and self.owner.shares_rows


async def commit(account: Account, table: Table, *writes: Write, retry_for: float) -> list[Entity]:
    """Carry out all the changes with their derived rows, or none of them; return each entity as it is now.

    Where a row that several entities share was changed by another writer meanwhile, it begins again.

    :param retry_for: for how many seconds to retry
    :raises BadInput: the changes are of several tables or partitions, or touch one entity twice
    :raises DuplicateIndexValue: a derived row that must be unique exists
    :raises DerivedDataMismatch: a derived row that should exist does not
    :raises TooMuchContention: another writer was faster with a shared row at every attempt
    """
    check_retry_for(retry_for)
    encoded = [await write.encoded() for write in writes]
    for write in encoded:
        if write.of.table != table.name.lower():
            rule = f"a transaction has one table, and this is a transaction of {table.name!r}"
            raise BadInput("table", write.of.table, rule, "commit it apart; no transaction reaches across tables")
        if write.of.account != account.identity:
            rule = "the change is of a set of another account"
            raise BadInput("table", write.of.table, rule, "make the change with a set of the transaction's account")

    shares = _share_rows(encoded)

    async def attempt() -> list[Entity]:
        steps = await (_on_shared_rows(table, encoded) if shares else _on_own_rows(table, encoded))
        try:
            rows = await carry_out(table, steps, retry_for)
        except EntityChanged as error:
            if _is_of_shared_row(error, steps):
                raise Overtaken from error
            raise
        written: dict[Keys, Entity] = {}
        for step, row in zip(steps, rows, strict=True):
            if step.owner is None and step.operation.key == step.write.change.row:
                written[step.operation.key] = step.write.wrote(row)
        return [written[write.change.row] for write in encoded]

    return await (contended(account, attempt, retry_for) if shares else attempt())


def _foresee(pending: Pending, write: Write, row: Fields | None = None) -> None:
    """Have a primary row seen as the change will leave it.

    :param row: the row, if it was made of the change already
    """
    source = write.source if write.source and write.source.key == write.key else None
    etag, lineage = (source.etag, source.lineage) if source else (ANY, ())
    new = write.change.new
    left = None if new is None else row or RowLayout(write.change.key).row(new)
    pending.put(write.key, left, etag, lineage)


async def _as_foreseen(pending: Pending, write: Write) -> Write:
    """Return a write with what other changes of the transaction do to its primary row."""
    shape, new = RowLayout(write.change.key), write.change.new
    row = await pending.get(*write.key)
    if row is None or new is None or same_value(row, shape.row(new)):
        return write
    return write.writing(replace(write.change, new=dict(shape.entity(row))))


def _once(steps: Iterable[Step]) -> list[Step]:
    """Return steps that write each row once: what several changes do to a row that they share is one operation.

    So is what one entity leaves and another takes, such as the row of an index when an entity gets another key.
    """
    steps = list(steps)
    if len(steps) == 1:
        return steps
    found: dict[Keys, list[Step]] = {}
    for step in steps:
        same = found.setdefault(step.operation.key, [])
        if same and _hands_over(same[-1], step):
            same.append(joined(*sorted((same.pop(), step), key=lambda each: each.operation.kind)) or step)
            continue
        if not same or not (same[-1].shares_row or step.shares_row):
            same.append(step)
            continue
        both = joined(same.pop(), step)
        if both is not None:
            same.append(both)
    return [step for same in found.values() for step in same]


def _hands_over(before: Step, step: Step) -> bool:
    """Whether one of two entities leaves a row that is derived from it to the other, in whatever order."""
    kinds = {before.operation.kind, step.operation.kind}
    return before.owner is step.owner is not None and not step.shares_row and kinds == {"delete", "insert"}


def joined(before: Step, step: Step) -> Step | None:
    """Return the one step that does what two do to a row that entities share; None where nothing is left to do."""
    operation = combined(before.operation, step.operation)
    return None if operation is None else replace(before if step.owner is not None else step, operation=operation)


async def carry_out(table: Table, steps: Sequence[Step], retry_for: float) -> list[Entity]:
    """Submit the steps as one transaction; a refusal says what it means for the logical entity.

    What follows from it elsewhere is announced before, and brought in line after it.

    :param retry_for: for how many seconds to retry where others write what follows from it elsewhere
    """
    operations: list[Operation] = []
    before: dict[Action, None] = {}
    announced: list[tuple[Intents, Change]] = []
    seen: set[int] = set()
    for step in steps:
        operations.append(step.operation)
        if id(step.write) not in seen:
            seen.add(id(step.write))
            before |= dict.fromkeys(step.write.before)
            announced += step.write.announced()
    if before or announced:
        # Ahead of the first request; where the transaction is that, `submit` checks it
        check_transaction(operations)
    for action in before:
        await action()
    promise = await Promise.made(announced, retry_for) if announced else None
    try:
        written = await table.submit(*operations)
    except (EntityAlreadyExists, EntityChanged, EntityNotFound) as error:
        if promise is not None:
            await promise.withdraw()
        meaning = _meaning(error, steps)
        if meaning is error:
            raise
        raise meaning from error
    if promise is not None:
        await promise.keep(written)
    return written


async def steps_of(table: RowReader, *writes: Write) -> list[Step]:
    """Return the operations of changes, each worked out on the rows as the changes before it leave them."""
    encoded = [await write.encoded() for write in writes]
    return await (_on_shared_rows if _share_rows(encoded) else _on_own_rows)(table, encoded)


def _share_rows(writes: Iterable[Write]) -> bool:
    """Whether other entities may have a part in the derived rows of a change."""
    for write in writes:
        for each in write.derived:
            if each.shares_rows:
                return True
    return False


async def _on_own_rows(table: RowReader, encoded: Sequence[Write]) -> list[Step]:
    """Return the operations of changes whose rows no other entity has a part in."""
    steps: list[Step] = []
    for write in encoded:
        steps += await _all_steps(table, write)
    return _once(steps)


async def _on_shared_rows(table: RowReader, encoded: Sequence[Write]) -> list[Step]:
    """Return the operations of changes, each worked out on the rows as the changes before it leave them."""
    pending = Pending(table)
    for write in encoded:
        _foresee(pending, write)
    steps = [step for write in encoded for step in await _all_steps(pending, await _as_foreseen(pending, write))]
    seen = {id(step.write): await _as_foreseen(pending, step.write) for step in steps}
    return [replace(step, write=seen[id(step.write)]) for step in _once(steps)]


async def steps_on(pending: Pending, write: Write, own: Sequence[Step]) -> list[Step]:
    """Return the operations of one more change of a transaction, which changes no row that is a primary of others.

    :param pending: the rows as the changes before it leave them; it is then as this one leaves them
    :param own: its operations on rows that no other entity has a part in, if nothing is added to the primary row
    """
    primary = next(step.operation for step in own if step.owner is None)
    _foresee(pending, write, plain(primary.entity))
    completed = await write.completed(pending)
    if completed is not write:
        return _once(await _all_steps(pending, write))
    for step in own:
        if step.owner is not None:
            pending.take(step.operation)
    shared = [each for each in write.derived if each.shares_rows and not each.is_eventual]
    return _once([*own, *await _derived(pending, write, shared)])


async def _all_steps(table: RowReader, write: Write) -> list[Step]:
    """Return the operations of one change."""
    completed = await write.completed(table)
    if isinstance(table, Pending):
        _foresee(table, completed)
    return await steps_with(table, completed, [each for each in write.derived if not each.is_eventual])


async def steps_with(table: RowReader, write: Write, kinds: Iterable[Derived]) -> list[Step]:
    """Return the operations of one change, and of these kinds, the one on the row that was read first.

    It is conditional on that row's ETag. First, because the service reports the first operation that fails: a stale
    read is then told as such, rather than by the derived rows that it no longer knows.
    """
    steps = [Step(write.primary(), write), *[Step(guard, write, each) for each, guard in write.guards]]
    steps += await _derived(table, write, kinds)
    source = write.source
    if source is None:
        return steps
    first = [
        replace(step, operation=replace(step.operation, etag=source.etag, lineage=source.lineage))
        for step in steps
        if step.operation.key == source.key
    ]
    if not first:
        # Nothing changes in that row, yet its ETag must be checked
        fields = write.change.new or write.change.old or {}
        row = source.shape.row(fields)
        unchanged = Operation.merge(row, source.etag, becomes=row)
        first = [Step(replace(unchanged, lineage=source.lineage), write)]
    return first + [step for step in steps if step.operation.key != source.key]


async def _derived(table: RowReader, write: Write, kinds: Iterable[Derived]) -> list[Step]:
    """Return the operations on derived rows of the partition; where the transaction is pending, each builds on it."""
    pending = table if isinstance(table, Pending) else None
    steps: list[Step] = []
    for each in kinds:
        # What the kind would take for granted is not there yet: its rows are looked at
        takes_none = each in write.backfilling and not each.shares_rows
        operations = (
            repair_operations(each, write.change, table) if takes_none else each.operations(write.change, table)
        )
        for operation in await operations:
            steps.append(Step(operation, write, each))
            if pending:
                pending.take(operation)
    return steps


def _is_of_shared_row(error: EntityChanged, steps: Sequence[Step]) -> bool:
    index: int | None = error.index
    return index is not None and steps[index].shares_row


def _meaning(
    error: EntityAlreadyExists | EntityChanged | EntityNotFound, steps: Sequence[Step]
) -> EntityAlreadyExists | EntityNotFound | EntityChanged | DerivedDataMismatch:
    """Return what a refusal says about the logical entity, by the step that was refused."""
    index: int | None = error.index
    if index is None or isinstance(error, EntityChanged):
        return error
    step = steps[index]
    key, source, owner = step.operation.key, step.write.source, step.owner
    if source is not None and key == source.key and key != step.write.key:
        text = f"the entity changed since it was read from {key}; read it again and retry"
        return EntityChanged(text, error, index=index)
    if owner is None:
        return error
    if owner.shares_rows:
        text = f"{owner.name}: another writer changed the row {key} meanwhile; read the entity again and retry"
        return EntityChanged(text, error, index=index)
    if isinstance(error, EntityAlreadyExists):
        text = f"{owner.name}: another entity has the index key {key}; nothing has changed; choose another value"
        return DuplicateIndexValue(text, error, index=index)
    text = f"{owner.name}: the row {key} that the entity should have is missing; nothing has changed; repair the index"
    return DerivedDataMismatch(text, error, index=index)
