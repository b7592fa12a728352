"""The Zipf distribution, for fields whose values occur or are queried unevenly."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

_EXACT: Final = 10_000


@dataclass(frozen=True)
class Zipf:
    """A Zipf distribution: the value of rank r has a frequency proportional to 1 / r ** exponent.

    >>> Zipf(4, 0).share(1), round(Zipf(4, 1).share(1), 2)
    (0.25, 0.48)

    :param count: the number of values, at least one
    :param exponent: how unevenly they occur; 0 if all are equally frequent
    """

    count: int
    exponent: float

    def share(self, rank: int) -> float:
        """Return the share of the value of a rank, starting at 1; 0 after the last rank."""
        return rank**-self.exponent / _total(self.count, self.exponent) if rank <= self.count else 0.0

    @property
    def coincidence(self) -> float:
        """The probability that two random values are equal.

        >>> Zipf(4, 0).coincidence
        0.25
        """
        return _total(self.count, 2 * self.exponent) / _total(self.count, self.exponent) ** 2


@lru_cache(maxsize=1024)
def _total(count: int, exponent: float) -> float:
    """Return the sum of all weights; ranks beyond 10,000 are approximated by the integral."""
    if exponent == 0:
        return float(count)
    head = math.fsum(rank**-exponent for rank in range(1, min(count, _EXACT) + 1))
    if count <= _EXACT:
        return head
    low, high = _EXACT + 0.5, count + 0.5
    if exponent == 1:
        return head + math.log(high / low)
    return head + float(high ** (1 - exponent) - low ** (1 - exponent)) / (1 - exponent)
