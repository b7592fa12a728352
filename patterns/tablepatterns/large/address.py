"""Address: the name of a blob that holds one value of one property, and the link to it that the entity keeps.

    employees/Sales/empid_000223/Photo/0f3c9a4be1d24c7fb0c5a7e2d9186b3a.bin

Table, PartitionKey, RowKey and property say whose value it is; the id is new for each write, so that no blob is ever
overwritten; the ending tells bytes from text. What is no ASCII letter, digit, `_` or `-` is spelled `~2E`, byte by byte
of its UTF-8, which needs no further escape in a link.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from ..errors import LargeValueMissing, LimitExceeded
from ..limits import BLOB_NAME_MAX_LENGTH

ORPHAN: Final = ".orphan"
"""What the name of a mark has behind that of the blob."""
_SEGMENT: Final = r"[A-Za-z0-9_~-]+"
_NAME: Final = re.compile(rf"([a-z0-9]{{3,63}})/({_SEGMENT})/({_SEGMENT})/({_SEGMENT})/([0-9a-f]{{32}})\.(bin|txt)")
_LINK: Final = re.compile(rf"https?://[^/?#\s]+/(?:[^/?#\s]+/)?([a-z0-9$-]{{3,63}})/({_NAME.pattern})")
_ESCAPED: Final = re.compile(r"[^A-Za-z0-9_-]")
_SPELLED: Final = re.compile(r"(?:~[0-9A-F]{2})+")


@dataclass(frozen=True)
class BlobName:
    """Whose value a blob holds.

    >>> name = BlobName("Employees", ("Sales", "jo.jones"), "Photo", "0" * 32, is_text=False)
    >>> str(name)
    'employees/Sales/jo~2Ejones/Photo/00000000000000000000000000000000.bin'
    >>> BlobName.parse(str(name)).key
    ('Sales', 'jo.jones')

    :param table: the name of the table; its case does not count
    :param key: the PartitionKey and the RowKey of the primary row
    :param field: the name of the property
    :param id: 32 hexadecimal digits
    :param is_text: whether the value is a text rather than bytes
    """

    table: str
    key: tuple[str, str]
    field: str
    id: str
    is_text: bool

    def __str__(self) -> str:
        each = (self.table.lower(), *map(escaped, (*self.key, self.field)), self.id)
        return "/".join(each) + (".txt" if self.is_text else ".bin")

    @classmethod
    def parse(cls, text: str) -> BlobName | None:
        """Return what a blob's name says, or None if it is not the name of a large value."""
        found = _NAME.fullmatch(text)
        if not found:
            return None
        table, partition_key, row_key, field, number, ending = found.groups()
        try:
            key = (_unescaped(partition_key), _unescaped(row_key))
            return cls(table, key, _unescaped(field), number, ending == "txt")
        except ValueError:
            return None

    def is_of(self, table: str, key: tuple[str, str], field: str) -> bool:
        """Whether this is a value of a property of an entity. A link to any other blob was not written by this library.

        >>> name = BlobName("Employees", ("Sales", "1"), "Photo", "0" * 32, is_text=False)
        >>> name.is_of("employees", ("Sales", "1"), "Photo"), name.is_of("Employees", ("Sales", "2"), "Photo")
        (True, False)
        """
        return (self.table.lower(), self.key, self.field) == (table.lower(), key, field)

    def check(self) -> BlobName:
        """Return this name, if it is not too long.

        :raises LimitExceeded: it is, with the mark that it may get
        """
        length = len(str(self)) + len(ORPHAN)
        if length > BLOB_NAME_MAX_LENGTH:
            rule = f"the name of a blob has at most {BLOB_NAME_MAX_LENGTH} characters, and this one is made of the keys"
            raise LimitExceeded(f"characters of the name for {self.field}", length, rule, "use shorter keys")
        return self


def escaped(text: str) -> str:
    """Return a text as a segment of a blob's name; it can be read back, and is never empty.

    >>> escaped("jo@contoso.com"), escaped("")
    ('jo~40contoso~2Ecom', '~')
    """
    return _ESCAPED.sub(_spelled, text) or "~"


def prefix_of(table: str) -> str:
    """Return what the names of all large values of a table begin with."""
    return f"{table.lower()}/"


def is_link(value: object) -> bool:
    """Whether a property holds what reads as the link to a large value, in whatever account or container."""
    return isinstance(value, str) and _LINK.fullmatch(value) is not None


def linked(value: object, container: str) -> BlobName | None:
    """Return the name of the blob that a property links to, whosever it is; None if it holds no link.

    The host does not count: a table and its blobs may have moved to another account.

    :param container: where large values are kept
    :raises LargeValueMissing: it links to another container
    """
    found = _LINK.fullmatch(value) if isinstance(value, str) else None
    name = BlobName.parse(found[2]) if found else None
    if found and name and found[1] != container:
        text = f"{name.field} of the entity {name.key} is in the container {found[1]!r}, and values are kept in"
        raise LargeValueMissing(f"{text} {container!r}; give that container, or copy the blobs")
    return name


def _spelled(found: re.Match[str]) -> str:
    return "".join(f"~{byte:02X}" for byte in found.group().encode("utf-8", "surrogatepass"))


def _unescaped(text: str) -> str:
    if text == "~":
        return ""
    plain = _SPELLED.sub(lambda found: _read(found.group()), text)
    if escaped(plain) != text:
        raise ValueError(f"{text!r} is no segment of a name")
    return plain


def _read(spelled: str) -> str:
    return bytes.fromhex(spelled.replace("~", "")).decode("utf-8", "surrogatepass")
