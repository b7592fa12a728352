"""Retries of writers that conflict."""

from __future__ import annotations

from typing import Final

from ..design.distribution import Zipf, coincidence_of, names_one
from ..design.model import DeclaredSet, Write
from ..design.writes import touched

ROUND_TRIP: Final = 0.02
"""The assumed seconds between two requests of a writer in the account's region."""
RETRY_REQUESTS: Final = 2
"""The requests of a retry: the read, and the rejected write."""


def retries_at(rate: float) -> float:
    """Return the average number of retries of a change, if writers change the row `rate` times per second.

    An attempt reads the row and writes it a round trip later. It conflicts with the changes in the round trips before
    and after that write.

    >>> retries_at(25)
    1.0
    """
    return 2 * rate * ROUND_TRIP


def retries_of(declared_set: DeclaredSet, write: Write) -> float:
    """Return the average number of retries of one call of a write, at its average rate.

    Rows of lists and totals are retried too: in the entity's partition with the whole transaction, otherwise by the
    writer that updates them afterwards.
    """
    retries = 0.0
    if write.operation == "update" and write.writers > 1 and not write.overwrite:
        retries += retries_at(write.rate * Zipf(max(1, declared_set.shape.count), write.skew).coincidence)
    for derived in touched(declared_set, write):
        profile = declared_set.profile(derived)
        writes = [write for write in declared_set.writes if derived in touched(declared_set, write)]
        if profile.is_shared and max(write.writers for write in writes) > 1:
            rate = sum(write.rate for write in writes)
            retries += retries_at(rate * _coincidence(declared_set, profile.groups) / profile.spread)
    return retries


def _coincidence(declared_set: DeclaredSet, names: tuple[str, ...]) -> float:
    if names_one(declared_set.shape, names):
        return 1 / max(1, declared_set.shape.count)
    return coincidence_of(declared_set.shape, names)
