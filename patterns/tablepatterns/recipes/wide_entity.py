"""Wide entity: one logical entity with more properties, or more bytes, than one row may have.

Status: ready
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from .. import limits
from ..argument_types import checked
from ..arguments import fields_of
from ..contention import RETRY_FOR
from ..declared_rows import Place, RowKind
from ..entity import Entity, Modify, modify
from ..errors import BadDesign, BadKey, locating
from ..key import Key
from ..mapping import Mappings, PropertyMapping
from ..recipe import Account_co, recipe
from ..set_identity import SetIdentity
from ..wide.parts import PART_BYTES, PARTS, Layout, Stored
from ..wide.wide_reads import PART
from ..wide.wide_writes import WideWrites

_OWN_FIELDS: Final = frozenset({PART, PARTS})


class WideEntity(WideWrites[Account_co]):
    """Keep an entity that is too wide or too large for one row in several, and never show a part of a change.

    Goal: the messages an employee sent on each of the last 365 days. A row has at most 252 properties and 1 MiB.

    Keys: all parts share the PartitionKey of the entity; their RowKeys are its own with `01`, `02` and so on behind,
    after a `_` where it ends in a field. Give it text of its own where the partition holds other rows. Part 1, the
    head, says which rows belong to the value. A part holds up to 250 properties and 960 KiB: the rest is for the marks
    of head and writer, and for what is not published about how the service counts. A value too large for one
    transaction has the 32 digits of its generation behind the others' RowKeys: `02_4f8c...`. Fields that `mappings`
    store otherwise are encoded first, and arranged then as they are stored. Whatever part they are in, the keys that
    they are encrypted for, and that their blobs are named for, are those of the head.

    Guarantees: a reader sees all of a change or nothing. A value is written in one entity group transaction. One too
    large for that is written under a new generation first, which nobody sees; one transaction then checks that all
    its rows are there, turns the head to them, and deletes the old ones. A whole write is refused if any part changed
    since it was read, a merge if one of the parts that it touches did. A part that is missing is reported, and never
    read as properties that are not there. A property stays in its part until a whole write, or want of room, moves it.

    Does not: tell a merge of one part what changed in another. When a process dies while it writes a new generation,
    its rows stay until the next whole write that has seen them, or `sweep`; they cost space, and the read of them. An
    entity has at most 49 parts, some 46 MiB: keep larger values in blobs. Nothing is derived of it: a row of an index
    is one row. Put what finds it in an `EntitySet` beside it, under the same fields.

    Cost, in storage transactions: `get` 1 for up to 1,000 rows, if the service does not cut the page shorter; if it
    does, the pages are read again until nothing has changed between. `merge` 1. `insert`, `replace` and `delete` 1; a
    new generation 1 for each 4 MB, and 1 to publish it. What `mappings` do costs what it does in a set.

    >>> from tablepatterns import Key, connect
    >>> days = [f"Day{day:03d}" for day in range(1, 366)]
    >>> counts = WideEntity(connect(), "MessageCounts", Key("{Employee}", ""), properties=days)
    >>> jones = counts.insert({"Employee": "000223"} | {day: 0 for day in days})
    >>> _ = counts.merge(jones, {"Day365": 12})
    >>> counts.get(Employee="000223")["Day365"]
    12

    :param account: where the table is
    :param table: the table's name; it is made by the first write
    :param key: how the keys are made of the entity's fields; its RowKey may be empty, for the guide's `01` and `02`
    :param properties: the names of all properties, if they are known: each then has its part once and for all, so
        that a change needs no reading. New names go to the end. What mappings store besides is named too:
        `EncryptedWith`, the hashes of blind indexes
    :param mappings: how fields are stored where they are not stored as they are; see `mapping`. With encrypted ones
        `merge` is refused, for it would leave some under the key of another write
    :param part_bytes: how many bytes of properties a part holds at most, up to 983,040
    :param transaction_bytes: from how many bytes on a value is written under a new generation, up to 4,000,000
    :raises BadTableName: the service would refuse the table's name
    :raises BadDesign: the RowKey cannot be continued, a name is given twice, one is a word of the recipe, or what a
        mapping stores has no part

    Guide: wide entities pattern.
    """

    @checked
    def __init__(
        self,
        account: Account_co,
        table: str,
        key: Key,
        *,
        properties: Iterable[str] = (),
        mappings: Iterable[PropertyMapping] = (),
        part_bytes: int = PART_BYTES,
        transaction_bytes: int = limits.MAX_TRANSACTION_BYTES,
    ) -> None:
        super().__init__(account)
        self.key = key
        self.layout = Layout(tuple(properties), part_bytes)
        self.mappings = Mappings.of(account, table, key, mappings)
        self.transaction_bytes = transaction_bytes
        # A field must end somewhere, and so must the parts of one entity: a longer RowKey could be another's
        separator = "_" if key.row_template.endswith("}") else ""
        self.rows = Key(key.partition_template, f"{key.row_template}{separator}{{{PART}:02d}}", max_units=key.max_units)
        with locating(key.location(table)):
            self._check_design()
            self._check_mapped()
            self.table = account.table(table)
            self.identity = SetIdentity(account.identity, table.lower(), key)
            account.declared_rows.add(self._kinds())

    def _kinds(self) -> list[RowKind]:
        place: Place = ("table", self.table.name.lower())
        owner = ("wide", place[1], self.rows.partition_template, self.rows.row_template)
        # A large value is written under a generation of 32 hexadecimal digits; the format `float` makes 16
        generation = "_{WideGeneration1:float}{WideGeneration2:float}"
        written = Key(self.rows.partition_template, self.rows.row_template + generation)
        return [RowKind(place, rows, owner, f"wide entities of {self.table.name!r}") for rows in (self.rows, written)]

    def _check_design(self) -> None:
        for name in sorted(_OWN_FIELDS.intersection(self.key.fields)):
            raise BadDesign("field", name, "the recipe stores a field of its own under this name", "rename the field")
        known = {*self.key.fields, PARTS}
        for name in self.layout.names:
            if name in known:
                raise BadDesign("properties", name, "it is a field of the key, or given twice", "give each name once")
            known.add(name)
        for option, value, most in (
            ("part_bytes", self.layout.part_bytes, PART_BYTES),
            ("transaction_bytes", self.transaction_bytes, limits.MAX_TRANSACTION_BYTES),
        ):
            if not 1 <= value <= most:
                raise BadDesign(option, value, f"it is a number of bytes, at most {most}", "leave it out")

    def _check_mapped(self) -> None:
        """Refuse mappings that write properties which have no part."""
        if PARTS in self.mappings.written([name for each in self.mappings.each for name in each.fields]):
            raise BadDesign("mappings", PARTS, "the name is taken, for the head of the parts", "call it otherwise")
        for name in self.layout.names:
            for each in self.mappings.written([name]):
                if each not in self.layout.names:
                    rule = f"{name} is stored with {each}, which has no part"
                    raise BadDesign("properties", each, rule, f"add {each} to the end of properties")

    @recipe
    async def insert(self, entity: Mapping[str, Any], *, retry_for: float = RETRY_FOR) -> Entity:
        """Create an entity, and return it. Cost: 1 transaction; for a value beyond 4 MB 1 for each 4 MB, and 1.

        :param entity: its fields; a field that is None is as if it were not there
        :param retry_for: for how many seconds to retry while others write the entity; see `update`
        :raises EntityAlreadyExists: an entity with this key exists
        :raises BadKey: a field of the key is missing, or has a value that cannot be a key
        :raises BadProperty: the service does not store such a property, or it is not among the declared ones
        :raises LimitExceeded: there would be more than 49 parts
        :raises OutcomeUnknown: an answer was lost, and so many wrote since that nothing tells whether this was written
        """
        return await self._write(self._nothing(entity), entity, Entity(), retry_for)

    @recipe
    async def replace(self, entity: Mapping[str, Any], *, retry_for: float = RETRY_FOR) -> Entity:
        """Write an entity back whole, unless any part changed since it was read; fields that it lacks are removed.

        Parts that are no longer needed go in the same transaction. The entity itself is brought up to date.
        Cost: that of `insert`.

        :param entity: an entity as it was read, with some of its fields changed; its key must stay
        :param retry_for: for how many seconds to retry while others write the entity; see `update`
        :raises EntityChanged: a part changed since the entity was read
        :raises EntityNotFound: there is no such entity any more
        :raises BadInput: it was not read whole from here

        The other errors are those of `insert`. Guide: wide entities pattern; merge or replace.
        """
        seen, read = self._as_read(entity)
        return await self._write(seen.stored, entity, read, retry_for)

    @recipe
    async def merge(
        self,
        entity: Mapping[str, Any],
        changes: Mapping[str, Any],
        *,
        unconditionally: bool = False,
        retry_for: float = RETRY_FOR,
    ) -> Entity:
        """Overwrite some fields, unless a part that holds one of them changed since the entity was read.

        A change to None leaves the stored value. Fields of one part are one merge of its row; those of several are one
        transaction. A field that is new, or has no room where it is, also needs the head as it was read.

        Cost: 1 transaction; with `unconditionally` and no declared `properties` 1 more to read, for each attempt.
        Besides, 1 for each large value that goes to a blob.

        :param entity: an entity as it was read
        :param changes: the fields to overwrite; none of the key
        :param unconditionally: merge into whatever is stored; any mapping with the fields of the key will do. Of the
            entity that is returned only the key and the changes are known
        :param retry_for: for how many seconds to retry while others write the entity; see `update`
        :raises EntityChanged: a part changed since the entity was read
        :raises EntityNotFound: there is no such entity
        :raises BadInput: some fields are encrypted, so that the entity is to be written whole

        Guide: wide entities pattern; merge or replace.
        """
        given = self._properties(changes)
        for name in self.key.fields:
            if name in changes:
                raise BadKey(name, changes[name], "it is a part of the key, which stays", "leave it out")
        self.mappings.check_merge()
        if unconditionally:
            return await self._merge_into_any(entity, given, retry_for)
        seen, read = self._as_read(entity)
        if not given:
            return read
        now = await self._merged(seen.stored, await self._encoded(seen.stored, given), retry_for)
        return self._handed(now, {**seen.fields, **given} if self.mappings.each else now.fields, read)

    @recipe
    async def update(
        self,
        change: Modify,
        key: Mapping[str, Any] | None = None,
        /,
        *,
        retry_for: float = RETRY_FOR,
        **fields: Any,
    ) -> Entity:
        """Read an entity, change it, and write it back whole; begin again whenever another writer was faster.

        Cost: 1 read and 1 write per attempt.

        :param change: changes the entity in place, or returns all its fields; it is called once for each attempt, and
            may raise to give up
        :param retry_for: for how many seconds to retry when another writer was faster, with jittered exponential
            backoff; waits included, 30 by default, and 0 for a single attempt
        :param key: the fields as one mapping, where a name is also that of a parameter
        :param fields: a value for every field of the key
        :raises EntityNotFound: there is no such entity
        :raises TooMuchContention: another writer was faster at every attempt

        Guide: concurrency.
        """

        async def write(old: Stored) -> Entity:
            entity = self._handed(old, await self._decoded(old))
            modify(entity, change)
            return await self.replace(entity, retry_for=retry_for)

        return await self._from_current(fields_of(key, fields), write, retry_for)

    @recipe
    async def delete(
        self, entity: Mapping[str, Any], *, unconditionally: bool = False, retry_for: float = RETRY_FOR
    ) -> None:
        """Delete an entity with all its parts, unless one changed since it was read.

        Cost: 1 transaction; with `unconditionally` 1 more to read, for each attempt.

        :param entity: an entity as it was read
        :param unconditionally: delete whatever is stored; any mapping with the fields of the key will do
        :param retry_for: for how many seconds to retry while others write the entity; see `update`
        :raises EntityChanged: a part changed since the entity was read
        :raises EntityNotFound: there is no such entity any more

        Guide: wide entities pattern.
        """
        if unconditionally:
            await self._from_current(entity, self._delete, retry_for)
            return
        seen, _ = self._as_read(entity)
        await self._delete(seen.stored)

    @recipe
    async def sweep(
        self, key: Mapping[str, Any] | None = None, /, *, retry_for: float = RETRY_FOR, **fields: Any
    ) -> int:
        """Delete rows that a dead writer left, and return how many. A large write in progress is refused by it.

        Cost: 1 transaction, and 1 for each row.

        :param retry_for: for how many seconds to retry while others write the entity; see `update`
        :param key: the fields as one mapping, where a name is also that of a parameter
        :param fields: a value for every field of the key
        """
        given = fields_of(key, fields)
        self.key.format(given)
        found = await self._stored(given, retry_for, ())
        return await self._discard(found, found.strays)
