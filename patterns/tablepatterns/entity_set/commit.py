"""Write entities and their derived rows in one entity group transaction.

`commit` encodes the changes, plans one step for each row to write, and submits the steps. Each change is conditional on
the ETag of the row that the caller read.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Generic, NamedTuple

from typing_extensions import TypeVar

from ..entity import Entity, WriteIds, identify, reading_of, remember, same_value, write_ids_of
from ..errors import (
    BadInput,
    DerivedDataMismatch,
    DuplicateIndexValue,
    EntityAlreadyExists,
    EntityChanged,
    EntityNotFound,
)
from ..key import Key
from ..recipe import Account, identity_of
from ..retry import LOST_RACE, Overtaken, check_retry_for, contended
from ..sdk.operation import ANY, Operation, check_transaction
from ..sdk.table import Table
from ..set_identity import SetIdentity
from .derived import Change, Derived, Fields, Index, Keys, RowLayout, duplicate, repair_operations
from .mapping import Action, Mappings
from .placement import RowReader

if TYPE_CHECKING:
    from .intents import Intents
    from .named_table import StoredNames
    from .shared_rows import Pending


class LookedUpFields(Derived):
    """Fields of the entities themselves whose values are looked up in another set when an entity is written.

    They have no derived rows to maintain.
    """

    shares_rows = True
    looked_up: frozenset[str]
    """The names of the fields. The other set also writes them, when its entities change."""
    account: Account
    """The account of the other set."""

    @abstractmethod
    async def look_up(self, change: Change, rows: RowReader) -> tuple[Change, list[Operation]]:
        """Return a change with the looked-up fields, and writes that fail if the source of those fields has changed."""

    @abstractmethod
    def intents_for(self, change: Change) -> list[tuple[Intents, Change]]:
        """Return the changes of the other set for which intents must be sent before this change is written."""

    def keys(self, key: Key, fields: Fields) -> list[Keys]:
        return []

    def primary_keys_of(self, key: Key, row: Entity) -> list[Keys] | None:
        return None


class Source(NamedTuple):
    """The row that the caller read an entity from. The whole change is conditional on its ETag.

    All rows of an entity in its partition change in one transaction, so any one of their ETags guards them all.
    """

    shape: RowLayout
    key: Keys
    etag: str
    write_ids: WriteIds = ()


class Reading(NamedTuple):
    """What a set remembers about an entity that it read or wrote.

    :param stored: the fields in their stored form
    :param fields: the fields as decoded by the set's mappings
    :param is_whole: whether these are all fields of the entity
    """

    source: Source
    stored: Fields
    fields: Fields
    is_whole: bool
    of: SetIdentity
    """The set."""


E = TypeVar("E", default=Entity)
"""What a set takes and returns: its model, or `Entity`."""


@dataclass(frozen=True)
class Write(Generic[E]):
    """A validated change of one entity, to be committed alone or together with others of its partition.

    Returned by `inserting`, `replacing`, `merging` and `deleting` of an `EntitySet`. Nothing has been sent yet.
    """

    of: SetIdentity
    change: Change
    derived: tuple[Derived, ...] = field(default=(), repr=False)
    source: Source | None = field(default=None, repr=False)
    entity: Entity = field(default_factory=Entity, repr=False)
    """The caller's entity, which is updated after the write."""
    is_whole: bool = True
    """Whether the new fields are the complete entity."""
    mappings: Mappings | None = field(default=None, repr=False)
    """How the fields are encoded; None if they are stored as they are."""
    before: tuple[Action, ...] = field(default=(), repr=False)
    """Actions to run before the rows are written, such as uploads."""
    caller_fields: Fields | None = field(default=None, repr=False)
    """The caller's fields, once `change` holds their stored form."""
    intents: Intents | None = field(default=None, repr=False)
    """What sends intents for the change; None if no derived rows are outside the partition."""
    guards: tuple[tuple[Derived, Operation], ...] = field(default=(), repr=False)
    """Writes that fail if a row that fields were looked up in has changed."""
    backfilling: frozenset[Derived] = field(default=frozenset(), repr=False)
    """The kinds of derived data whose rows older entities may still lack."""
    names: StoredNames | None = field(default=None, repr=False)
    """The stored names of the model's fields; None if they are the same."""
    convert: Callable[[Entity], E] | None = field(default=None, repr=False, compare=False)
    """Returns what the caller gets of the written entity; None for the entity itself."""

    async def encoded(self) -> Write[E]:
        if self.mappings is None or not self.mappings.mappings or self.caller_fields is not None:
            return self
        reading = reading_of(self.entity)
        is_read = isinstance(reading, Reading) and self.change.old is reading.stored
        old_fields: Fields = reading.fields if isinstance(reading, Reading) and is_read else {}
        change, before = await self.mappings.encode(self.change, old_fields)
        return replace(self, change=change, before=before, caller_fields=self.change.new)

    @property
    def shares_rows(self) -> bool:
        return any(map(attrgetter("shares_rows"), self.derived))

    async def with_lookups(self, rows: RowReader) -> Write[E]:
        write: Write[E] = self
        for derived in self.derived:
            if not isinstance(derived, LookedUpFields):
                continue
            change, guards = await derived.look_up(write.change, rows)
            if guards or change is not write.change:
                write = replace(write.writing(change), guards=(*write.guards, *((derived, guard) for guard in guards)))
        return write

    def writing(self, change: Change) -> Write[E]:
        """Return this write with another change, whose added properties are in their stored form."""
        if change is self.change:
            return self
        if self.caller_fields is None or change.new is None:
            return replace(self, change=change)
        before, after = self.change.new or {}, change.new
        fields = {name: value for name, value in self.caller_fields.items() if name in after or name not in before}
        fields |= {name: value for name, value in after.items() if name not in before or value != before[name]}
        return replace(self, change=change, caller_fields=fields)

    @property
    def key(self) -> Keys:
        return self.change.row

    def changes_to_announce(self) -> list[tuple[Intents, Change]]:
        announcements = [] if self.intents is None else [(self.intents, self.change)]
        for derived in self.derived:
            if isinstance(derived, LookedUpFields):
                announcements += derived.intents_for(self.change)
        return announcements

    def primary(self) -> Operation:
        """Return the write of the primary row, conditional on its ETag if the caller read that row."""
        change, source = self.change, self.source
        etag, write_ids = (source.etag, source.write_ids) if source and source.key == change.row else (ANY, ())
        if change.new is None:
            return Operation.delete(*change.row, etag, write_ids=write_ids)
        shape = RowLayout(change.key)
        row = shape.row(change.new, change.row)
        if change.old is None:
            return Operation.insert(row)
        if change.merged is not None:
            return Operation.merge(shape.part(change, row), etag, becomes=row, write_ids=write_ids)
        return Operation.replace(row, etag, write_ids=write_ids)

    def wrote(self, row: Entity) -> Entity:
        """Update the caller's entity to match the written primary row, and return it."""
        if self.change.new is None:
            return self.entity
        fields = dict(self.change.new if self.caller_fields is None else self.caller_fields)
        self.entity.clear()
        self.entity.update(fields)
        identify(self.entity, row)
        keys = row["PartitionKey"], row["RowKey"]
        source = Source(RowLayout(self.change.key), keys, row.etag or "", write_ids_of(row))
        stored = fields if self.caller_fields is None else dict(self.change.new)
        remember(self.entity, Reading(source, stored, fields, self.is_whole, self.of))
        return self.entity


class Step(NamedTuple):
    operation: Operation
    write: Write
    owner: Derived | None = None
    """The derived data that the row belongs to; None for the primary row."""

    @property
    def shares_row(self) -> bool:
        """Whether other entities may contribute to the row, so that a conflict is retried and not reported."""
        return self.owner is not None and self.owner.shares_rows


async def commit(account: Account, table: Table, *writes: Write[Any], retry_for: float) -> list[Any]:
    """Commit all changes with their derived rows, or none, and return the written entities.

    If another writer changed a row that entities share, the changes are planned again. The result is typed Any because
    the recipes of a set with a model return its instances.
    """
    check_retry_for(retry_for)
    stored_writes: list[Write[Any]] = []
    shares_rows, renames = False, False
    for write in writes:
        _check_home(write, account, table)
        stored_writes.append(await write.encoded())
        shares_rows = shares_rows or write.shares_rows
        renames = renames or write.names is not None
    if renames:
        table = _named_table(table, stored_writes)

    async def attempt() -> list[Entity]:
        if shares_rows:
            steps = await plan_transaction(table, stored_writes)
        else:
            steps = _one_per_row([step for write in stored_writes for step in await own_steps(table, write)])
        try:
            rows = await execute_steps(table, steps, retry_for)
        except EntityChanged as error:
            index: int | None = error.index
            if index is not None and steps[index].shares_row:
                raise Overtaken from error
            raise
        entities: dict[Keys, Entity] = {}
        for step, row in zip(steps, rows, strict=True):
            key = step.operation.key
            if step.owner is None and key == step.write.change.row:
                entities[key] = step.write.wrote(row)
        return [entities[write.change.row] for write in stored_writes]

    return await (contended(account, attempt, retry_for) if shares_rows else attempt())


def _named_table(table: Table, writes: Sequence[Write]) -> Table:
    # Not imported above, since most sets store fields under their own names
    from .named_table import NamedTable

    if isinstance(table, NamedTable):
        return table
    names = [write.names for write in writes]
    if all(stored_names is names[0] for stored_names in names) and names[0] is not None:
        return NamedTable(table, names[0])
    if any(write.shares_rows or write.backfilling for write in writes):
        rule = "sets whose models store fields under different names share rows, such as totals and lists"
        raise BadInput("changes", len(writes), rule, "commit the changes of each set in a transaction of its own")
    # The sets differ in their names, so `execute_steps` translates each operation
    return table


def _check_home(write: Write[Any], account: Account, table: Table) -> None:
    home = write.of
    if home.table != table.name.lower():
        rule = f"a transaction has one table, and this is a transaction of {table.name!r}"
        raise BadInput("table", home.table, rule, "commit it separately; no transaction spans tables")
    if home.account != identity_of(account):
        rule = "the change is of a set of another account"
        raise BadInput("table", home.table, rule, "make the change with a set of the transaction's account")


async def plan_transaction(rows: RowReader, writes: Sequence[Write]) -> list[Step]:
    """Return the steps of changes that may share rows; each change sees the effect of those before it."""
    # Not imported above, since most sets have no rows that entities share
    from .shared_rows import Pending

    pending = Pending(rows)
    for write in writes:
        _expect(pending, write)
    steps: list[Step] = []
    for write in writes:
        steps += await all_steps(pending, await _as_expected(pending, write))
    # A change may also affect the primary row of a change before it, such as a field that another entity looks up
    final_writes = {id(step.write): await _as_expected(pending, step.write) for step in steps}
    return [step._replace(write=final_writes[id(step.write)]) for step in _one_per_row(steps)]


async def all_steps(pending: Pending, write: Write, entity_steps: Sequence[Step] | None = None) -> list[Step]:
    """Return the steps of one change, including those on rows that entities share.

    :param pending: the rows after the earlier changes of the transaction; updated with this change
    """
    full_write = await write.with_lookups(pending)
    if entity_steps is None or full_write is not write:
        entity_steps = await own_steps(pending, full_write)
    _expect(pending, full_write)
    steps = [*entity_steps]
    for step in entity_steps:
        if step.owner is not None:
            pending.take(step.operation)
    for derived in full_write.derived:
        if derived.shares_rows and not derived.is_eventual:
            for operation in await derived.operations(full_write.change, pending):
                pending.take(operation)
                steps.append(Step(operation, full_write, derived))
    return _one_per_row(steps)


async def own_steps(rows: RowReader, write: Write) -> list[Step]:
    """Return the steps of one change on the rows that only its entity contributes to.

    The first step is conditional on the row that the caller read. The service reports the first operation that fails,
    so a stale read is reported as such, and not as a conflict on a derived row.
    """
    steps = [Step(write.primary(), write)]
    for derived, guard in write.guards:
        steps.append(Step(guard, write, derived))
    for derived in write.derived:
        if derived.shares_rows or derived.is_eventual:
            continue
        if derived in write.backfilling:
            # Older entities may lack these rows, so they cannot be inferred from the change
            operations = await repair_operations(derived, write.change, rows)
        else:
            operations = await derived.operations(write.change, rows)
        steps += [Step(operation, write, derived) for operation in operations]
    source = write.source
    return steps if source is None or source.key == write.change.row else _conditional(steps, write, source)


def _conditional(steps: list[Step], write: Write, source: Source) -> list[Step]:
    """Return the steps, starting with one that is conditional on the row that the caller read, which is another one."""
    first = [
        step._replace(operation=replace(step.operation, etag=source.etag, write_ids=source.write_ids))
        for step in steps
        if step.operation.key == source.key
    ]
    if not first:
        # The change does not affect that row, but its ETag must be checked
        row = source.shape.row(write.change.new or write.change.old or {})
        unchanged = Operation.merge(row, source.etag, becomes=row, write_ids=source.write_ids)
        first = [Step(unchanged, write)]
    return first + [step for step in steps if step.operation.key != source.key]


def _expect(pending: Pending, write: Write) -> None:
    source = write.source if write.source and write.source.key == write.key else None
    etag, write_ids = (source.etag, source.write_ids) if source else (ANY, ())
    new = write.change.new
    pending.put(write.key, None if new is None else RowLayout(write.change.key).row(new), etag, write_ids)


async def _as_expected(pending: Pending, write: Write) -> Write:
    """Return a write that includes what other changes of the transaction do to its primary row."""
    shape, new = RowLayout(write.change.key), write.change.new
    row = await pending.get(*write.key)
    if row is None or new is None or same_value(row, shape.row(new)):
        return write
    return write.writing(replace(write.change, new=dict(shape.entity(row))))


def _one_per_row(steps: list[Step]) -> list[Step]:
    """Merge steps so that each row is written once, as a transaction requires.

    Several changes to a shared row become one operation. So do the delete and the insert of a derived row that passes
    from one entity to another, such as when an entity is renamed.
    """
    if len(steps) == 1:
        return steps
    steps_by_row: dict[Keys, list[Step]] = {}
    for step in steps:
        row_steps = steps_by_row.setdefault(step.operation.key, [])
        if row_steps and _hands_over(row_steps[-1], step):
            # The delete first, whichever change comes first: together they replace the row
            deletion, insertion = sorted((row_steps.pop(), step), key=lambda candidate: candidate.operation.kind)
            row_steps.append(join_steps(deletion, insertion) or step)
        elif not row_steps or not (row_steps[-1].shares_row or step.shares_row):
            for other in row_steps:
                if isinstance(step.owner, Index) and step.owner is other.owner and step.write.key != other.write.key:
                    raise DuplicateIndexValue(duplicate(step.owner, step.write.of.key, step.operation.key))
            # Two steps that may not be combined stay: the check of the transaction rejects them
            row_steps.append(step)
        elif (merged_step := join_steps(row_steps.pop(), step)) is not None:
            row_steps.append(merged_step)
    return [*chain.from_iterable(steps_by_row.values())]


def _hands_over(before: Step, step: Step) -> bool:
    """Whether the two steps pass a derived row from one entity to another, in either order."""
    kinds = {before.operation.kind, step.operation.kind}
    return before.owner is step.owner is not None and not step.shares_row and kinds == {"delete", "insert"}


def join_steps(before: Step, step: Step) -> Step | None:
    from .shared_rows import combine_operations

    operation = combine_operations(before.operation, step.operation)
    return None if operation is None else (before if step.owner is not None else step)._replace(operation=operation)


async def execute_steps(table: Table, steps: Sequence[Step], retry_for: float) -> list[Entity]:
    """Submit the steps as one transaction, and update the derived rows outside the partition.

    Intents for those rows are sent first, and deleted once the rows are up to date.
    """
    operations: list[Operation] = []
    actions: dict[Action, None] = {}
    announcements: list[tuple[Intents, Change]] = []
    handled_writes: set[int] = set()
    for step in steps:
        names = step.write.names
        operations.append(step.operation if names is None else names.operation_in(table, step.operation))
        write = step.write
        if id(write) not in handled_writes:
            handled_writes.add(id(write))
            if write.before:
                actions |= dict.fromkeys(write.before)
            if write.intents is not None or write.derived:
                announcements += write.changes_to_announce()
    if actions or announcements:
        # Checked before the first request; without actions and intents that is `submit`, which checks it itself
        check_transaction(operations)
    for action in actions:
        await action()
    announcement = await announcements[0][0].announce(announcements, retry_for) if announcements else None
    try:
        rows = await table.submit(*operations)
    except LOST_RACE as error:
        if announcement is not None:
            await announcement.withdraw()
        meaning = _meaning(error, steps)
        if meaning is error:
            raise
        raise meaning from error
    if announcement is not None:
        await announcement.complete(rows)
    return rows


def _meaning(
    error: EntityAlreadyExists | EntityChanged | EntityNotFound, steps: Sequence[Step]
) -> EntityAlreadyExists | EntityNotFound | EntityChanged | DerivedDataMismatch:
    """Return the error to raise for the entity, given the error of one of its steps."""
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
        text = f"{owner.name}: another writer changed the row {key}; read the entity again and retry"
        return EntityChanged(text, error, index=index)
    if isinstance(error, EntityAlreadyExists) and isinstance(owner, Index):
        return DuplicateIndexValue(duplicate(owner, step.write.of.key, key), error, index=index)
    text = f"{owner.name}: the row {key} that the entity should have is missing; nothing has changed; repair the index"
    return DerivedDataMismatch(text, error, index=index)
