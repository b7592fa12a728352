"""Lineage: the ids of the last writes of a row, which tell a writer what became of its own.

A write whose answer was lost meets its own work as a conflict when it is sent again. So every write of a recipe stamps
its rows with an id of its own, and keeps behind it the ids of the writes that it builds on, as far as it knows them.
Whoever looks later sees one of three things: its own id, and its write was made, even if others have built on it; the
id that it read and not its own, and its write was not made; or neither, and nothing can tell.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, TypeAlias
from uuid import UUID

Lineage: TypeAlias = tuple[UUID, ...]
"""The ids of the last writes of a row, the newest first."""

KEPT: Final = 4
"""How many ids a row keeps, at 16 bytes each: how many writers may come between a write and its writer's look."""


_VERSION_BITS: Final = 76
_INSERTED: Final = 8
"""The UUID version of an insert's id; the ids of other writes have version 4."""


def inserted(stamp: UUID) -> UUID:
    """Return the id that an insert leaves in its row, which says that no write came before it."""
    return UUID(int=stamp.int & ~(0xF << _VERSION_BITS) | _INSERTED << _VERSION_BITS)


def is_complete(ids: Lineage) -> bool:
    """Return whether these are the ids of all writes since the row was inserted.

    >>> from uuid import uuid4
    >>> is_complete((uuid4(), inserted(uuid4()))), is_complete((uuid4(),)), is_complete(())
    (True, False, False)
    """
    return bool(ids) and ids[-1].version == _INSERTED


def as_bytes(ids: Iterable[UUID]) -> bytes:
    """Return the value of the property that a row keeps its lineage in."""
    return b"".join([each.bytes for each in ids])


def from_bytes(value: Any) -> Lineage:
    """Return the lineage that a row keeps; a row of another program has none.

    >>> from uuid import uuid4
    >>> ids = (uuid4(), uuid4())
    >>> from_bytes(as_bytes(ids)) == ids
    True
    """
    if not isinstance(value, bytes) or len(value) % 16:
        return ()
    return tuple([UUID(bytes=value[start : start + 16]) for start in range(0, len(value), 16)])


def after(stamp: UUID, built_on: Lineage) -> Lineage:
    """Return the lineage of the row that a write stamps, which builds on writes with these ids."""
    return (stamp, *built_on)[:KEPT]
