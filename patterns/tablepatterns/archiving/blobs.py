"""Blobs: a container as a place to archive to, one blob for each entity."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any

from ..argument_types import checked
from ..errors import BlobChanged, LimitExceeded
from ..key import Key
from ..recipe import Account
from ..words.container import ABSENT
from .names import keys_of, name_of, prefix_of
from .store import Keys, Properties, Snapshot, Store
from .typed_json import decoded, encoded

_LONGEST_NAME = 1024
_ATTEMPTS = 5


class BlobArchive(Store):
    """Keep archived entities in blobs: cheaper than a table, and read one at a time.

    Each entity is a blob of its own, `Sales/empid_000223.json`, in JSON that keeps the types. Not many in one file,
    since appending twice what was to be appended once cannot be told apart.

    Cost: insert, replace and delete 1 storage transaction, get 2; 2 more for the first one, which makes the container;
    to list children 1 for each 5,000.

    :param account: where the container is, which may be another account than that of the entities
    :param container: its name
    :param prefix: what the blobs' names begin with, such as `"employees/"`
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
        """Refuse keys that make too long a name.

        :raises LimitExceeded: they do
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
        """Return the entity of a blob."""
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
        raise BlobChanged(f"blob {name!r} was overwritten at each of {_ATTEMPTS} attempts to read it; try again")

    async def insert(self, keys: Keys, properties: Properties) -> bool:
        """Write a blob, or return False if there is one."""
        return await self._upload(keys, properties, ABSENT)

    async def replace(self, keys: Keys, held: Snapshot, properties: Properties) -> bool:
        """Overwrite a blob, or return False if it changed."""
        return await self._upload(keys, properties, held.version)

    async def delete(self, keys: Keys, held: Snapshot) -> bool:
        """Delete a blob, or return False if it changed."""
        try:
            return await self._container.delete(self._name(keys), etag=held.version)
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
        if len(name) > _LONGEST_NAME:
            rule = f"a blob's name has at most {_LONGEST_NAME:,} characters, and this has {len(name):,}"
            raise LimitExceeded("name of the blob", name, rule, "use shorter keys, or archive to a table")
        return name
