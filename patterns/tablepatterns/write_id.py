"""The ids of the last writes of a row, by which a writer learns what became of its own.

A write whose response was lost meets its own work as a conflict when it is sent again. So every write puts an id of its
own into its rows, followed by the ids of the writes that it builds on, as far as it knows them. A later read shows one
of three things: the writer's own id, so its write was made, even if others have built on it; the id that it read and
not its own, so its write was not made; or neither, and the outcome is unknown.
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
"""How many ids a row keeps: a writer recognizes its own write if fewer others followed it."""

_BYTES: Final = 16
_VERSION_BYTE: Final = 6
_INSERTED: Final = 0x80
"""The UUID version of an insert's id, in the high half of a byte; the ids of other writes have version 4."""


def new_write_id() -> WriteId:
    """Return a random id."""
    return uuid4().bytes


def inserted(write_id: WriteId) -> WriteId:
    """Return the id that an insert leaves in its row, which says that no write came before it."""
    byte = write_id[_VERSION_BYTE] & 0x0F | _INSERTED
    return b"%b%c%b" % (write_id[:_VERSION_BYTE], byte, write_id[_VERSION_BYTE + 1 :])


def is_complete(ids: WriteIds) -> bool:
    """Return whether these are the ids of all writes since the row was inserted.

    >>> first = new_write_id()
    >>> is_complete((first, inserted(first))), is_complete((first,)), is_complete(())
    (True, False, False)
    """
    return bool(ids) and ids[-1][_VERSION_BYTE] & 0xF0 == _INSERTED


def as_bytes(ids: Iterable[WriteId]) -> bytes:
    """Return the value of the property in which a row keeps the ids."""
    return b"".join(ids)


def from_bytes(value: Any) -> WriteIds:
    """Return the ids that a row keeps; none for a row of another program.

    >>> ids = (new_write_id(), new_write_id())
    >>> from_bytes(as_bytes(ids)) == ids
    True
    """
    if not isinstance(value, bytes) or len(value) % _BYTES:
        return ()
    if len(value) == _BYTES:
        return (value,)
    return tuple([value[start : start + _BYTES] for start in range(0, len(value), _BYTES)])


def after(write_id: WriteId, built_on: WriteIds) -> WriteIds:
    """Return the ids that a write leaves in its row, if it builds on writes with these ids."""
    return (write_id, *built_on)[:MAX_WRITE_IDS]
