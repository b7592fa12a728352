"""Store values that are too large for an entity in blobs, and their addresses in the entity."""

from __future__ import annotations

import re
from collections.abc import AsyncIterable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import IO, Any, ClassVar, Final, TypeAlias, cast
from uuid import uuid4

from azure.data.tables import EntityProperty

from ...argument_types import checked
from ...edm import entity_size, value_size
from ...entity import typed
from ...entity_set.mapping import Action, Encoded, Fields, Place, PropertyMapping
from ...errors import BadDesign, BadProperty, LargeValueMissing, LimitExceeded
from ...limits import BLOB_NAME_MAX_LENGTH, MAX_STRING_BYTES, SYSTEM_PROPERTIES
from ...models.annotations import StoredBy, Streamed, annotated
from ...sdk.container import Container
from ...sdk.queue import check_queue_name

_ROOM: Final = 1024
"""Room for the write id, and a margin, since the service's exact formula is not published."""
_ADDRESS: Final = 100
"""The characters of an address, besides the container and what identifies the value."""
_LENGTH: Final = 4
"""The part of a value's size that is not its bytes."""

ORPHAN: Final = ".orphan"
"""The suffix of an orphan mark's name, after the name of the blob."""
_SEGMENT: Final = r"[A-Za-z0-9_~-]+"
_NAME: Final = re.compile(rf"([a-z0-9]{{3,63}})/({_SEGMENT})/({_SEGMENT})/({_SEGMENT})/([0-9a-f]{{32}})\.(bin|txt)")
_LINK: Final = re.compile(rf"https?://[^/?#\s]+/(?:[^/?#\s]+/)?([a-z0-9$-]{{3,63}})/({_NAME.pattern})")
_ESCAPED: Final = re.compile(r"[^A-Za-z0-9_-]")
_SPELLED: Final = re.compile(r"(?:~[0-9A-F]{2})+")

Stream: TypeAlias = IO[bytes] | Iterable[bytes] | AsyncIterable[bytes]


@dataclass(frozen=True)
class Large(StoredBy):
    """Store a field of a model in a blob if it is too large for a property: `photo: Annotated[bytes, Large()]`.

    The set stores it with `LargeProperties`, in a container with the name of the table in lower case. To choose the
    container, give the set `LargeProperties(container=...)`, without names, as one of its mappings.

    Guide: large entities pattern.
    """

    @checked
    def mapping(self, table: str, names: Sequence[str]) -> PropertyMapping:
        """Return the mapping for these fields."""
        return LargeProperties(names, container=table.lower())


class LargeProperties(PropertyMapping):
    """Store large texts and bytes in blobs, and their addresses in the entity.

    Use it for values such as photos and reports: a property holds at most 64 KiB, and an entity 1 MiB.

    >>> from tablepatterns import EntitySet, Key, connect
    >>> storage, photos = connect(), LargeProperties(["Photo"], container="employees")
    >>> employees = EntitySet(storage, "Employees", Key("{Department}", "empid_{EmployeeId:06d}"), mappings=[photos])
    >>> jones = employees.insert({"Department": "Sales", "EmployeeId": 223, "Photo": bytes(5_000_000)})
    >>> len(employees.get(Department="Sales", EmployeeId=223)["Photo"])
    5000000
    >>> storage.tables.get_table_client("Employees").get_entity("Sales", "empid_000223")["Photo"][:80]
    'https://devstoreaccount1.blob.core.windows.net/employees/employees/Sales/empid_0'

    Consistency: every address has its blob, and a reader of an old row finds the old value. Unused blobs remain until
    `LargePropertyStore.collect_orphans` deletes them. Other programs must not write blobs under the table's name in
    this container. More: docs/patterns/large_properties.md.

    Cost: with 1 large value `insert` 1 table + 1 blob write transactions, equivalent to 140 table operations; `get` 1
    table + 1 blob read transactions, equivalent to 12 table operations. Beyond 64 MiB written or 32 MiB read, another
    for each 4 MiB. A merge of other fields, and a read that selects others, takes none of blobs, nor does a write of an
    entity that was read whose value stays, encrypted or not. An `Upload` takes 1 table + 2 blob write + 1 blob list
    transactions, equivalent to 418 table operations: one to make sure of the container, one for each block of 4 MiB and
    one at its end.

    :param names: the properties that may be large; None for the fields of the set's model that are `Large`
    :param container: the name of the container; the first large value creates it
    :param above: the largest size in bytes (UTF-16 for text) of a value that stays in the entity, up to 65,536. Choose
        less if an entity has many such properties, or an index copies them, since a merge does not see the others
    :raises BadDesign: a name cannot be large, or `above` is out of range
    :raises BadInput: the service would reject the container's name

    Guide: large entities pattern.
    """

    name: ClassVar[str] = "large properties"
    order: ClassVar[int] = 2
    declared_by: ClassVar[type[StoredBy] | None] = Large

    @checked
    def __init__(self, names: Iterable[str] | None = None, *, container: str, above: int = MAX_STRING_BYTES) -> None:
        self._names = frozenset(names or ())
        self.needs_model = names is None
        self.container = check_queue_name(container)
        for name in sorted(self._names.intersection(SYSTEM_PROPERTIES)):
            raise BadDesign("names", name, "system properties cannot be in blobs", "omit it")
        if not 0 <= above <= MAX_STRING_BYTES:
            rule = f"a property has at most {MAX_STRING_BYTES} bytes"
            raise BadDesign("above", above, rule, "pass a number from 0 to that")
        self.above = above

    def of_model(self, model: type[Any]) -> LargeProperties:
        if not self.needs_model:
            return self
        return LargeProperties(annotated(model, Large), container=self.container, above=self.above)

    @property
    def fields(self) -> Collection[str]:
        return self._names

    def names_to_keep(self, unchanged: Collection[str], fields: Fields, place: Place) -> Collection[str]:
        """Return the fields whose value is in the entity's own blob: blobs never change, so it can stay."""
        blobs = {name: linked(place.stored.get(name), self.container) for name in self._names.intersection(unchanged)}
        return [name for name, blob in blobs.items() if blob and blob.is_of(place.table, place.key, name)]

    async def encode(self, fields: Fields, place: Place) -> Encoded:
        stored = {name: self._plain(name, value) for name, value in fields.items()}
        container = place.account.container(self.container)
        before: list[Action] = []
        stored |= {name: place.stored[name] for name in place.kept_names}
        for name in self._too_large(stored, place):
            if name in place.kept_names:
                continue
            value = stored[name]
            blob = BlobName(place.table, place.key, name, uuid4().hex, isinstance(value, str)).check()
            before.append(_sending(container, str(blob), name, value))
            stored[name] = container.blob_url(str(blob))
        return Encoded(stored, tuple(before))

    async def decode(self, fields: Fields, place: Place) -> dict[str, Any]:
        """Return the fields with the large values in place of their addresses.

        :raises LargeValueMissing: there is no such blob, or it is that of another entity or property
        """
        names = sorted(self._names.intersection(fields))
        links = {name: self.link(fields[name], place.table, place.key, name) for name in names}
        blobs = {name: blob for name, blob in links.items() if blob is not None}
        if not blobs:
            return dict(fields)
        container = place.account.container(self.container)
        downloads = (_downloaded(container, blob, place) for blob in blobs.values())
        values = await place.account.gather(*downloads, independent=True)
        return {**fields, **dict(zip(blobs, values, strict=True))}

    def link(self, stored: object, table: str, key: tuple[str, str], name: str) -> BlobName | None:
        """Return the blob that a stored property has the address of, or None if it holds its value itself.

        The check of the owner prevents a client that may write one row from reading values of others through it.

        :raises LargeValueMissing: the address is in another container, or belongs to another entity or property
        """
        blob = linked(stored, self.container)
        if blob is not None and not blob.is_of(table, key, name):
            text = f"{name} of the entity {key} in {table} has the address of {blob}, not one of its own"
            raise LargeValueMissing(f"{text}; find out what wrote it, and write the value again")
        return blob

    def _stored_size(self, size: int, *, is_text: bool, address: int) -> tuple[int, int]:
        if size <= self.above:
            return size, 0
        return 2 * (_ADDRESS + len(self.container) + address), size

    def _too_large(self, fields: Fields, place: Place) -> list[str]:
        """Return the properties to store in blobs: large ones, and as many others as necessary, largest first."""
        large = [name for name in sorted(self._names.intersection(fields)) if self._is_large(name, fields[name])]
        inline = {name: value for name, value in fields.items() if name not in large}
        total = _ROOM + entity_size(*place.key, inline) + sum(_link_size(name, place) for name in large)
        movable = [name for name in inline if name in self._names and isinstance(inline[name], (str, bytes))]
        for name in sorted(movable, key=lambda name: value_size(inline[name]), reverse=True):
            if total <= place.room:
                break
            total -= value_size(inline[name]) - _link_size(name, place)
            large.append(name)
        return large

    def _plain(self, name: str, value: Any) -> Any:
        """Return the value of a property that was given as an `EntityProperty`."""
        return typed(name, value) if name in self._names and isinstance(value, EntityProperty) else value

    def _is_large(self, name: str, value: object) -> bool:
        if isinstance(value, Upload):
            value.check_unsent(name)
            return True
        if _is_read_once(value):
            raise BadProperty(name, type(value).__name__, "it is a file or an iterator", "pass Upload(value)")
        # A text that looks like an address would be read as one, so it goes to a blob
        return isinstance(value, (str, bytes)) and (value_size(value) - _LENGTH > self.above or is_link(value))

    def __repr__(self) -> str:
        return f"<LargeProperties {', '.join(sorted(self._names))} in {self.container}>"


def _link_size(name: str, place: Place) -> int:
    """Return an upper bound of the property's size with an address."""
    return 1024 + 2 * len(str(BlobName(place.table, place.key, name, "0" * 32, is_text=False)))


def _sending(container: Container, blob: str, name: str, value: Any) -> Action:
    """Return the upload of the value of a property, which is carried out once even if its transaction is retried."""
    is_done = False

    async def send() -> None:
        nonlocal is_done
        if is_done:
            return
        content, content_type = value, None
        if isinstance(value, Upload):
            content, content_type = value.content(name), value.content_type
        elif isinstance(value, str):
            content, content_type = value.encode("utf-8", "surrogatepass"), "text/plain; charset=utf-8"
        await container.upload(blob, content, content_type=content_type)
        is_done = True

    return send


async def _downloaded(container: Container, blob: BlobName, place: Place) -> str | bytes:
    content = await container.download(str(blob))
    if content is None:
        text = f"{blob.field} of the entity {place.key} should be in the blob {blob}, which does not exist"
        raise LargeValueMissing(f"{text}; read the entity again, or check it with LargePropertyStore.verify")
    return content.decode("utf-8", "surrogatepass") if blob.is_text else content


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
        """Reject an iterator that was sent already."""
        if self._was_sent and self._start is None and _is_read_once(self._content):
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
        content: Any = self._content
        if not hasattr(content, "read") and isinstance(content, Iterable):
            content = iter(cast("Iterable[bytes]", content))
        return cast("Stream", content)

    def __repr__(self) -> str:
        return f"<Upload of a {type(self._content).__name__}>"


def _position(content: Any) -> int | None:
    return int(content.tell()) if hasattr(content, "seekable") and content.seekable() else None


def _is_read_once(content: Any) -> bool:
    return hasattr(content, "read") or hasattr(content, "__next__") or hasattr(content, "__anext__")


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
