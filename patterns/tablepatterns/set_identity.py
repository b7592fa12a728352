"""Identify the set that an entity was read from, the only one that it may be written to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple
from uuid import uuid4
from weakref import WeakKeyDictionary

from .entity import reading_of
from .errors import BadInput
from .key import Key

_ENGINES: WeakKeyDictionary[object, str] = WeakKeyDictionary()


def account_identity(engine: object | None, url: str) -> str:
    """Return what all connections to one account have in common: its in-memory engine, or its address."""
    # In-memory accounts have the same addresses
    return url.rstrip("/").lower() if engine is None else _ENGINES.setdefault(engine, uuid4().hex)


class SetIdentity(NamedTuple):
    """The account, the table and the key of a set; objects for the same set have the same."""

    account: str
    table: str
    key: Key

    def is_of(self, entity: Mapping[str, Any]) -> bool:
        """Whether an entity was read from this set, or a mapping was not read at all."""
        identity = _set_of(entity)
        return identity is None or identity == self

    @property
    def place(self) -> str:
        """The name of the set in errors."""
        return f"the set {self.key.partition_template}/{self.key.row_template} of the table {self.table}"

    def check(self, entity: Mapping[str, Any]) -> None:
        """Reject an entity that was read from another set; a mapping that was not read is accepted."""
        identity = _set_of(entity)
        if identity is None or identity == self:
            return
        is_same_place = identity[1:] == self[1:]
        place = "the same table of another account" if is_same_place else identity.place
        hint = f"pass an entity of {self.place}"
        raise BadInput("entity", getattr(entity, "key", None), f"it was read from {place}", hint)


def _set_of(entity: Mapping[str, Any]) -> SetIdentity | None:
    identity: SetIdentity | None = getattr(reading_of(entity), "of", None)
    return identity
