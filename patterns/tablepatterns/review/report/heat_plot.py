"""Heat plot: the partitions of a table through a day, each moment by its share of the target."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final

from ..outcome import Heat, PartitionHeat
from .canvas import COLOURS, Axes, Figure, Plot, Size, figure, matplotlib, plot, scale
from .lines import Look
from .sentences import heat_sentence
from .wording import briefly, number, shortened

_MOST: Final = 24
_HOURS: Final = 24
_CELLS: Final = 48
_ROW: Final = 0.19
_LABEL: Final = 0.071
# From which share of the target, in which colour, and what the legend says
_CLASSES: Final = (
    (1.0, "over", "over the target"),
    (0.5, "hot", "half and more"),
    (0.1, "warm", "a tenth and more"),
    (0.0, "cool", "less"),
)


def heat_plot(heat: Heat, number_of: int) -> Plot | None:
    """Return the plot of a table, or None where nothing is asked of it.

    :param number_of: which of the tables it is, for its name on the page
    """
    asked = [each for each in heat.partitions if each.peak]
    rows = asked[:_MOST]
    if not rows:
        return None
    if heat.moving:
        rows.sort(key=lambda each: (each.rates.index(each.peak), each.partition))
    left_out = heat.others + len(asked) - len(rows)
    more = f" {number(left_out)} more {'is' if left_out == 1 else 'are'} cooler." if left_out else ""
    reading = (
        f"A line for each partition, a day from left to right, and its peak at the right, in shares of "
        f"{number(heat.target)} entities a second. Empty: nothing is asked of it.{more}"
    )
    return plot(f"heat-{number_of}", f"{heat_sentence(heat)}.", reading, lambda size: _drawn(size, heat, rows))


def cells(rates: Sequence[float], target: float) -> list[int | None]:
    """Return the class of each part of the day by its highest rate; None where there is nothing."""
    step = max(len(rates) / _CELLS, 1.0)
    starts = [int(place * step) for place in range(min(_CELLS, len(rates)))]
    peaks = [max(rates[start:end]) for start, end in zip(starts, [*starts[1:], len(rates)], strict=True)]
    return [_class(peak / target) if peak > 0 else None for peak in peaks]


def _class(portion: float) -> int:
    return next(place for place, (least, _, _) in enumerate(_CLASSES) if portion > least or not least)


def _drawn(size: Size, heat: Heat, rows: Sequence[PartitionHeat]) -> Figure:
    most = 14 if size.narrow else 34
    names = [shortened(each.partition, most) for each in rows]
    left = max(len(each) for each in names) * _LABEL + 0.12
    peaks = [briefly(each.peak / heat.target) for each in rows]
    right = max(map(len, peaks)) * _LABEL + 0.22
    legend = 0.44 if size.narrow else 0.26
    axes = figure(size, len(rows) * _ROW + 0.36 + legend, left=left, right=right, bottom=0.3 + legend, top=0.06)
    axes.set_ylim(-len(rows) + 0.5, 0.5)
    axes.set_xlim(0, _HOURS)
    axes.set_yticks(range(0, -len(rows), -1), names, color=COLOURS["ink"])
    scale(axes, range(0, _HOURS + 1, 6 if size.narrow else 3), lambda hour: f"{hour:.0f} h")
    for place, each in enumerate(rows):
        axes.axhline(-place, color=COLOURS["line"], linewidth=0.6, zorder=0)
        axes.text(1.02, -place, peaks[place], va="center", color=COLOURS["muted"], transform=axes.get_yaxis_transform())
        _row(axes, place, list(_runs(cells(each.rates, heat.target))))
    _legend(axes, size)
    return axes.figure


def _runs(classes: Sequence[int | None]) -> Iterator[tuple[int, float, float]]:
    """Return the class of each stretch of the day, where it begins, and how long it is."""
    width = _HOURS / len(classes)
    start = 0
    for kind, run in groupby(classes):
        length = len(list(run))
        if kind is not None:
            yield kind, start * width, length * width
        start += length


def _row(axes: Axes, place: int, runs: Sequence[tuple[int, float, float]]) -> None:
    for kind, start, length in runs:
        axes.broken_barh([(start, length)], (-place - 0.38, 0.76), **_look(kind))


def _legend(axes: Axes, size: Size) -> None:
    swatches = [
        matplotlib("patches").Patch(label=label, **_look(place)) for place, (_, _, label) in enumerate(_CLASSES)
    ]
    axes.figure.legend(
        handles=swatches,
        loc="lower center",
        ncols=2 if size.narrow else 4,
        frameon=False,
        handlelength=1.4,
        handleheight=1.0,
        borderaxespad=0.1,
        borderpad=0,
        columnspacing=1.4,
    )


def _look(place: int) -> Look:
    _, colour, _ = _CLASSES[place]
    hatch = None if place else "////"
    return {"facecolor": COLOURS[colour], "hatch": hatch, "edgecolor": COLOURS["page"], "linewidth": 0}
