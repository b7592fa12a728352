"""The steps of a simulated day, and the distribution of an access pattern's calls over them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime, timezone
from functools import lru_cache
from typing import Final

from ..design.model import DAY

STEP: Final = 300
"""The length of a step in seconds."""
STEPS: Final = round(DAY) // STEP
BUSIEST: Final = STEPS // 2
"""The step of all peaks: noon, so that they coincide."""
BEGINS: Final = datetime(2014, 8, 22, tzinfo=timezone.utc)
"""The start of the simulated day, which is in the names of partitions by time."""


@lru_cache(maxsize=256)
def day_curve(rate: float, peak: float) -> Sequence[float]:
    """Return the calls per second of each step of a day, with the mean `rate` and the maximum `peak`, at least `rate`.

    The curve is a raised cosine: lowest at midnight, highest at noon. If the peak is more than twice the rate, it is a
    power of the raised cosine, which is narrower. The peak lasts at least five minutes, even if the day's calls do not.

    >>> curve = day_curve(10, 15)
    >>> min(curve), round(sum(curve) / len(curve), 9), max(curve)
    (5.0, 10.0, 15.0)
    """
    peak = max(rate, peak)
    if peak <= 2 * rate:
        return tuple(rate + (peak - rate) * (2 * height - 1) for height in _heights())
    # At other rates the ratio is the same, apart from its last digits
    power = _power(round(rate / peak, 12))
    return tuple(peak * height**power for height in _heights())


@lru_cache(maxsize=1)
def _heights() -> Sequence[float]:
    """Return the raised cosine from 0 to 1, one value for each step."""
    return tuple((1 + math.cos(2 * math.pi * (step - BUSIEST) / STEPS)) / 2 for step in range(STEPS))


@lru_cache(maxsize=256)
def _power(mean: float) -> float:
    """Return the power of the raised cosine that has this mean."""
    low, high = 1.0, 1.0
    while _mean(high) > mean and high < 1e9:
        high *= 2
    while low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if _mean(middle) > mean else (low, middle)
    return high


def _mean(power: float) -> float:
    return math.fsum(height**power for height in _heights()) / STEPS
