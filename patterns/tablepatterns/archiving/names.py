"""Names: the keys of an entity as the name of a blob or a file, from which nothing else could have been meant."""

from __future__ import annotations

from urllib.parse import quote

_PLAIN = " !$&'()+,;=@[]{}~^"


def name_of(keys: tuple[str, str]) -> str:
    """Return the name of an entity: its PartitionKey as the folder, its RowKey as the file.

    >>> name_of(("Sales", "empid_000223")), name_of(("", "jonesj@contoso.com"))
    ('Sales/empid_000223.json', '%_/jonesj@contoso.com.json')
    """
    partition, row = map(_segment, keys)
    return f"{partition}/{row}.json"


def _segment(key: str) -> str:
    """Return a key as a part of a path, which is neither empty nor relative, and ends as it is written."""
    text = quote(key, safe=_PLAIN) or "%_"
    return text[:-1] + f"%{ord(text[-1]):02X}" if text[-1] in ". " else text
