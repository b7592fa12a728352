"""Load plot: how near the busiest partition of each table, and the account, come to their targets."""

from __future__ import annotations

from collections.abc import Sequence
from math import floor, log10
from typing import Final

from ..outcome import Reviewed
from .canvas import COLOURS, Figure, Plot, Size, plot, scale
from .lines import Line, lined
from .sentences import Load, load_sentence, loads
from .wording import number, share

_MOST: Final = 16
_LEAST_SHOWN: Final = 0.001


def load_plot(reviewed: Reviewed) -> Plot | None:
    """Return the plot, or None where nothing is asked."""
    found = [each for each in loads(reviewed) if each.peak > 0]
    if not found:
        return None
    reading = (
        "A mark for the busiest partition of each table and for the account, at the busiest moment of the day, as a "
        "share of what it can take. A diamond is over its target; a ring is the same table with a spread key."
    )
    return plot("load", f"{load_sentence(reviewed)}.", reading, lambda size: _drawn(size, found[:_MOST]))


def _drawn(size: Size, found: Sequence[Load]) -> Figure:
    axes = lined(size, [_words(each, size) for each in found], bottom=0.42, top=0.22)
    shares = [max(each.share, _LEAST_SHOWN) for each in found]
    least = 10.0 ** min(floor(log10(min(shares))), -1)
    most = max(max(shares) * 1.3, 2.0)
    axes.set_xscale("log")
    axes.set_xlim(least, most)
    for place, each in enumerate(found):
        over = each.share > 1
        colour = COLOURS["over" if over else "under"]
        axes.plot([least, max(each.share, least)], [-place, -place], color=colour, linewidth=1.6, solid_capstyle="butt")
        axes.plot([max(each.share, least)], [-place], marker="D" if over else "o", markersize=6, color=colour)
        if each.cooled:
            look = {"s": 42, "facecolors": COLOURS["page"], "edgecolors": COLOURS["ink"], "marker": "o", "zorder": 3}
            axes.scatter([each.cooled / each.target], [-place], **look)
    axes.axvline(1, color=COLOURS["ink"], linewidth=1, linestyle=(0, (4, 2)))
    axes.text(1, 1, "target", ha="center", va="bottom", transform=axes.get_xaxis_transform())
    decades = [10.0**power for power in range(round(log10(least)), floor(log10(most)) + 1)]
    scale(axes, decades, lambda value: f"{value * 100:,g}%", "share of the target")
    return axes.figure


def _words(load: Load, size: Size) -> Line:
    target = f"{number(load.target)}/s" if size.narrow else f"{number(load.target)} {load.unit} a second"
    return Line(load.name, f"{share(load.share)} of {target}")
