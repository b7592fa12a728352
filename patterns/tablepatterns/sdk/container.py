"""One container of blobs, with the methods that a recipe may await."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Callable, Generator, Iterable, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import IO, Any, Final, TypeAlias
from uuid import uuid4

from azure.core import MatchConditions
from azure.core.exceptions import HttpResponseError, ResourceExistsError, ResourceModifiedError, ResourceNotFoundError

from ..errors import BlobChanged
from .call import iterate, settled
from .errors import Ignored, code_of

Content: TypeAlias = bytes | IO[bytes] | Iterable[bytes] | AsyncIterable[bytes]
ABSENT: Final = "absent"
"""The ETag to pass if a blob must not exist yet."""
_WRITE_ID: Final = "tablepatterns_write"
_MISSING: Final = ("BlobNotFound", "ContainerNotFound")


@dataclass(frozen=True)
class BlobFacts:
    """The properties of a blob; `size` is in bytes, `blocks` is None in lists and for other blobs than append blobs."""

    name: str
    size: int
    etag: str
    modified_at: datetime
    metadata: Mapping[str, str] = field(default_factory=dict[str, str])
    content_type: str | None = None
    blocks: int | None = None
    write_id: str | None = field(default=None, repr=False)
    """The id by which a writer recognizes its own write after a lost response."""


class Container:
    """One container of an account, over an SDK `ContainerClient`, sync or async.

    A container that does not exist reads as empty, and the first write creates it.
    """

    def __init__(self, client: Any) -> None:
        self._client = client

    @property
    def name(self) -> str:
        return str(self._client.container_name)

    def blob_url(self, name: str) -> str:
        """Return the URL of a blob, without a signature."""
        return str(self._client.get_blob_client(name).url).split("?")[0]

    async def create(self) -> bool:
        """Create the container; return False if it existed already. Cost: 1 transaction."""
        with Ignored("ContainerAlreadyExists"):
            await settled(self._client.create_container())
            return True
        return False

    async def drop(self) -> None:
        """Delete the container with its blobs; does nothing if there is none. Cost: 1 transaction."""
        with suppress(ResourceNotFoundError):
            await settled(self._client.delete_container())

    async def upload(
        self,
        name: str,
        content: Content,
        *,
        etag: str | None = None,
        metadata: Mapping[str, str] | None = None,
        content_type: str | None = None,
    ) -> str:
        """Upload a block blob, and return its ETag. If the upload fails, the blob is as it was.

        A write whose response was lost is recognized by an id in the metadata. Cost: 1 transaction up to 64 MiB; beyond
        that, 1 per 4 MiB and 1 to commit. 2 more if the container must be created first; for content that cannot be
        sent again, 1 to create it beforehand.

        :param etag: the ETag of the blob to overwrite, or `ABSENT`; None overwrites any blob
        """
        stamp = uuid4().hex
        options: dict[str, Any] = {"metadata": {**(metadata or {}), _WRITE_ID: stamp}, "overwrite": True}
        if content_type:
            # Imported here, so that a program without blobs does not load the library
            from azure.storage.blob import ContentSettings

            options["content_settings"] = ContentSettings(content_type=content_type)
        client = self._client.get_blob_client(name)
        options |= _condition(etag)
        try:
            if not isinstance(content, bytes):
                await self.create()
            answer = await self._in_container(lambda: client.upload_blob(content, **options))
        except (ResourceExistsError, ResourceModifiedError) as error:
            own = await self._own_write(name, stamp, error)
            if own is None:
                raise BlobChanged(f"blob {name!r} changed since it was read; read it again and retry", error) from error
            return own.etag
        return str(answer["etag"])

    async def download(
        self, name: str, *, offset: int = 0, length: int | None = None, etag: str | None = None
    ) -> bytes | None:
        """Return the content of a blob, or a part of it; None if there is no blob, b"" if the part is beyond its end.

        Cost: 1 transaction up to 32 MiB, beyond that 1 per 4 MiB.
        """
        with Ignored("InvalidRange"), _overwritten(name):
            download = await self._open(name, offset, length, etag)
            return None if download is None else bytes(await settled(download.readall()))
        return b""

    async def read(self, name: str) -> tuple[bytes, str] | None:
        """Return the content of a blob with its ETag, or None if there is none; the cost is that of `download`."""
        with _overwritten(name):
            download = await self._open(name, 0, None, None)
            return None if download is None else (await settled(download.readall()), str(download.properties.etag))

    async def chunks(self, name: str, *, etag: str | None = None) -> AsyncIterator[bytes]:
        """Yield the content of a blob, if it exists, without holding all of it; the cost is that of `download`."""
        with _overwritten(name):
            download = await self._open(name, 0, None, etag)
            if download is not None:
                async for chunk in iterate(download.chunks()):
                    yield chunk

    async def _open(self, name: str, offset: int, length: int | None, etag: str | None) -> Any:
        part = {"offset": offset, "length": length} if offset or length is not None else {}
        with Ignored(*_MISSING):
            return await settled(self._client.download_blob(name, **part, **_condition(etag)))
        return None

    async def append(self, name: str, content: bytes, *, position: int | None = None) -> int:
        """Append a block to an append blob that exists, and return the position it was written at. Cost: 1 transaction.

        A request whose response was lost is sent again, so without `position`, the length that the blob must have, the
        blob may contain the block twice. With it, the content shows the caller whose block was appended.
        """
        client = self._client.get_blob_client(name)
        condition = {} if position is None else {"appendpos_condition": position}
        try:
            answer = await settled(client.append_block(content, **condition))
        except HttpResponseError as error:
            if code_of(error) in _MISSING:
                raise BlobChanged(f"blob {name!r} does not exist; create it first", error) from error
            if code_of(error) != "AppendPositionConditionNotMet":
                raise
            raise BlobChanged(f"blob {name!r} does not end at {position}; read where it ends", error) from error
        return int(answer["blob_append_offset"])

    async def create_append(self, name: str, *, metadata: Mapping[str, str] | None = None) -> bool:
        """Create an empty append blob; return False if another call created it. Cost: 1 transaction."""
        stamp = uuid4().hex
        client = self._client.get_blob_client(name)
        options = {"metadata": {**(metadata or {}), _WRITE_ID: stamp}, **_condition(ABSENT)}
        try:
            await self._in_container(lambda: client.create_append_blob(**options))
        except (ResourceExistsError, ResourceModifiedError) as error:
            return await self._own_write(name, stamp, error) is not None
        return True

    async def describe(self, name: str, metadata: Mapping[str, str], *, etag: str | None = None) -> str:
        """Replace the metadata of a blob that exists, and return its new ETag. Cost: 1 transaction."""
        stamp = uuid4().hex
        client = self._client.get_blob_client(name)
        try:
            answer = await settled(client.set_blob_metadata({**metadata, _WRITE_ID: stamp}, **_condition(etag)))
        except ResourceNotFoundError as error:
            if code_of(error) not in _MISSING:
                raise
            raise BlobChanged(f"blob {name!r} does not exist; create it first", error) from error
        except ResourceModifiedError as error:
            own = await self._own_write(name, stamp, error)
            if own is None:
                raise BlobChanged(f"blob {name!r} was overwritten; read it again and retry", error) from error
            return own.etag
        return str(answer["etag"])

    async def facts(self, name: str) -> BlobFacts | None:
        """Return the properties of a blob, or None if there is none. Cost: 1 transaction."""
        try:
            return _facts(await settled(self._client.get_blob_client(name).get_blob_properties()))
        except ResourceNotFoundError:
            return None

    async def delete(self, name: str, *, etag: str | None = None) -> bool:
        """Delete a blob; return False if there was none. Cost: 1 transaction.

        If the response was lost and the SDK sent the request again, False is returned although this call deleted it.
        """
        try:
            with Ignored(*_MISSING):
                await settled(self._client.delete_blob(name, **_condition(etag)))
                return True
        except ResourceModifiedError as error:
            raise BlobChanged(f"blob {name!r} was overwritten; nothing was deleted", error) from error
        return False

    async def blobs(self, prefix: str = "") -> AsyncIterator[BlobFacts]:
        """Yield the blobs with a prefix, sorted by name, with their metadata. Cost: 1 transaction per 5,000 blobs."""
        blobs = self._client.list_blobs(name_starts_with=prefix or None, include=["metadata"])
        with Ignored("ContainerNotFound"):
            async for blob in iterate(blobs):
                yield _facts(blob)

    async def _own_write(self, name: str, stamp: str, error: HttpResponseError) -> BlobFacts | None:
        """Return the properties of a blob that an earlier attempt of this write has written; None if it has not."""
        if code_of(error) not in ("BlobAlreadyExists", "ConditionNotMet"):
            raise error
        facts = await self.facts(name)
        return facts if facts is not None and facts.write_id == stamp else None

    async def _in_container(self, call: Callable[[], Any]) -> Any:
        with Ignored("ContainerNotFound"):
            return await settled(call())
        await self.create()
        return await settled(call())


@contextmanager
def _overwritten(name: str) -> Generator[None, None, None]:
    try:
        yield
    except HttpResponseError as error:
        if error.status_code != 412:
            raise
        raise BlobChanged(f"blob {name!r} was overwritten; read it again and retry", error) from error


def _condition(etag: str | None) -> dict[str, Any]:
    if etag is None:
        return {}
    if etag == ABSENT:
        # Without an ETag, which the SDK would pass on to the transport as an option
        return {"match_condition": MatchConditions.IfMissing}
    return {"etag": etag, "match_condition": MatchConditions.IfNotModified}


def _facts(properties: Any) -> BlobFacts:
    metadata: dict[str, str] = dict(properties.metadata or {})
    write_id = metadata.pop(_WRITE_ID, None)
    return BlobFacts(
        properties.name,
        properties.size,
        str(properties.etag),
        properties.last_modified,
        metadata,
        properties.content_settings.content_type,
        properties.append_blob_committed_block_count,
        write_id,
    )
