"""Track the progress of a bulk load, for tokens and progress reports."""

from __future__ import annotations

import base64
import json
import threading
import zlib
from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Literal

from ...argument_types import check_has_run
from ...errors import BadToken

_VERSION = 1


@dataclass(frozen=True)
class LoadPosition:
    """Which entities of an input are known to be stored.

    All entities before `first` are. The entities from `first` to `read`, one window, are stored if their bit in `open`
    is 0; the lowest bit is that of `first`.

    :param digest: of the keys of all entities before `read`, to detect a different input
    """

    digest: str
    first: int = 0
    read: int = 0
    open: int = 0

    @property
    def done(self) -> int:
        """How many entities are known to be stored."""
        return self.read - self.open.bit_count()

    def is_open(self, position: int) -> bool:
        """Return whether an entity that was read is not known to be stored."""
        return position >= self.first and bool(self.open >> (position - self.first) & 1)

    def with_window(self, size: int, digest: str) -> LoadPosition:
        """Return the position after reading the next window of `size` entities; all before it are stored."""
        return LoadPosition(digest, self.read, self.read + size, (1 << size) - 1)

    def with_done(self, positions: Collection[int]) -> LoadPosition:
        """Return the position after some entities of the window were written."""
        return replace(self, open=self.open & ~sum(1 << (position - self.first) for position in positions))

    def text(self) -> str:
        """Return the position as URL-safe text."""
        parts = [_VERSION, self.digest, self.first, self.read, f"{self.open:x}"]
        return base64.urlsafe_b64encode(zlib.compress(json.dumps(parts).encode())).decode("ascii")

    @classmethod
    def parse(cls, token: str) -> LoadPosition:
        """Parse the text of a position.

        >>> LoadPosition.parse(LoadPosition("ab").with_window(3, "cd").with_done([1]).text())
        LoadPosition(digest='cd', first=0, read=3, open=5)

        :raises BadToken: the text is not a token of a load
        """
        try:
            text = zlib.decompress(base64.b64decode(token, altchars=b"-_", validate=True))
            version, digest, first, read, still_open = json.loads(text)
            mark = cls(digest, first, read, int(still_open, 16))
            is_sound = version == _VERSION and 0 <= first <= read and 0 <= mark.open < 1 << (read - first)
        except (TypeError, ValueError, zlib.error) as error:
            raise BadToken("resume", token, "it is not a token of a load", "pass one, or None to start") from error
        if not is_sound:
            raise BadToken("resume", token, "it is not a token of this version", "pass another, or None to start")
        return mark


class KeyDigest:
    """A running digest of the keys of an input.

    :param names: identify the set
    """

    def __init__(self, *names: str) -> None:
        self._hash = blake2b(digest_size=16)
        self.add(*names)

    def add(self, *texts: str) -> None:
        """Add a key; its texts are separated by a control character, which no key may contain."""
        self._hash.update("\0".join((*texts, "")).encode("utf-8", "surrogatepass"))

    def text(self) -> str:
        """Return the digest of the keys so far."""
        return self._hash.hexdigest()


@dataclass(frozen=True)
class Progress:
    """The progress of a load."""

    entities: int
    """How many entities of the input are stored, including those of earlier calls."""
    mark: LoadPosition = field(repr=False)
    already_stored: int = 0
    """How many entities this call found stored, because an earlier call lost the response to its write."""
    transactions: int = 0
    """How many entity group transactions this call has committed."""
    partitions: int = 0
    """How many partitions this call has started, counted per window."""
    bytes: int = 0
    """The stored size of the rows that this call wrote, including derived rows."""

    @property
    def token(self) -> str:
        """The token that resumes the load, also in another process."""
        return self.mark.text()


@dataclass(frozen=True)
class LoadResult(Progress):
    """The result of a completed load. Its token loads entities that are later appended to the same input."""

    atomicity: Literal["chunk"] = "chunk"
    """The unit that is written atomically: a chunk, which is one entity group transaction."""


class Tally:
    """The counts of one load; its partitions report from several threads or tasks.

    :param mark: the position to start from
    :param tell: called after every change, one call at a time
    """

    def __init__(self, mark: LoadPosition, tell: Callable[[Progress], None] | None) -> None:
        self.progress = Progress(mark.done, mark)
        self.failure: Exception | None = None
        """The first error; the other partitions stop after their current chunk."""
        self._report = tell
        self._lock = threading.Lock()

    @property
    def mark(self) -> LoadPosition:
        """The current position."""
        return self.progress.mark

    def read(self, size: int, digest: str) -> None:
        """Note that a window is about to be written."""
        self._change(replace(self.progress, mark=self.mark.with_window(size, digest)))

    def begin_partition(self) -> None:
        """Note that a partition of the window is about to be written."""
        with self._lock:
            self.progress = replace(self.progress, partitions=self.progress.partitions + 1)

    def committed(self, positions: Collection[int], stored_bytes: int) -> None:
        """Note that a chunk is in the table."""
        with self._lock:
            now = self.progress
            mark = now.mark.with_done(positions)
            self._change(
                replace(
                    now,
                    entities=mark.done,
                    transactions=now.transactions + 1,
                    bytes=now.bytes + stored_bytes,
                    mark=mark,
                )
            )

    def found_stored(self, position: int) -> None:
        """Note that an entity was found in the table."""
        with self._lock:
            now = self.progress
            mark = now.mark.with_done([position])
            self._change(replace(now, entities=mark.done, already_stored=now.already_stored + 1, mark=mark))

    def fail(self, error: Exception) -> None:
        """Stop the load; the first error is the one that is raised."""
        with self._lock:
            self.failure = self.failure or error

    def _change(self, progress: Progress) -> None:
        self.progress = progress
        if self._report is not None:
            check_has_run("progress", self._report(progress))
