"""Upload a value that is too large for memory, from a file or from chunks."""

from __future__ import annotations

from collections.abc import AsyncIterable, Iterable
from typing import IO, Any, TypeAlias, cast

from ...argument_types import checked
from ...errors import BadProperty
from ...sdk.container import Container

Stream: TypeAlias = IO[bytes] | Iterable[bytes] | AsyncIterable[bytes]


class Upload:
    """A large value to be read from a file, or from an iterable of chunks, while it is sent; it comes back as bytes.

    A file is read from where it stands, each time it is sent. Chunks that can be gone through only once are sent once:
    for a second write give new ones.

    >>> from io import BytesIO
    >>> Upload(BytesIO(b"photo"), content_type="image/jpeg")
    <Upload of a BytesIO>

    :param content: a file opened in binary mode, or an iterable of bytes; an async one on an async account
    :param content_type: what the blob says that it is
    :raises BadProperty: it is neither

    Guide: large entities pattern.
    """

    @checked
    def __init__(self, content: Stream, *, content_type: str | None = None) -> None:
        self.content_type = content_type
        self._content: Any = content
        self._start = _position(content)
        self._was_sent = False

    def refuse_if_spent(self, name: str) -> None:
        """Reject chunks that were sent already and cannot be gone through again.

        :param name: the property that they are given for
        :raises BadProperty: they are spent
        """
        if self._was_sent and self._start is None and _gives_once(self._content):
            rule = "its chunks were sent already, and cannot be gone through again"
            raise BadProperty(name, self, rule, "give a new Upload, or merge the other fields")

    def content(self, name: str) -> Stream:
        """Return what is to be sent now.

        :raises BadProperty: it was sent already, and cannot be sent again
        """
        self.refuse_if_spent(name)
        if self._was_sent and self._start is not None:
            self._content.seek(self._start)
        self._was_sent = True
        return cast("Stream", iter(self._content) if _is_collection(self._content) else self._content)

    def __repr__(self) -> str:
        return f"<Upload of a {type(self._content).__name__}>"


class Sending:
    """The upload of one value, to be carried out once, however often its transaction is tried.

    :param container: where it goes
    :param blob: the name of its blob
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
    """Return where a file stands, if it can go back there."""
    return int(content.tell()) if hasattr(content, "seekable") and content.seekable() else None


def _gives_once(content: Any) -> bool:
    """Whether an iterable is its own iterator, or a file that cannot go back."""
    return hasattr(content, "read") or hasattr(content, "__next__") or hasattr(content, "__anext__")
