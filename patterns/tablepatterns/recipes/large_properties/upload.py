"""Upload a value that is too large for memory, from a file or from chunks."""

from __future__ import annotations

from collections.abc import AsyncIterable, Iterable
from typing import IO, Any, TypeAlias, cast

from ...argument_types import checked
from ...errors import BadProperty
from ...models.annotations import Streamed
from ...sdk.container import Container

Stream: TypeAlias = IO[bytes] | Iterable[bytes] | AsyncIterable[bytes]


class Upload(Streamed):
    """A large value to stream from a file or from chunks of bytes; it is read back as bytes.

    A file is sent from its current position, on every write. An iterator can be sent only once: create a new `Upload`
    for another write.

    >>> from io import BytesIO
    >>> Upload(BytesIO(b"photo"), content_type="image/jpeg")
    <Upload of a BytesIO>

    :param content: a file opened in binary mode, or an iterable of bytes; an async one on an async account
    :param content_type: the Content-Type of the blob
    :raises BadProperty: it is neither

    Guide: large entities pattern.
    """

    @checked
    def __init__(self, content: Stream, *, content_type: str | None = None) -> None:
        self.content_type = content_type
        self._content: Any = content
        self._start = _position(content)
        self._was_sent = False

    def check_unsent(self, name: str) -> None:
        """Reject an iterator that was sent already.

        :param name: the property
        :raises BadProperty: it was sent already
        """
        if self._was_sent and self._start is None and _gives_once(self._content):
            rule = "its chunks were sent already, and cannot be read again"
            raise BadProperty(name, self, rule, "create a new Upload, or merge the other fields")

    def content(self, name: str) -> Stream:
        """Return the content to send.

        :raises BadProperty: it was sent already, and cannot be sent again
        """
        self.check_unsent(name)
        if self._was_sent and self._start is not None:
            self._content.seek(self._start)
        self._was_sent = True
        return cast("Stream", iter(self._content) if _is_collection(self._content) else self._content)

    def __repr__(self) -> str:
        return f"<Upload of a {type(self._content).__name__}>"


class Sending:
    """The upload of one value, carried out once even if its transaction is retried.

    :param container: the container of the blob
    :param blob: the name of the blob
    :param field: the name of the property
    """

    def __init__(
        self, container: Container, blob: str, field: str, value: bytes | Upload, content_type: str | None
    ) -> None:
        self._container = container
        self._blob = blob
        self._field = field
        self._value = value
        self._content_type = content_type
        self._is_done = False

    async def __call__(self) -> None:
        if self._is_done:
            return
        content = self._value.content(self._field) if isinstance(self._value, Upload) else self._value
        await self._container.upload(self._blob, content, content_type=self._content_type)
        self._is_done = True


def _is_collection(content: Any) -> bool:
    return not hasattr(content, "read") and isinstance(content, Iterable)


def _position(content: Any) -> int | None:
    """Return the position of a seekable file, or None."""
    return int(content.tell()) if hasattr(content, "seekable") and content.seekable() else None


def _gives_once(content: Any) -> bool:
    """Return whether content can be read only once."""
    return hasattr(content, "read") or hasattr(content, "__next__") or hasattr(content, "__anext__")
