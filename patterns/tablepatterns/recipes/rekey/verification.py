"""A run of `Rekey.verify`, which may be interrupted and resumed, and the comparison of one row."""

from __future__ import annotations

from dataclasses import dataclass

from ...entity import Entity
from ...entity_set.derived import Keys
from ...entity_set.internals import entity_of
from ...entity_set.maintenance import Mark
from ...errors import BadToken
from .difference import Difference
from .mirror import Mirror


@dataclass(frozen=True)
class Verification:
    """A run of `verify`, which may be interrupted and resumed.

    :param is_clean: whether no difference was found since the start
    """

    id: str
    mark: Mark
    is_clean: bool = True

    def text(self) -> str:
        """Return the token of a run."""
        return f"{self.id}-{int(self.is_clean)}-{self.mark.text()}"

    @classmethod
    def parse(cls, token: str, kind: str) -> Verification:
        """Return the run that a token continues.

        :raises BadToken: it is not a token of this move's verification
        """
        run_id, _, remainder = token.partition("-")
        clean, _, mark = remainder.partition("-")
        if clean not in ("0", "1"):
            raise BadToken("resume", token, "it is not a token of verify", "begin without one")
        return cls(run_id, Mark.parse(mark, f"verify {kind}"), clean == "1")


async def entity_difference(mirror: Mirror, row: Entity) -> Difference | None:
    """Compare a row of the primary table with its copy."""
    entity = await entity_of(mirror.source, row)
    return None if entity is None else await mirror.difference(keys_of(row), entity)


async def copy_difference(mirror: Mirror, row: Entity) -> Difference | None:
    """Compare a copy with its entity."""
    copied = await entity_of(mirror.target, row)
    return None if copied is None else await mirror.orphan(keys_of(row), copied)


def keys_of(row: Entity) -> Keys:
    """Return the keys of a row that was read."""
    return str(row.partition_key), str(row.row_key)
