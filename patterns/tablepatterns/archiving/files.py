"""Files: a folder as a place to archive to, one file for each entity."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Generator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any
from uuid import uuid4

from ..argument_types import checked
from ..errors import LimitExceeded
from ..key import Key
from .names import folder_of, keys_of, name_of
from .store import Keys, Properties, Snapshot, Store
from .typed_json import decoded, encoded

_LOCK = "%lock"
"""The name of a file that no PartitionKey makes the name of a folder."""
_OWNER_ONLY = 0o600
_LONGEST_NAME = 255 - len(".json.new")
"""What file systems take, less what a file's name ends with while it is written."""

if sys.platform == "win32":
    import msvcrt

    def _lock(number: int) -> None:
        msvcrt.locking(number, msvcrt.LK_LOCK, 1)
else:
    import fcntl

    def _lock(number: int) -> None:
        fcntl.flock(number, fcntl.LOCK_EX)


class FileArchive(Store):
    """Keep archived entities in files of this machine, `Sales/empid_000223.json` below a folder.

    A file is on the disk, and not only on its way there, when a word returns. Workers of this machine may share the
    folder: they take turns by a lock, which the operating system releases when a process dies. Does not: work on
    network file systems that have no such locks, or spare the event loop the time of a small write. A key has at most
    246 characters as a name, where all but ASCII takes several: a move of a longer one goes to poison.

    Files are made for their owner only (0600), and so are folders (0700); those that are there keep their rights.

    :param folder: where the files are; it is made when it is missing
    """

    @checked
    def __init__(self, folder: str | Path) -> None:
        self._folder = Path(folder)

    @property
    def name(self) -> str:
        """The name that errors use."""
        return f"folder {self._folder}"

    def check(self, keys: Keys) -> None:
        """Refuse keys that make too long a name.

        :raises LimitExceeded: they do
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
        """Return the entity of a file."""
        path = self._path(keys)
        content = _content(path)
        return None if content is None else Snapshot(decoded(content, keys, str(path)), _version(content))

    async def insert(self, keys: Keys, properties: Properties) -> bool:
        """Write a file, or return False if there is one."""
        return self._change(keys, None, _content_of(keys, properties))

    async def replace(self, keys: Keys, held: Snapshot, properties: Properties) -> bool:
        """Overwrite a file, or return False if it changed."""
        return self._change(keys, held.version, _content_of(keys, properties))

    async def delete(self, keys: Keys, held: Snapshot) -> bool:
        """Delete a file, or return False if it changed."""
        return self._change(keys, held.version, None)

    def _path(self, keys: Keys) -> Path:
        name = name_of(keys)
        for part in name.removesuffix(".json").split("/"):
            if len(part) > _LONGEST_NAME:
                rule = f"a file's name has at most {_LONGEST_NAME} characters, and this has {len(part):,}"
                raise LimitExceeded("name of the file", part, rule, "use shorter keys, or archive to a table")
        return self._folder / name

    def _change(self, keys: Keys, version: str | None, content: bytes | None) -> bool:
        """Bring the file from one version, None for no file, to a content, None for no file, or return False."""
        path = self._path(keys)
        _make_folder(path.parent)
        with self._alone():
            found = _content(path)
            if (None if found is None else _version(found)) != version:
                return False
            if content is None:
                path.unlink()
            else:
                _write(path, content)
            _make_durable(path.parent)
        return True

    @contextmanager
    def _alone(self) -> Generator[None, None, None]:
        """Keep other threads and processes from changing files; reading needs no lock, since files change whole."""
        with open(self._folder / _LOCK, "ab", opener=_private) as file:
            _lock(file.fileno())
            yield


def _content_of(keys: Keys, properties: Properties) -> bytes:
    # A version is the digest of a content, and every write must make another one
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
    # What a process left that died here may have been made by others
    beside.unlink(missing_ok=True)
    with open(beside, "wb", opener=_private) as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)


def _private(path: str, flags: int) -> int:
    """Open a file that, if it is new, only its owner may read."""
    return os.open(path, flags, _OWNER_ONLY)


def _make_folder(folder: Path) -> None:
    """Make the folders that are missing, for their owner only; those that are there stay as they are."""
    for each in reversed([each for each in (folder, *folder.parents) if not each.exists()]):
        each.mkdir(mode=_OWNER_ONLY | 0o100, exist_ok=True)


def _make_durable(folder: Path) -> None:
    """Let the names in a folder outlive a loss of power; Windows has no word for it."""
    if sys.platform == "win32":
        return
    number = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)
