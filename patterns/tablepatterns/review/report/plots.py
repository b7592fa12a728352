"""Plots: what the page shows as pictures. They take matplotlib, which the extra `plot` brings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ..outcome import Reviewed
from .canvas import Plot
from .cost_plot import cost_plot
from .heat_plot import heat_plot
from .load_plot import load_plot
from .sentences import hottest_first, peak_of

_WARM: Final = 0.1


@dataclass(frozen=True)
class Plots:
    """The plots of a report; None and none for those that have nothing to show.

    :param heats: of the hottest table, and of each other that comes to a tenth of its target
    """

    cost: Plot | None
    load: Plot | None
    heats: tuple[Plot, ...]


def plots(reviewed: Reviewed) -> Plots:
    """Return every plot of a report.

    :raises ModuleNotFoundError: matplotlib is not installed
    """
    first, *others = hottest_first(reviewed) or (None,)
    warm = [each for each in others if each and peak_of(each) >= _WARM * each.target]
    found = [heat_plot(each, place) for place, each in enumerate([first, *warm], start=1) if each]
    return Plots(cost_plot(reviewed), load_plot(reviewed), tuple(each for each in found if each is not None))
