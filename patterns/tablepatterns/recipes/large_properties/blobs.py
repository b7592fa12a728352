"""Names, links and listings of the blobs that hold large property values."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

from ...errors import LargeValueMissing, LimitExceeded
from ...limits import BLOB_NAME_MAX_LENGTH
from ...sdk.container import BlobFacts

ORPHAN: Final = ".orphan"
"""The suffix of an orphan mark's name, after the name of the blob."""
_SEGMENT: Final = r"[A-Za-z0-9_~-]+"
_NAME: Final = re.compile(rf"([a-z0-9]{{3,63}})/({_SEGMENT})/({_SEGMENT})/({_SEGMENT})/([0-9a-f]{{32}})\.(bin|txt)")
_LINK: Final = re.compile(rf"https?://[^/?#\s]+/(?:[^/?#\s]+/)?([a-z0-9$-]{{3,63}})/({_NAME.pattern})")
_ESCAPED: Final = re.compile(r"[^A-Za-z0-9_-]")
_SPELLED: Final = re.compile(r"(?:~[0-9A-F]{2})+")


@dataclass(frozen=True)
class BlobName:
    """The name of a blob: the table, whose case does not count, the entity, the property, and 32 hexadecimal digits."""

    table: str
    key: tuple[str, str]
    field: str
    id: str
    is_text: bool

    def __str__(self) -> str:
        parts = (self.table.lower(), *map(escaped, (*self.key, self.field)), self.id)
        return "/".join(parts) + (".txt" if self.is_text else ".bin")

    @classmethod
    def parse(cls, text: str) -> BlobName | None:
        """Parse a blob's name, or return None if it is not the name of a large value."""
        match = _NAME.fullmatch(text)
        if not match:
            return None
        table, partition_key, row_key, field, number, ending = match.groups()
        try:
            key = (_unescaped(partition_key), _unescaped(row_key))
            return cls(table, key, _unescaped(field), number, ending == "txt")
        except ValueError:
            return None

    def is_of(self, table: str, key: tuple[str, str], field: str) -> bool:
        return (self.table.lower(), self.key, self.field) == (table.lower(), key, field)

    def check(self) -> BlobName:
        """Return this name, or reject it if it is too long, with the suffix of an orphan mark."""
        length = len(str(self)) + len(ORPHAN)
        if length > BLOB_NAME_MAX_LENGTH:
            rule = f"a blob's name, which includes the entity's keys, has at most {BLOB_NAME_MAX_LENGTH} characters"
            raise LimitExceeded(f"characters of the name for {self.field}", length, rule, "use shorter keys")
        return self


def escaped(text: str) -> str:
    """Return a text as a segment of a blob's name, which is reversible and never empty."""
    return _ESCAPED.sub(_spelled, text) or "~"


def prefix_of(table: str) -> str:
    return f"{table.lower()}/"


def is_link(value: object) -> bool:
    """Return whether a value looks like the address of a large value, in any account or container."""
    return isinstance(value, str) and _LINK.fullmatch(value) is not None


def linked(value: object, container: str) -> BlobName | None:
    """Return the name of the blob that a property has the address of, or None if it has no address.

    The host is ignored: a table and its blobs may have been copied to another account.
    """
    match = _LINK.fullmatch(value) if isinstance(value, str) else None
    name = BlobName.parse(match[2]) if match else None
    if match and name and match[1] != container:
        text = f"{name.field} of the entity {name.key} is in the container {match[1]!r}, not in {container!r}"
        raise LargeValueMissing(f"{text}; use that container, or copy the blobs")
    return name


def _spelled(match: re.Match[str]) -> str:
    return "".join(f"~{byte:02X}" for byte in match.group().encode("utf-8", "surrogatepass"))


def _unescaped(text: str) -> str:
    if text == "~":
        return ""
    plain = _SPELLED.sub(lambda match: _read(match.group()), text)
    if escaped(plain) != text:
        raise ValueError(f"{text!r} is not a segment of a name")
    return plain


def _read(spelled: str) -> str:
    return bytes.fromhex(spelled.replace("~", "")).decode("utf-8", "surrogatepass")


BATCH: Final = 1000
"""The minimum number of blobs in a batch, unless the partition has fewer."""


@dataclass(frozen=True)
class ListedBlob:
    """A blob with the time of its last change, and the time when it was marked as an orphan, if it was."""

    name: BlobName
    since: datetime
    marked: datetime | None = None


@dataclass
class Batch:
    """Blobs of entities of one partition."""

    partition_key: str
    blobs: list[ListedBlob] = field(default_factory=list[ListedBlob])
    stray_marks: list[str] = field(default_factory=list[str])
    """Marks without a blob, left by a collection that crashed."""

    def add(self, name: BlobName, facts: BlobFacts) -> None:
        """Add a blob, or the mark of the previous blob."""
        if not facts.name.endswith(ORPHAN):
            self.blobs.append(ListedBlob(name, facts.modified_at))
        elif self.blobs and self.blobs[-1].name == name:
            self.blobs[-1] = replace(self.blobs[-1], marked=facts.modified_at)
        else:
            self.stray_marks.append(facts.name)


async def batches(blobs: AsyncIterator[BlobFacts], is_ours: Callable[[BlobName], bool]) -> AsyncIterator[Batch]:
    """Yield blobs, sorted by name, in batches of one partition; those of an entity are in one. Others are skipped."""
    batch: Batch | None = None
    key: tuple[str, str] | None = None
    async for facts in blobs:
        name = BlobName.parse(facts.name.removesuffix(ORPHAN))
        if name is None or not is_ours(name):
            continue
        if batch is None or name.key[0] != batch.partition_key or (len(batch.blobs) >= BATCH and name.key != key):
            if batch is not None:
                yield batch
            batch = Batch(name.key[0])
        key = name.key
        batch.add(name, facts)
    if batch is not None:
        yield batch
