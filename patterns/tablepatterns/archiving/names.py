"""Names: the keys of an entity as the name of a blob or a file, from which nothing else could have been meant."""

from __future__ import annotations

from itertools import takewhile
from urllib.parse import quote, unquote

from ..key import KeyRange

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
    """Return a key as a part of a path, which is neither empty nor relative, and ends as it is written."""
    text = quote(key, safe=_PLAIN) or _EMPTY
    return text[:-1] + f"%{ord(text[-1]):02X}" if text[-1] in ". " else text


def folder_of(partition: str) -> str:
    """Return the name of the folder that holds the entities of a partition."""
    return _segment(partition)


def prefix_of(rows: KeyRange) -> str:
    """Return what the names of all entities of a range begin with.

    >>> prefix_of(KeyRange.beginning_with("Sales", "empid_"))
    'Sales/empid'
    """
    pairs = zip(rows.lower or "", rows.upper or "", strict=False)
    known = "".join(first for first, _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    # The last character of a whole key may be escaped, so it is not certain how the prefix ends
    return f"{_segment(rows.partition_key)}/{quote(known.rstrip('. '), safe=_PLAIN)}"


def keys_of(name: str) -> tuple[str, str] | None:
    """Return the keys of the entity with this name; None for a name that `name_of` does not make.

    >>> keys_of("%_/jonesj@contoso.com.json"), keys_of("notes.txt")
    (('', 'jonesj@contoso.com'), None)
    """
    partition, _, row = name.removesuffix(".json").partition("/")
    keys = _key(partition), _key(row)
    return keys if name_of(keys) == name else None


def _key(segment: str) -> str:
    return "" if segment == _EMPTY else unquote(segment)
