"""Claim: what an intent says of one entity, and how it travels in a message."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple
from uuid import UUID

from ..deriving.derived import Keys
from ..errors import NOT_SHOWN, BadMessage
from ..limits import MAX_MESSAGE_BYTES
from ..working.envelope import Envelope

_BODY_BYTES: Final = MAX_MESSAGE_BYTES * 3 // 4 - 1024
"""What fits into a message in Base64 too, with its envelope."""


class Trace(NamedTuple):
    """A row where an entity has, had, or will have a part: the name of the derived data, and the row's keys."""

    derived: str
    keys: Keys


@dataclass(frozen=True)
class Claim:
    """One entity, by the keys of its primary row, and the rows that may be out of line with it."""

    row: Keys
    traces: tuple[Trace, ...]

    def plain(self) -> dict[str, Any]:
        """Return the claim as lists and texts."""
        return {"row": list(self.row), "traces": [[trace.derived, *trace.keys] for trace in self.traces]}


@dataclass(frozen=True)
class Intent:
    """What one message names, and the id by which its holder knows the reservations that were made under it."""

    id: UUID
    claims: tuple[Claim, ...]

    def body(self) -> dict[str, Any]:
        """Return the body of the message."""
        return {"id": str(self.id), "entities": [claim.plain() for claim in self.claims]}

    @classmethod
    def parse(cls, body: Mapping[str, Any]) -> Intent:
        """Return the intent that a message's body spells.

        :raises BadMessage: it spells none
        """
        try:
            return cls(UUID(body["id"]), tuple(_claim(each["row"], each["traces"]) for each in body["entities"]))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            rule = 'it has an "id", and "entities" with their "row" and their "traces"'
            way_out = "let the version of the library that sent it read it"
            raise BadMessage("intent", NOT_SHOWN, rule, way_out) from error


def shares(claims: Iterable[Claim], kind: str) -> Iterator[Sequence[Claim]]:
    """Cut claims into shares that each fit into one message."""
    share: list[Claim] = []
    size = 0
    for claim in claims:
        length = len(Envelope(kind, claim.plain()).text())
        if share and size + length > _BODY_BYTES:
            yield share
            share, size = [], 0
        share.append(claim)
        size += length
    if share:
        yield share


def _claim(row: Sequence[object], traces: Iterable[Sequence[object]]) -> Claim:
    found = [Trace(str(name), (str(partition), str(key))) for name, partition, key in traces]
    partition_key, row_key = row
    return Claim((str(partition_key), str(row_key)), tuple(found))
