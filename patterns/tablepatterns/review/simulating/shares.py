"""Shares: how the calls of an access pattern fall on partitions, through a day."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Final, Literal

from ..templates import pieces_of
from .day import SECONDS, STEP, STEPS, moment_of
from .partitions import Clock, Dimension, Partitions
from .zipf import Zipf

Choice = Literal["new", "entity", "partition", "all"]
"""What a call is about: a new entity, one that is there, a partition as a whole, or all there is."""

_EXPLICIT: Final = 32
"""How many partitions of one key are looked at one by one: the busiest."""
_EXPLICIT_AT_A_TIME: Final = 8
"""How many, where each period has its own; and how many buckets, since all are alike."""


@dataclass(frozen=True)
class Share:
    """The share of calls that one partition takes for a part of the day.

    :param first: the step from which it does so
    :param last: the step before which that ends
    """

    partition: str
    first: int
    last: int
    of: float


def shares(partitions: Partitions, choice: Choice, skew: float) -> Iterator[Share]:
    """Hand out the shares of the partitions that take most.

    Entities are chosen by how often the values of their keys occur, partitions as a whole evenly, and both the more
    unevenly the higher `skew` is. All there is takes work where it lies.

    :param choice: what a call is about
    :param skew: how unevenly it is chosen; it is told of time, the newest first, or else of the field with most values
    """
    clock = partitions.clock
    moments = list(_moments(clock, choice, skew))
    most = _EXPLICIT if clock is None or clock.seconds is None else _EXPLICIT_AT_A_TIME
    for ranks, share in _busiest(partitions, choice, 0.0 if clock and choice != "new" else skew, most):
        for first, last, begun, of in moments:
            name = _name(partitions, ranks, begun)
            for bucket in _buckets(partitions.buckets):
                yield Share(bucket + name, first, last, share * of / partitions.buckets)


def _busiest(partitions: Partitions, choice: Choice, skew: float, most: int) -> list[tuple[Mapping[str, int], float]]:
    """Return the values of the partitions that take most, as ranks by field, and the share of each."""
    largest = max(partitions.dimensions, key=lambda each: each.values.count, default=None)
    ranges: list[list[tuple[int, float]]] = []
    for each in partitions.dimensions:
        chosen = _chosen(each, choice, skew if each is largest else 0.0)
        ranges.append([(rank, chosen.share(rank)) for rank in range(1, min(chosen.count, most) + 1)])
    found = [(tuple(rank for rank, _ in each), math.prod(share for _, share in each)) for each in product(*ranges)]
    names = [each.names for each in partitions.dimensions]
    return [
        ({name: rank for group, rank in zip(names, ranks, strict=True) for name in group}, share)
        for ranks, share in heapq.nsmallest(most, found, key=lambda each: (-each[1], each[0]))
    ]


def _chosen(dimension: Dimension, choice: Choice, skew: float) -> Zipf:
    """Return how the values are come upon: as often as they occur, if not partitions are what is asked for."""
    if choice == "all":
        return dimension.values
    occurs = 0.0 if choice == "partition" else dimension.values.exponent
    return Zipf(dimension.values.count, occurs + skew)


def _moments(clock: Clock | None, choice: Choice, skew: float) -> Iterator[tuple[int, int, int, float]]:
    """Hand out first and last step, the step at which the partition's own time began, and the share it takes."""
    if clock is None:
        yield 0, STEPS, 0, 1.0
        return
    recent = Zipf(clock.values, 0.0 if choice == "all" else skew)
    if clock.seconds is None:
        yield 0, STEPS, 0, 1.0 if choice == "new" else recent.share(1)
        return
    length = round(min(clock.seconds, SECONDS) / STEP)
    for now in range(0, STEPS, length):
        last = min(now + length, STEPS)
        if choice == "new":
            yield now, last, now, 1.0
        else:
            for begun in range(now, -1, -length):
                yield now, last, begun, recent.share((now - begun) // length + 1)


def _name(partitions: Partitions, ranks: Mapping[str, int], begun: int) -> str:
    """Return how a report calls a partition: values by their rank, and times by the simulated day's."""
    clock = partitions.clock
    text = ""
    for piece in pieces_of(partitions.template):
        text += piece.literal
        if piece.name and piece.name in ranks:
            text += f"{piece.name} {ranks[piece.name]}"
        elif piece.name and clock and clock.seconds is not None:
            text += moment_of(begun).strftime(piece.spec)
        elif piece.name:
            text += f"newest {piece.name}"
    return text


def _buckets(count: int) -> list[str]:
    """Return what stands before the PartitionKeys of the first buckets."""
    if count == 1:
        return [""]
    width = max(2, len(str(count - 1)))
    return [f"{number:0{width}d}_" for number in range(min(count, _EXPLICIT_AT_A_TIME))]
