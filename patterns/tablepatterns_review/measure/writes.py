"""Run the writes of a design on the sample, alone or in one transaction with those of other sets."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from azure.core.exceptions import HttpResponseError

from tablepatterns.entity_set.commit import Write as Change
from tablepatterns.errors import EntityAlreadyExists, EntityNotFound, TablePatternsError
from tablepatterns.recipes.archive.archive import Archive
from tablepatterns.recipes.entity_group_transaction import EntityGroupTransaction
from tablepatterns.recipes.eventual_transaction import Body, EventualTransaction, Step
from tablepatterns.recipes.partition_move import PartitionMove
from tablepatterns.recipes.worker import Worker
from tablepatterns.storage import Storage

from ..design.model import DeclaredSet, Write
from ..design.writes import is_of_archive
from ..kinds import kind_of
from ..kinds.kind import SampleSet
from ..kinds.plain import Plain
from .sample import Sample, referring_fields

_QUEUE: Final = "transactions"

Fields = Mapping[str, Any]


class Source:
    """The sample entities of a set that its writes use, another one each time."""

    def __init__(self, sample: Sample) -> None:
        # The last one is that of queries of the archive
        self._spare = list(sample.spare[:-1])
        self._stored = list(sample.stored)
        self._inactive = list(inactive(sample.stored))

    def spare(self) -> Fields:
        self._spare.append(self._spare.pop(0))
        return self._spare[-1]

    def other(self, fields: Fields, names: Sequence[str]) -> Fields:
        """Return other values of these fields, if there are any; the points of a series are not in the sample."""
        names = [name for name in names if name in fields]
        new_fields: dict[str, Any] = {}
        for spare in [self.spare(), *self._spare, *self._stored]:
            new_fields |= {
                name: spare[name] for name in names if name not in new_fields and spare[name] != fields[name]
            }
            if len(new_fields) == len(names):
                break
        return new_fields

    def stored(self, like: Fields) -> Fields | None:
        alike = (number for number, row in enumerate(self._stored) if like.items() <= row.items())
        number = next(alike, None)
        if number is None:
            return None
        self._stored.append(self._stored.pop(number))
        return self._stored[-1]

    def add(self, sample_set: SampleSet, like: Fields) -> Fields:
        fields = {**self.spare(), **like}
        # A rejection is that of the write that is measured
        with suppress(TablePatternsError, HttpResponseError):
            sample_set.insert(fields)
            self._stored.append(fields)
        return fields

    def inactive(self) -> Fields | None:
        """Return a stored entity that has not been archived yet, or None."""
        while self._inactive:
            fields = self._inactive.pop()
            if any(row is fields for row in self._stored):
                return fields
        return None

    def forget(self, fields: Fields) -> None:
        self._stored = [row for row in self._stored if row is not fields]


@dataclass(frozen=True)
class Part:
    """One write of one entity; `fields` are those before or after the write, `archive` is set only for a move there."""

    declared: DeclaredSet
    kept: SampleSet
    write: Write
    fields: Fields
    changes: Fields
    archive: Archive[Storage] | None = None

    @classmethod
    def of(
        cls,
        declared_set: DeclaredSet,
        sample_set: SampleSet,
        write: Write,
        source: Source,
        like: Fields,
        archive: Archive[Storage] | None = None,
    ) -> Part:
        """Return the write of the next entity, with the fields of `like`; if none is left, one is stored first."""
        if archive is not None and is_of_archive(declared_set, write):
            leaving = source.inactive() or source.add(sample_set, like)
            source.forget(leaving)
            return cls(declared_set, sample_set, write, leaving, {}, archive)
        if write.operation == "insert":
            return cls(declared_set, sample_set, write, {**source.spare(), **like}, {})
        fields = source.stored(like) or source.add(sample_set, like)
        if write.operation == "delete" or set(write.changes).intersection(declared_set.key.fields):
            # It has no key, or another one, from now on
            source.forget(fields)
        names = write.changes or [name for name in fields if name not in declared_set.key.fields]
        # Another reference may not exist
        fixed = referring_fields(declared_set)
        changes = source.other(fields, [name for name in names if name not in fixed])
        return cls(declared_set, sample_set, write, fields, changes)

    @property
    def moves(self) -> bool:
        """Whether the entity goes to another partition."""
        return not set(self.changes).isdisjoint(self.declared.key.partition_fields)

    def execute(self) -> None:
        if self.archive is not None:
            archive_now(self.kept.storage, self.archive, self.kept.key_of(self.fields))
            return
        match self.write.operation:
            case "insert":
                self.kept.insert(self.fields)
            case "update" if self.write.overwrite:
                self.kept.overwrite(self.fields, self.changes)
            case "update":
                self.kept.update(self.fields, self.changes)
            case "delete":
                self.kept.delete(self.fields)

    def change(self, plain: Plain) -> Change:
        """Return the write as a change of an entity group transaction."""
        if self.write.operation == "insert":
            return plain.entities.inserting(self.fields)
        entity = plain.entities.get(**plain.key_of(self.fields))
        if entity is None:
            return plain.entities.inserting(self.fields)
        if self.write.operation == "delete":
            return plain.entities.deleting(entity)
        entity.update({name: value for name, value in self.changes.items() if name not in plain.key.fields})
        return plain.entities.replacing(entity)


def how(declared_set: DeclaredSet, write: Write, other_sets: Sequence[DeclaredSet]) -> str:
    alone = _word(declared_set, write)
    if not other_sets:
        return alone
    is_one = shares_partition([declared_set, *other_sets])
    transaction = "EntityGroupTransaction.commit" if is_one else "EventualTransaction.start"
    return f"{transaction}({alone}, {', '.join(write.atomic_with)})"


def _word(declared_set: DeclaredSet, write: Write) -> str:
    if is_of_archive(declared_set, write):
        return "Archive.archive(...), moved by a worker"
    call = kind_of(declared_set).write_call(write)
    if call is not None:
        return call
    if write.operation == "insert":
        return "insert(...)"
    moved = set(write.changes).intersection(declared_set.key.fields)
    if write.operation == "update" and moved:
        away = moved.intersection(declared_set.key.partition_fields)
        return "PartitionMove.move(...)" if away else "EntityGroupTransaction.commit(deleting, inserting)"
    word = "insert_or_merge" if write.overwrite and write.operation == "update" else write.operation
    return f"{word}({', '.join(write.changes) or '...'})"


def shares_partition(sets: Sequence[DeclaredSet]) -> bool:
    """Whether entities of these sets with equal partition fields are in one partition."""
    places = {(of.table.lower(), of.key.partition_template) for of in sets}
    return len(places) == 1 and all(kind_of(of).groups_writes for of in sets)


_MOST_INACTIVE: Final = 8


def inactive(stored: Sequence[Fields]) -> Sequence[Fields]:
    """Return the stored entities that a review may archive: some of the last, which their archive must not have."""
    return stored[-max(1, min(_MOST_INACTIVE, len(stored) // 3)) :]


def archive_now(storage: Storage, archive: Archive[Storage], key: Fields) -> None:
    """Archive an entity, and run the worker that moves it."""
    archive.archive(key)
    if not Worker(storage, [archive]).run_once().handled:
        raise EntityAlreadyExists("the archive has another entity with the same values of a unique index")


def execute(storage: Storage, parts: Sequence[Part]) -> None:
    """Execute atomic writes: in one transaction if possible, otherwise by a message and a worker."""
    if len(parts) == 1:
        parts[0].execute()
        return
    plain = [part.kept for part in parts if isinstance(part.kept, Plain)]
    if len(plain) == len(parts) and shares_partition([part.declared for part in parts]):
        changes = [part.change(plain) for part, plain in zip(parts, plain, strict=True)]
        EntityGroupTransaction(storage, parts[0].declared.table).commit(*changes)
        return
    transaction = _transaction(storage, parts)
    transaction.start({})
    Worker(storage, [transaction]).run_once()


def recover(storage: Storage, parts: Sequence[Part]) -> None:
    """Run the workers of a write once, as after a crash of the process that began it."""
    for part in parts:
        part.kept.process_messages()
        if part.archive is not None:
            Worker(storage, [part.archive]).run_once()
        if part.moves and isinstance(part.kept, Plain):
            Worker(storage, [PartitionMove(part.kept.entities)]).run_once()
    if len(parts) > 1 and not shares_partition([part.declared for part in parts]):
        Worker(storage, [_transaction(storage, parts, again=True)]).run_once()


def _transaction(storage: Storage, parts: Sequence[Part], *, again: bool = False) -> EventualTransaction[Storage]:
    """Return the transaction of writes that share no partition; with `again`, a step may have been executed before."""
    steps: dict[str, Step] = {
        f"{number} {part.write.name}": partial(_step, part.execute, again) for number, part in enumerate(parts)
    }
    return EventualTransaction(storage, _QUEUE, "together", steps)


def _step(work: Callable[[], None], again: bool, _: Body) -> None:
    with suppress(EntityAlreadyExists, EntityNotFound) if again else nullcontext():
        work()
