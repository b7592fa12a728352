"""Define where entities are archived: in an entity set, in blobs, or in a store of your own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, TypeAlias
from urllib.parse import quote, unquote

from ...argument_types import checked
from ...entity import Entity, replace_fields
from ...entity_set.entity_set import EntitySet
from ...errors import (
    BlobChanged,
    DuplicateIndexValue,
    EntityAlreadyExists,
    EntityChanged,
    EntityNotFound,
    LimitExceeded,
)
from ...key import Key, KeyRange
from ...recipe import Account
from ...sdk.container import ABSENT
from ...typed_json import decoded, encoded

Keys: TypeAlias = tuple[str, str]
"""The PartitionKey and the RowKey of an entity in the set it is archived from."""
Properties: TypeAlias = Mapping[str, Any]
"""The fields of an entity without its key fields."""


@dataclass(frozen=True)
class Snapshot:
    """An entity as it was read from a store.

    :param properties: its fields without the key fields
    :param version: changes with every write, such as an ETag
    :param row: what else the store needs to change or delete the entity
    :param is_placeholder: whether this is not the entity itself, but a row that holds only the totals of its children
    """

    properties: Properties
    version: str
    row: object = None
    is_placeholder: bool = False


class Store(ABC):
    """A place to archive entities.

    Subclass it to archive elsewhere. Each method is one step of a move and must be atomic: `insert` must fail if there
    is an entity already, and other writes must be conditional on the version that was read.
    """

    @property
    @abstractmethod
    def name(self) -> str:
        """The name that errors use."""

    def check(self, keys: Keys) -> None:
        """Reject keys that this store cannot hold, before any request.

        :raises BadInput: the store cannot hold them
        """
        return

    def list(self, key: Key, fields: Mapping[str, Any]) -> AsyncIterator[Keys]:
        """Yield the keys of the entities in a range, in any order; only needed for stores of children.

        :param key: the key of the set that is archived
        :param fields: the arguments of `Key.range`
        """
        raise NotImplementedError

    @abstractmethod
    async def get(self, keys: Keys) -> Snapshot | None:
        """Return the entity with these keys, or None."""

    @abstractmethod
    async def insert(self, keys: Keys, properties: Properties) -> Snapshot | None:
        """Store an entity, and return it; return None, and change nothing, if there is one with these keys."""

    @abstractmethod
    async def replace(self, keys: Keys, snapshot: Snapshot, properties: Properties) -> bool:
        """Overwrite an entity, giving it a new version; return False, and change nothing, if it has changed."""

    @abstractmethod
    async def delete(self, keys: Keys, snapshot: Snapshot) -> bool:
        """Delete an entity; return False, and change nothing, if its version has changed or it is gone."""


class Rows(Store):
    """Keep archived entities in an entity set, together with their derived data.

    :param key: the key of the archived set, which identifies entities in every store
    :param totals: the properties that a `Summary` of the children adds to these rows, with their initial values; they
        are not moved, since inserting and deleting the children changes them
    """

    def __init__(self, entities: EntitySet[Account], key: Key, totals: Properties | None = None) -> None:
        self.entities = entities
        self._key = key
        self._totals = dict(totals or {})

    @property
    def name(self) -> str:
        return f"table {self.entities.table.name}"

    async def list(self, key: Key, fields: Mapping[str, Any]) -> AsyncIterator[Keys]:
        async for entity in self.entities.range(select=(), **fields):
            yield key.format({name: entity[name] for name in key.fields})

    async def get(self, keys: Keys) -> Snapshot | None:
        entity = await self.entities.get(**self._key.parse(*keys))
        if entity is None:
            return None
        own_fields = {name: value for name, value in entity.items() if name not in self._key.fields}
        properties = {name: value for name, value in own_fields.items() if name not in self._totals}
        return Snapshot(properties, entity.etag or "", entity, is_placeholder=bool(own_fields) and not properties)

    async def insert(self, keys: Keys, properties: Properties) -> Snapshot | None:
        try:
            entity = await self.entities.insert(self._key.parse(*keys) | dict(properties) | self._totals)
        except DuplicateIndexValue:
            raise
        except EntityAlreadyExists:
            return None
        return Snapshot(properties, entity.etag or "", entity)

    async def replace(self, keys: Keys, snapshot: Snapshot, properties: Properties) -> bool:
        entity = _row_of(snapshot)
        totals = {name: entity.get(name) for name in self._totals}
        replace_fields(entity, self._key.parse(*keys) | dict(properties) | totals)
        with suppress(EntityChanged, EntityNotFound):
            await self.entities.replace(entity)
            return True
        return False

    async def delete(self, keys: Keys, snapshot: Snapshot) -> bool:
        with suppress(EntityChanged, EntityNotFound):
            await self.entities.delete(_row_of(snapshot))
            return True
        return False


def _row_of(snapshot: Snapshot) -> Entity:
    assert isinstance(snapshot.row, Entity)  # noqa: S101 - `Rows.get` put it there
    return snapshot.row


_PLAIN = " !$&'()+,;=@[]{}~^"
_EMPTY = "%_"


def name_of(keys: tuple[str, str]) -> str:
    """Return the name of an entity's blob, such as `Sales/empid_000223.json`; `%_` stands for an empty key."""
    partition, row = map(_segment, keys)
    return f"{partition}/{row}.json"


def _segment(key: str) -> str:
    """Escape a key as one path segment that is neither empty nor relative."""
    text = quote(key, safe=_PLAIN) or _EMPTY
    return text[:-1] + f"%{ord(text[-1]):02X}" if text[-1] in ". " else text


def prefix_of(rows: KeyRange) -> str:
    """Return the common prefix of the names of all entities in a range."""
    pairs = zip(rows.row_keys.lower, rows.row_keys.upper or "", strict=False)
    common_prefix = "".join(first for first, _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    # The last character of a complete key may be escaped, so the prefix leaves it out
    return f"{_segment(rows.partition_key)}/{quote(common_prefix.rstrip('. '), safe=_PLAIN)}"


def keys_of(name: str) -> tuple[str, str] | None:
    """Return the keys of the entity with this name; None for a name that `name_of` does not return."""
    partition, _, row = name.removesuffix(".json").partition("/")
    keys = unquote(partition.replace(_EMPTY, "")), unquote(row.replace(_EMPTY, ""))
    return keys if name_of(keys) == name else None


_MAX_BLOB_NAME_LENGTH = 1024
_ATTEMPTS = 5


class BlobArchive(Store):
    """Keep archived entities in blobs, one per entity, such as `Sales/empid_000223.json`, in typed JSON.

    Cost: insert, replace and delete 1 storage transaction, get 2; 2 more for the first insert, which creates the
    container; to list children 1 for each 5,000.

    :param account: the account of the container, which may differ from that of the entities
    :param container: its name
    :param prefix: the prefix of the blobs' names, such as `"employees/"`
    """

    @checked
    def __init__(self, account: Account, container: str, *, prefix: str = "") -> None:
        self._container = account.container(container)
        self._prefix = prefix

    @property
    def name(self) -> str:
        return f"container {self._container.name}"

    def check(self, keys: Keys) -> None:
        self._name(keys)

    async def list(self, key: Key, fields: Mapping[str, Any]) -> AsyncIterator[Keys]:
        rows = key.range(fields)
        async for blob in self._container.blobs(self._prefix + prefix_of(rows)):
            keys = keys_of(blob.name.removeprefix(self._prefix))
            if keys is not None and rows.contains(*keys) and key.matches(*keys):
                yield keys

    async def get(self, keys: Keys) -> Snapshot | None:
        name = self._name(keys)
        for _ in range(_ATTEMPTS):
            facts = await self._container.facts(name)
            if facts is None:
                return None
            try:
                content = await self._container.download(name, etag=facts.etag)
            except BlobChanged:
                continue
            return None if content is None else Snapshot(decoded(content, keys, f"blob {name}"), facts.etag)
        raise BlobChanged(f"blob {name!r} was overwritten during each of {_ATTEMPTS} reads; retry")

    async def insert(self, keys: Keys, properties: Properties) -> Snapshot | None:
        etag = await self._upload(keys, properties, ABSENT)
        return None if etag is None else Snapshot(properties, etag)

    async def replace(self, keys: Keys, snapshot: Snapshot, properties: Properties) -> bool:
        return await self._upload(keys, properties, snapshot.version) is not None

    async def delete(self, keys: Keys, snapshot: Snapshot) -> bool:
        try:
            return await self._container.delete(self._name(keys), etag=snapshot.version)
        except BlobChanged:
            return False

    async def _upload(self, keys: Keys, properties: Properties, etag: str) -> str | None:
        content, content_type = encoded(keys, properties), "application/json"
        try:
            return await self._container.upload(self._name(keys), content, etag=etag, content_type=content_type)
        except BlobChanged:
            return None

    def _name(self, keys: Keys) -> str:
        name = self._prefix + name_of(keys)
        if len(name) > _MAX_BLOB_NAME_LENGTH:
            rule = f"a blob's name has at most {_MAX_BLOB_NAME_LENGTH:,} characters, and this has {len(name):,}"
            raise LimitExceeded("name of the blob", name, rule, "use shorter keys, or archive to a table")
        return name
