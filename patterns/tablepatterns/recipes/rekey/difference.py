"""How the two tables of a move differ."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from ...entity_set.derived import Keys
from ...jobs.walk import WalkReport


class Mismatch(Enum):
    """How an entity and its copy differ."""

    MISSING = "missing"
    """The entity has no copy."""
    STALE = "stale"
    """The copy differs from the entity."""
    ORPHANED = "orphaned"
    """The copy belongs to no entity."""
    SAME_KEY = "same key"
    """Another entity has the same key in the other table."""
    NO_KEY = "no key"
    """The other table cannot store the entity, because a field of its key is missing or invalid."""
    REJECTED = "rejected"
    """The other set rejects the copy, such as by its schema or a unique index."""


@dataclass(frozen=True)
class Difference:
    """An entity of the primary table that the other table does not show as it is.

    :param entity: the keys of the entity in the primary table; None if a copy does not have the fields of these keys
    :param copy: the keys in the other table; None if they cannot be made of the entity
    :param other: the keys of the other entity that has the same key in the other table, if there is one
    :param reason: why the copy cannot be stored
    """

    mismatch: Mismatch
    entity: Keys | None
    copy: Keys | None = None
    other: Keys | None = None
    reason: str = ""

    @property
    def is_repairable(self) -> bool:
        """Whether `repair` can correct it; if not, the entity itself must change."""
        is_copied = self.mismatch in (Mismatch.MISSING, Mismatch.STALE, Mismatch.ORPHANED)
        return is_copied and self.entity is not None and self.copy is not None


@dataclass(frozen=True)
class RekeyReport(WalkReport):
    """The progress and the result of one call, without earlier calls.

    :param entities: how many entities of the primary table were read
    :param copies: how many rows of the other table were written, or by `verify` checked for orphans
    :param differences: what is different, and for `copy` what could not be copied
    :param token: the token to `resume` from here, also in another process; None at the end
    """

    entities: int = 0
    copies: int = 0
    differences: tuple[Difference, ...] = ()
    token: str | None = None

    @property
    def is_clean(self) -> bool:
        """Whether no difference was found."""
        return not self.differences

    @property
    def repairable(self) -> list[Difference]:
        """The differences that `repair` can correct."""
        return [difference for difference in self.differences if difference.is_repairable]

    def of(self, mismatch: Mismatch) -> list[Difference]:
        """Return the differences of one kind."""
        return [difference for difference in self.differences if difference.mismatch is mismatch]


RekeyProgress: TypeAlias = Callable[[RekeyReport], None]
"""Called after each page with a report of what was done so far."""
