"""One module for each pattern that stores the entities of a set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ..design.model import DeclaredSet
from .kind import SetKind
from .periods import PeriodsKind
from .plain import PLAIN_KINDS, LogTailKind
from .series import SeriesKind
from .spread import SpreadKind
from .wide import WideKind

_ALL: Final[Sequence[SetKind[Any]]] = (
    *PLAIN_KINDS,
    *(LogTailKind(), SpreadKind(), PeriodsKind(), SeriesKind(), WideKind()),
)
KINDS: Final[Mapping[str, SetKind[Any]]] = {kind.pattern: kind for kind in _ALL}
"""The kinds of sets, by the names of their patterns."""


def kind_of(declared_set: DeclaredSet) -> SetKind[Any]:
    return KINDS[declared_set.pattern]
