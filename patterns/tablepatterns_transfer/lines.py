"""Rows as lines of JSON, in the form in which the Table service returns them: exact for all eight types of properties.

A line states the type of a value where JSON does not show it, beside the value: `"At@odata.type": "Edm.DateTime"`.
"""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from importlib import import_module
from json.encoder import encode_basestring_ascii
from math import isfinite
from pathlib import Path
from typing import Any, Final

from tablepatterns.edm import KINDS, type_of
from tablepatterns.entity import Entity
from tablepatterns.extras import importing
from tablepatterns.sdk.reads import entity_of

from .errors import BadExport

_SHOWN_BY_JSON: Final = frozenset({str, bool, int, float})
_LEVEL: Final = 5
_ZSTD_LEVEL: Final = 6
_ZSTD: Final = b"\x28\xb5\x2f\xfd"
"""What a file compressed by zstd begins with."""


def line_of(row: Entity) -> str:
    """Return a row as one line of JSON.

    >>> print(line_of(Entity({"PartitionKey": "Sales", "RowKey": "1", "Data": b"a"})))
    {"PartitionKey": "Sales", "RowKey": "1", "Data": "YQ==", "Data@odata.type": "Edm.Binary"}
    """
    parts: list[str] = []
    for name, value in row.items():
        kind = type_of(value)
        quoted = encode_basestring_ascii(name)
        parts.append(f"{quoted}: {KINDS[kind].to_json(value)}")
        if kind not in _SHOWN_BY_JSON or (kind is float and not isfinite(value)):
            parts.append(f'{quoted[:-1]}@odata.type": "{KINDS[kind].edm}"')
    timestamp = row.timestamp
    if timestamp is not None:
        parts.append(f'"Timestamp": {KINDS[type_of(timestamp)].to_json(timestamp)}')
    return "{" + ", ".join(parts) + "}"


def row_of(line: str | bytes, place: str) -> Entity:
    """Return the row of a line; `BadExport` if it is not one."""
    try:
        row = entity_of(json.loads(line))
    except ValueError:
        row = None
    if row is None or row.partition_key is None or row.row_key is None:
        raise BadExport(place, "a line is not a row of a table", "export the table again")
    return row


@cache
def zstd() -> Any:
    """Return the module that compresses by zstd; Python has it since 3.14."""
    if sys.version_info >= (3, 14):
        return import_module("compression.zstd")
    with importing("compression by zstd needs", extra="zstd"):
        return import_module("backports.zstd")


class LineWriter:
    """Writes rows to a file of lines, compressed by gzip or zstd."""

    def __init__(self, path: Path, compression: str) -> None:
        # The same rows make the same bytes
        self._raw = path.open("wb")
        if compression == "zstd":
            self._file: Any = zstd().ZstdFile(self._raw, "wb", level=_ZSTD_LEVEL)
        else:
            self._file = gzip.GzipFile("", "wb", _LEVEL, self._raw, mtime=0)

    def write(self, rows: Sequence[Entity]) -> None:
        self._file.write("".join(f"{line_of(row)}\n" for row in rows).encode("ascii"))

    def close(self) -> None:
        try:
            self._file.close()
        finally:
            self._raw.close()


def read_lines(path: Path) -> Iterator[Entity]:
    """Yield the rows of a file, whichever compression it has."""
    with path.open("rb") as raw:
        is_zstd = raw.read(len(_ZSTD)) == _ZSTD
    with zstd().open(path) if is_zstd else gzip.open(path) as file:
        for line in file:
            yield row_of(line, path.name)
