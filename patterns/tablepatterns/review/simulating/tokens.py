"""Tokens: what of the work on a partition comes above its target, by the law of a bucket of tokens.

It is the law by which an account in memory refuses requests, where it is told to (`Engine(targets=Targets())`): a
target of n per second allows n at one instant, and from then on as much as time brings back. There, single requests
meet it; here, work that flows.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby


def refused_share(rates: Sequence[float], target: float, step: float) -> float:
    """Return the share of the work that is refused, from 0 to 1.

    Nothing is sent again: what is refused is gone.

    >>> refused_share([3000.0, 1000.0], target=2000, step=300)  # 300,000 too many, but for the first 2,000
    0.24833333333333332

    :param rates: entities per second, step by step
    :param target: entities per second that are carried out
    :param step: seconds between two rates
    """
    left = target
    refused = 0.0
    for rate, steps in groupby(rates):
        seconds = step * sum(1 for _ in steps)
        # It never holds more than a second's worth, so what a quiet time saves is no help in a busy one
        over = (rate - target) * seconds
        refused += max(0.0, over - left)
        left = min(target, max(0.0, left - over))
    asked = sum(rates) * step
    return refused / asked if asked else 0.0


def first_over(rates: Sequence[float], target: float, step: float) -> float | None:
    """Return after how many seconds the work first comes faster than the target; None for never."""
    return next((number * step for number, rate in enumerate(rates) if rate > target), None)
