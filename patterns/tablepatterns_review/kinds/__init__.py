"""One module for each pattern that stores the entities of a set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from tablepatterns.review.kinds.kind import SetKind
from tablepatterns.review.kinds.periods import PeriodsKind
from tablepatterns.review.kinds.plain import PLAIN_KINDS, LogTailKind
from tablepatterns.review.kinds.series import SeriesKind
from tablepatterns.review.kinds.spread import SpreadKind
from tablepatterns.review.kinds.wide import WideKind

if TYPE_CHECKING:
    from tablepatterns.review.design.model import DeclaredSet

_ALL: Final[Sequence[SetKind[Any]]] = (
    *PLAIN_KINDS,
    *(LogTailKind(), SpreadKind(), PeriodsKind(), SeriesKind(), WideKind()),
)
KINDS: Final[Mapping[str, SetKind[Any]]] = {kind.pattern: kind for kind in _ALL}
"""The kinds of sets, by the names of their patterns."""


def kind_of(declared: DeclaredSet) -> SetKind[Any]:
    """Return the kind of a declared set."""
    return KINDS[declared.pattern]
