"""Report: how far the upkeep of derived data has come, and what it found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from ..deriving.derived import Keys
from ..eventual.rows import Finding


@dataclass(frozen=True)
class Drift:
    """A row that is out of line with an entity.

    :param finding: how it is out of line
    :param derived: the name of the derived data
    :param row: the keys of the derived row
    :param owner: the keys of the entity's primary row
    """

    finding: Finding
    derived: str
    row: Keys
    owner: Keys


@dataclass(frozen=True)
class Report:
    """How far it has come, of this call and not of those before it.

    :param entities: how many entities were looked at
    :param rows: how many derived rows were looked at, for entities that they do not follow from any more
    :param drifts: what was found out of line
    :param token: what `resume` takes to go on from here, also in another process; None at the end
    """

    entities: int = 0
    rows: int = 0
    drifts: tuple[Drift, ...] = ()
    token: str | None = None

    @property
    def is_clean(self) -> bool:
        """Whether nothing was found out of line."""
        return not self.drifts

    def of(self, finding: Finding) -> list[Drift]:
        """Return what was found out of line in one way."""
        return [drift for drift in self.drifts if drift.finding is finding]


Told: TypeAlias = Callable[[Report], None]
"""What is called after each page with how far it has come."""
