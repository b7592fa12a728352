"""Define where entities are archived: an entity set, a blob container, or a folder."""

from __future__ import annotations

import os
import sys
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from itertools import takewhile
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import quote, unquote
from uuid import uuid4

from ...argument_types import checked
from ...entity import Entity
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
    async def insert(self, keys: Keys, properties: Properties) -> bool:
        """Store an entity; return False, and change nothing, if there is one with these keys."""

    @abstractmethod
    async def replace(self, keys: Keys, snapshot: Snapshot, properties: Properties) -> bool:
        """Overwrite an entity, giving it a new version; return False, and change nothing, if it has changed."""

    @abstractmethod
    async def delete(self, keys: Keys, snapshot: Snapshot) -> bool:
        """Delete an entity; return False, and change nothing, if its version has changed or it is gone."""


class Rows(Store):
    """Keep archived entities in an entity set, together with their derived data.

    Cost: 1 storage transaction per call, and the cost of the set's derived data; 1 per 1,000 to list children.

    :param entities: the set
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
        """The name that errors use."""
        return f"table {self.entities.table.name}"

    async def list(self, key: Key, fields: Mapping[str, Any]) -> AsyncIterator[Keys]:
        """Yield the keys of the entities in a range. Cost: 1 transaction per page of up to 1,000."""
        async for entity in self.entities.range(select=(), **fields):
            yield key.format({name: entity[name] for name in key.fields})

    async def get(self, keys: Keys) -> Snapshot | None:
        """Return the entity with these keys."""
        entity = await self.entities.get(**self._key.parse(*keys))
        if entity is None:
            return None
        own_fields = {name: value for name, value in entity.items() if name not in self._key.fields}
        properties = {name: value for name, value in own_fields.items() if name not in self._totals}
        return Snapshot(properties, entity.etag or "", entity, is_placeholder=bool(own_fields) and not properties)

    async def insert(self, keys: Keys, properties: Properties) -> bool:
        """Create the entity with all its derived rows, or return False if there is one."""
        try:
            await self.entities.insert(self._key.parse(*keys) | dict(properties) | self._totals)
        except DuplicateIndexValue:
            raise
        except EntityAlreadyExists:
            return False
        return True

    async def replace(self, keys: Keys, snapshot: Snapshot, properties: Properties) -> bool:
        """Replace the entity, or return False if it has changed."""
        entity = snapshot.row
        assert isinstance(entity, Entity)  # noqa: S101 - `get` of this class put it there
        totals = {name: entity.get(name) for name in self._totals}
        entity.clear()
        entity.update(self._key.parse(*keys) | dict(properties) | totals)
        try:
            await self.entities.replace(entity)
        except (EntityChanged, EntityNotFound):
            return False
        return True

    async def delete(self, keys: Keys, snapshot: Snapshot) -> bool:
        """Delete the entity with its derived rows, or return False if it has changed."""
        entity = snapshot.row
        assert isinstance(entity, Entity)  # noqa: S101 - as above
        try:
            await self.entities.delete(entity)
        except (EntityChanged, EntityNotFound):
            return False
        return True


_PLAIN = " !$&'()+,;=@[]{}~^"
_EMPTY = "%_"


def name_of(keys: tuple[str, str]) -> str:
    """Return the name of an entity: its PartitionKey as the folder, its RowKey as the file.

    >>> name_of(("Sales", "empid_000223")), name_of(("", "jonesj@contoso.com"))
    ('Sales/empid_000223.json', '%_/jonesj@contoso.com.json')
    """
    partition, row = map(_segment, keys)
    return f"{partition}/{row}.json"


def _segment(key: str) -> str:
    """Escape a key as one path segment that is neither empty nor relative."""
    text = quote(key, safe=_PLAIN) or _EMPTY
    return text[:-1] + f"%{ord(text[-1]):02X}" if text[-1] in ". " else text


def folder_of(partition: str) -> str:
    """Return the name of the folder that holds a partition's entities."""
    return _segment(partition)


def prefix_of(rows: KeyRange) -> str:
    """Return the common prefix of the names of all entities in a range.

    >>> prefix_of(KeyRange.beginning_with("Sales", "empid_"))
    'Sales/empid'
    """
    pairs = zip(rows.lower or "", rows.upper or "", strict=False)
    common_prefix = "".join(first for first, _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    # The last character of a complete key may be escaped, so the prefix leaves it out
    return f"{_segment(rows.partition_key)}/{quote(common_prefix.rstrip('. '), safe=_PLAIN)}"


def keys_of(name: str) -> tuple[str, str] | None:
    """Return the keys of the entity with this name; None for a name that `name_of` does not return.

    >>> keys_of("%_/jonesj@contoso.com.json"), keys_of("notes.txt")
    (('', 'jonesj@contoso.com'), None)
    """
    partition, _, row = name.removesuffix(".json").partition("/")
    keys = _key(partition), _key(row)
    return keys if name_of(keys) == name else None


def _key(segment: str) -> str:
    return "" if segment == _EMPTY else unquote(segment)


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
        """The name that errors use."""
        return f"container {self._container.name}"

    def check(self, keys: Keys) -> None:
        """Reject keys that make a blob name that is too long.

        :raises LimitExceeded: the name would be too long
        """
        self._name(keys)

    async def list(self, key: Key, fields: Mapping[str, Any]) -> AsyncIterator[Keys]:
        """Yield the keys of the entities in a range. Cost: 1 transaction per 5,000."""
        rows = key.range(fields)
        async for blob in self._container.blobs(self._prefix + prefix_of(rows)):
            keys = keys_of(blob.name.removeprefix(self._prefix))
            if keys is not None and rows.contains(*keys) and key.matches(*keys):
                yield keys

    async def get(self, keys: Keys) -> Snapshot | None:
        """Return the entity in a blob, or None."""
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

    async def insert(self, keys: Keys, properties: Properties) -> bool:
        """Write a blob, or return False if there is one."""
        return await self._upload(keys, properties, ABSENT)

    async def replace(self, keys: Keys, snapshot: Snapshot, properties: Properties) -> bool:
        """Overwrite a blob, or return False if it has changed."""
        return await self._upload(keys, properties, snapshot.version)

    async def delete(self, keys: Keys, snapshot: Snapshot) -> bool:
        """Delete a blob, or return False if it has changed."""
        try:
            return await self._container.delete(self._name(keys), etag=snapshot.version)
        except BlobChanged:
            return False

    async def _upload(self, keys: Keys, properties: Properties, etag: str) -> bool:
        content = encoded(keys, properties)
        try:
            await self._container.upload(self._name(keys), content, etag=etag, content_type="application/json")
        except BlobChanged:
            return False
        return True

    def _name(self, keys: Keys) -> str:
        name = self._prefix + name_of(keys)
        if len(name) > _MAX_BLOB_NAME_LENGTH:
            rule = f"a blob's name has at most {_MAX_BLOB_NAME_LENGTH:,} characters, and this has {len(name):,}"
            raise LimitExceeded("name of the blob", name, rule, "use shorter keys, or archive to a table")
        return name


_LOCK = "%lock"
"""The name of the lock file; no PartitionKey makes a folder of this name."""
_OWNER_ONLY = 0o600
_MAX_FILE_NAME_LENGTH = 255 - len(".json.new")
"""The limit of file systems, less the suffix that a file has while it is being written."""

if sys.platform == "win32":
    import msvcrt

    def _lock(number: int) -> None:
        msvcrt.locking(number, msvcrt.LK_LOCK, 1)
else:
    import fcntl

    def _lock(number: int) -> None:
        fcntl.flock(number, fcntl.LOCK_EX)


class FileArchive(Store):
    """Keep archived entities in files of this machine, such as `Sales/empid_000223.json` below a folder.

    A file has been flushed to disk when a method returns. Several processes on this machine may share the folder, which
    is protected by a file lock; network file systems without file locks are not supported. Writes block the event loop.
    An escaped key has at most 246 characters in a file name; an entity with a longer key is rejected.

    New files and folders can be read and written only by their owner (0600 and 0700).

    :param folder: the folder of the files; created if missing
    """

    @checked
    def __init__(self, folder: str | Path) -> None:
        self._folder = Path(folder)

    @property
    def name(self) -> str:
        """The name that errors use."""
        return f"folder {self._folder}"

    def check(self, keys: Keys) -> None:
        """Reject keys that make a file name that is too long.

        :raises LimitExceeded: the name would be too long
        """
        self._path(keys)

    async def list(self, key: Key, fields: Mapping[str, Any]) -> AsyncIterator[Keys]:
        """Yield the keys of the entities in a range."""
        rows = key.range(fields)
        folder = self._folder / folder_of(rows.partition_key)
        for path in sorted(folder.iterdir()) if folder.is_dir() else ():
            keys = keys_of(f"{folder.name}/{path.name}")
            if keys is not None and rows.contains(*keys) and key.matches(*keys):
                yield keys

    async def get(self, keys: Keys) -> Snapshot | None:
        """Return the entity in a file, or None."""
        path = self._path(keys)
        content = _content(path)
        return None if content is None else Snapshot(decoded(content, keys, str(path)), _version(content))

    async def insert(self, keys: Keys, properties: Properties) -> bool:
        """Write a file, or return False if there is one."""
        return self._change(keys, None, _content_of(keys, properties))

    async def replace(self, keys: Keys, snapshot: Snapshot, properties: Properties) -> bool:
        """Overwrite a file, or return False if it has changed."""
        return self._change(keys, snapshot.version, _content_of(keys, properties))

    async def delete(self, keys: Keys, snapshot: Snapshot) -> bool:
        """Delete a file, or return False if it has changed."""
        return self._change(keys, snapshot.version, None)

    def _path(self, keys: Keys) -> Path:
        name = name_of(keys)
        for part in name.removesuffix(".json").split("/"):
            if len(part) > _MAX_FILE_NAME_LENGTH:
                rule = f"a file's name has at most {_MAX_FILE_NAME_LENGTH} characters, and this has {len(part):,}"
                raise LimitExceeded("name of the file", part, rule, "use shorter keys, or archive to a table")
        return self._folder / name

    def _change(self, keys: Keys, version: str | None, content: bytes | None) -> bool:
        """Replace one version of the file with new content (None for no file), or return False if it has changed."""
        path = self._path(keys)
        _make_folder(path.parent)
        with self._alone():
            old_content = _content(path)
            if (None if old_content is None else _version(old_content)) != version:
                return False
            if content is None:
                path.unlink()
            else:
                _write(path, content)
            _make_durable(path.parent)
        return True

    @contextmanager
    def _alone(self) -> Generator[None, None, None]:
        """Lock out other writing threads and processes; readers need no lock, since files are replaced as a whole."""
        with open(self._folder / _LOCK, "ab", opener=_private) as file:
            _lock(file.fileno())
            yield


def _content_of(keys: Keys, properties: Properties) -> bytes:
    # The version is a digest of the content, and every write must change it
    return encoded(keys, properties, write=uuid4().hex)


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def _version(content: bytes) -> str:
    return sha256(content).hexdigest()


def _write(path: Path, content: bytes) -> None:
    beside = path.with_name(f"{path.name}.new")
    # A file that a crashed process left here may belong to another user
    beside.unlink(missing_ok=True)
    with open(beside, "wb", opener=_private) as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)


def _private(path: str, flags: int) -> int:
    """Open a file; if it is new, only its owner may read it."""
    return os.open(path, flags, _OWNER_ONLY)


def _make_folder(folder: Path) -> None:
    """Create missing folders, for their owner only; existing ones keep their permissions."""
    for path in reversed(
        [missing_folder for missing_folder in (folder, *folder.parents) if not missing_folder.exists()]
    ):
        path.mkdir(mode=_OWNER_ONLY | 0o100, exist_ok=True)


def _make_durable(folder: Path) -> None:
    """Flush a folder's entries to disk, so that they survive a loss of power; not available on Windows."""
    if sys.platform == "win32":
        return
    number = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)
