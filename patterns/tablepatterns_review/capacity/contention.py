"""Estimate how often writers of one row conflict, and what their retries cost."""

from __future__ import annotations

from typing import Final

from ..design.model import DeclaredSet, Write
from ..measure.sample import coincidence_of, names_one
from ..zipf import Zipf
from .load import touched

ROUND_TRIP: Final = 0.02
"""The assumed seconds between two requests of a writer in the account's region."""
RETRY_REQUESTS: Final = 2
"""The requests of a retry: the read, and the rejected write."""


def retries_at(rate: float) -> float:
    """Return the average number of retries of a change, if writers change the row at this rate.

    An attempt reads the row and writes it a round trip later. It conflicts with the changes in the round trips before
    and after that write.

    >>> retries_at(25)
    1.0

    :param rate: changes of the row per second
    """
    return 2 * rate * ROUND_TRIP


def retries_of(declared_set: DeclaredSet, write: Write) -> float:
    """Return the average number of retries of one call of a write, at its average rate.

    Rows of lists and totals are retried too: in the entity's partition with the whole transaction, otherwise by the
    writer that updates them afterwards.
    """
    found = 0.0
    if write.operation == "update" and write.writers > 1 and not write.overwrite:
        found += retries_at(write.rate * Zipf(max(1, declared_set.shape.count), write.skew).coincidence)
    for derived in touched(declared_set, write):
        profile = declared_set.profile(derived)
        writes = [write for write in declared_set.writes if derived in touched(declared_set, write)]
        if profile.is_shared and max(write.writers for write in writes) > 1:
            rate = sum(write.rate for write in writes)
            found += retries_at(rate * _coincidence(declared_set, profile.groups) / profile.spread)
    return found


def _coincidence(declared_set: DeclaredSet, names: tuple[str, ...]) -> float:
    """Return the share of pairs of entities that have the same values of these fields."""
    if names_one(declared_set.shape, names):
        return 1 / max(1, declared_set.shape.count)
    return coincidence_of(declared_set.shape, names)
