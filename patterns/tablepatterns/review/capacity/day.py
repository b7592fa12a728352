"""The steps of a simulated day, and how the calls of an access pattern are spread over them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from functools import lru_cache
from typing import Final

SECONDS: Final = 86_400
STEP: Final = 300
"""Seconds between two rates."""
STEPS: Final = SECONDS // STEP
BUSIEST: Final = STEPS // 2
"""The step at which every access pattern is at its peak: noon, so that the peaks meet."""
BEGINS: Final = datetime(2014, 8, 22, tzinfo=timezone.utc)
"""When the simulated day begins. Partitions that are made of time are named by it."""
_HALVINGS: Final = 100


def moment_of(step: int) -> datetime:
    """Return when a step begins."""
    return BEGINS + timedelta(seconds=step * STEP)


@lru_cache(maxsize=256)
def day_curve(rate: float, peak: float) -> Sequence[float]:
    """Return the calls per second of each step of a day, whose mean is `rate` and whose highest is `peak`.

    It is a raised cosine: lowest at midnight, highest at noon. A peak of more than twice the rate needs a narrower
    hill, which is a power of the raised cosine, and nearly nothing at night. If all calls of a day do not fill the
    five minutes of the peak, the peak is there for five minutes nevertheless.

    >>> curve = day_curve(10, 15)
    >>> min(curve), round(sum(curve) / len(curve), 9), max(curve)
    (5.0, 10.0, 15.0)

    :param rate: calls per second, on average over the day
    :param peak: calls per second at the busiest time; no less than the rate counts
    """
    peak = max(rate, peak)
    if peak <= 2 * rate:
        return tuple(rate + (peak - rate) * (2 * height - 1) for height in _heights())
    power = _power(rate / peak)
    return tuple(peak * height**power for height in _heights())


@lru_cache(maxsize=1)
def _heights() -> Sequence[float]:
    """Return the raised cosine from 0 to 1, one value for each step."""
    return tuple((1 + math.cos(2 * math.pi * (step - BUSIEST) / STEPS)) / 2 for step in range(STEPS))


def _power(mean: float) -> float:
    """Return the power of the raised cosine that has this mean."""
    low, high = 1.0, 1.0
    while _mean(high) > mean and high < 1e9:
        high *= 2
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if _mean(middle) > mean else (low, middle)
    return high


def _mean(power: float) -> float:
    return math.fsum(height**power for height in _heights()) / STEPS
