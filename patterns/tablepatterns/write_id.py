"""The ids of the last writes of a row, by which a writer recognizes its own write.

Every write stores its id in its rows, followed by the known ids of the writes before it, so a row shows which writes
were made: docs/decisions/0003-every-write-carries-an-id.md.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, TypeAlias
from uuid import uuid4

WriteId: TypeAlias = bytes
"""The 16 bytes of a UUID."""
WriteIds: TypeAlias = tuple[WriteId, ...]
"""The ids of the last writes of a row, the newest first."""

MAX_WRITE_IDS: Final = 4
"""How many ids a row stores: a writer recognizes its own write if fewer others followed it."""

_BYTES: Final = 16
_VERSION_BYTE: Final = 6
_INSERTED: Final = 0x80
"""The UUID version of an insert's id, in the high half of a byte; the ids of other writes have version 4."""


def new_write_id() -> WriteId:
    return uuid4().bytes


def inserted(write_id: WriteId) -> WriteId:
    """Return the id of an insert, which shows that no write came before it."""
    byte = write_id[_VERSION_BYTE] & 0x0F | _INSERTED
    return b"%b%c%b" % (write_id[:_VERSION_BYTE], byte, write_id[_VERSION_BYTE + 1 :])


def is_complete(ids: WriteIds) -> bool:
    """Return whether these are the ids of all writes since the row was inserted."""
    return bool(ids) and ids[-1][_VERSION_BYTE] & 0xF0 == _INSERTED


def as_bytes(ids: Iterable[WriteId]) -> bytes:
    return b"".join(ids)


def from_bytes(value: Any) -> WriteIds:
    """Return the ids in a row; none for a row of another program."""
    if not isinstance(value, bytes) or len(value) % _BYTES:
        return ()
    if len(value) == _BYTES:
        return (value,)
    return tuple([value[start : start + _BYTES] for start in range(0, len(value), _BYTES)])


def after(write_id: WriteId, built_on: WriteIds) -> WriteIds:
    """Return the ids that a write stores in its row, given those of the writes before it."""
    return (write_id, *built_on)[:MAX_WRITE_IDS]
