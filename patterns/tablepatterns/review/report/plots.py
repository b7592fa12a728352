"""Plots: what the page shows as pictures. They take matplotlib, which the extra `plot` brings."""

from __future__ import annotations

from dataclasses import dataclass

from ..outcome import Reviewed
from .canvas import Plot
from .cost_plot import cost_plot
from .heat_plot import heat_plot
from .load_plot import load_plot
from .sentences import hottest_first


@dataclass(frozen=True)
class Plots:
    """The plots of a report; None and none for those that have nothing to show."""

    cost: Plot | None
    load: Plot | None
    heats: tuple[Plot, ...]


def plots(reviewed: Reviewed) -> Plots:
    """Return every plot of a report.

    :raises ModuleNotFoundError: matplotlib is not installed
    """
    found = [heat_plot(each, place) for place, each in enumerate(hottest_first(reviewed), start=1)]
    return Plots(cost_plot(reviewed), load_plot(reviewed), tuple(each for each in found if each is not None))
