"""Draw the plots of a review as SVG."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from itertools import groupby
from math import floor, log10
from typing import Any, Final, TypedDict

from ...figures import money, number, plural, rate, share, short_share
from ...filters import QueryClass
from ..model import PartitionLoad, Reviewed, TableLoad
from .formatting import (
    Cost,
    Load,
    class_of,
    cost_sentence,
    costs,
    heat_sentence,
    hottest_first,
    load_sentence,
    loads,
    peak_of,
    plain,
    shortened,
)

Axes = Any
"""A type of matplotlib, which is only partly typed."""
Figure = Any
"""A type of matplotlib, which is only partly typed."""

NEEDED: Final = "matplotlib"
FONT_POINTS: Final = 8.5
_WIDTHS: Final = (("wide", 7.0), ("narrow", 3.6))

# The names are colors of page.css
_NAMES: Final = (
    "ink", "muted", "line", "page",
    "point", "range", "partition-scan", "table-scan", "write",
    "cool", "warm", "hot", "over", "under",
)  # fmt: skip
COLOURS: Final = {name: f"#0102{number:02x}" for number, name in enumerate(_NAMES, start=16)}
_BY_COLOUR: Final = {value: name for name, value in COLOURS.items()}
_DRAWN: Final = re.compile("|".join(_BY_COLOUR))
_STYLE: Final = {
    "svg.fonttype": "none",
    "text.parse_math": False,
    "axes.unicode_minus": False,
    "font.family": ["DejaVu Sans"],
    "font.size": FONT_POINTS,
    "text.color": COLOURS["ink"],
    "axes.edgecolor": COLOURS["muted"],
    "axes.labelcolor": COLOURS["muted"],
    "axes.linewidth": 0.6,
    "xtick.color": COLOURS["muted"],
    "ytick.color": COLOURS["muted"],
    "xtick.labelsize": FONT_POINTS,
    "ytick.labelsize": FONT_POINTS,
    "hatch.linewidth": 0.7,
}


@dataclass(frozen=True)
class Size:
    """The width of a plot in inches, and whether it is for phones."""

    width: float
    narrow: bool


@dataclass(frozen=True)
class Plot:
    """One plot.

    :param name: its name on the page
    :param title: what it shows, as a sentence
    :param reading: how to read it
    :param wide: the SVG for screens and paper
    :param narrow: the SVG for phones
    """

    name: str
    title: str
    reading: str
    wide: str
    narrow: str


def available() -> bool:
    """Whether plots can be drawn, which needs the extra `plot`."""
    return find_spec(NEEDED) is not None


def matplotlib(part: str = "") -> Any:
    """Import matplotlib or one of its modules, only when something is drawn.

    :raises ModuleNotFoundError: matplotlib is not installed
    """
    return import_module(f"{NEEDED}.{part}".rstrip("."))


def plot(name: str, title: str, reading: str, draw: Callable[[Size], Figure]) -> Plot:
    """Return a plot, drawn in both widths.

    :param draw: draws the figure for a width
    """
    wide, narrow = (_svg(f"{name}-{word}", draw, Size(width, word == "narrow")) for word, width in _WIDTHS)
    return Plot(name, title, reading, wide, narrow)


def figure(size: Size, inches: float, *, left: float, right: float, bottom: float, top: float = 0.1) -> Axes:
    """Return the axes of an empty figure with these margins in inches.

    :param inches: the height of the figure
    """
    made = matplotlib("figure").Figure(figsize=(size.width, inches))
    across = 1 - (left + right) / size.width
    axes = made.add_axes((left / size.width, bottom / inches, across, 1 - (bottom + top) / inches))
    made.patch.set_visible(False)
    axes.patch.set_visible(False)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.tick_params(length=0)
    return axes


def scale(axes: Axes, ticks: Sequence[float], words: Callable[[float], str], label: str = "") -> None:
    """Draw a scale whose first and last labels stay within it, so that they are not cut off."""
    low, high = axes.get_xlim()
    shown = [each for each in ticks if low <= each <= high]
    axes.set_xticks(shown, [words(each) for each in shown])
    axes.minorticks_off()
    axes.set_xlabel(label)
    for tick, text in zip(shown, axes.get_xticklabels(), strict=True):
        if tick in (low, high):
            text.set_horizontalalignment("left" if tick == low else "right")


def _svg(name: str, draw: Callable[[Size], Figure], size: Size) -> str:
    target = io.StringIO()
    with matplotlib().rc_context({**_STYLE, "svg.hashsalt": name}), warnings.catch_warnings():
        # The font lacks some scripts, but the browser has them
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        draw(size).savefig(target, format="svg", metadata={"Date": None, "Creator": None})
    return _for_page(target.getvalue(), name)


def _for_page(svg: str, name: str) -> str:
    """Return an SVG for embedding in a page: with unique ids, the colors of the page, and no fixed size."""
    svg = svg[svg.index("<svg") :].strip()
    svg = re.sub(r"\s*<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'^<svg ([^>]*?)width="[^"]*pt" height="[^"]*pt"', r"<svg \1", svg)
    # Only within tags, so that names from the design are not changed
    return re.sub(r"<[^>]*>", lambda tag: _own(tag[0], name), svg)


def _own(tag: str, name: str) -> str:
    tag = re.sub(r'(\bid="|url\(#|xlink:href="#)', rf"\g<1>{name}-", tag)
    return _DRAWN.sub(lambda found: f"var(--{_BY_COLOUR[found[0]]})", tag)


_LINE: Final = 0.37
_ABOVE: Final = 0.15
_SIDE: Final = 0.08
_SQUARE: Final = 0.1
_CHARACTERS: Final = 13.5
_FIGURE_CHARACTERS: Final = 12
BAR: Final = 0.34


class Look(TypedDict):
    """The fill of a bar."""

    facecolor: str
    hatch: str | None
    edgecolor: str
    linewidth: float


@dataclass(frozen=True)
class Line:
    """The labels of one line.

    :param name: the label on the left
    :param value: the label on the right
    :param look: the fill of a square before the name, which shows the color even if the bar is short
    """

    name: str
    value: str
    look: Look | None = None


def lined(size: Size, lines: Sequence[Line], *, bottom: float, top: float = 0.05) -> Axes:
    """Return axes with the labels of each line; the mark of line n is at height -n."""
    count = max(len(lines), 1)
    axes = figure(size, count * _LINE + bottom + top, left=_SIDE, right=_SIDE, bottom=bottom, top=top)
    axes.set_ylim(-count + 0.3, 0.7)
    axes.set_yticks([])
    rectangle = matplotlib("patches").Rectangle
    across = size.width - 2 * _SIDE
    for place, line in enumerate(lines):
        most = int(size.width * _CHARACTERS)
        value = shortened(line.value, most * 2 // 3)
        room = most - len(value) - 2
        height, start = -place + _ABOVE / _LINE, 0.0
        behind = {"facecolor": COLOURS["page"], "edgecolor": "none", "pad": 1}
        words = {"va": "center", "transform": axes.get_yaxis_transform(), "bbox": behind}
        if line.look:
            corner, start = (0, height - _SQUARE / _LINE / 2), (_SQUARE + 0.06) / across
            square = rectangle(corner, _SQUARE / across, _SQUARE / _LINE, transform=words["transform"], **line.look)
            axes.add_patch(square)
        axes.text(start, height, shortened(line.name, max(room, _FIGURE_CHARACTERS)), ha="left", **words)
        axes.text(1, height, value, ha="right", color=COLOURS["muted"], **words)
    return axes


_MAX_COST_ROWS: Final = 15
_UNIT: Final = 32
_COLOURS: Final = {
    QueryClass.POINT: COLOURS["point"],
    QueryClass.RANGE: COLOURS["range"],
    QueryClass.PARTITION_SCAN: COLOURS["partition-scan"],
    QueryClass.TABLE_SCAN: COLOURS["table-scan"],
    None: COLOURS["write"],
}
_HATCHES: Final[dict[QueryClass | None, str]] = {QueryClass.PARTITION_SCAN: "////", QueryClass.TABLE_SCAN: "xxxx"}


def cost_plot(reviewed: Reviewed) -> Plot | None:
    """Return the plot of the costs, or None if there are none."""
    found = costs(reviewed)
    in_money = any(each.money for each in found)
    worths = {id(each): (each.money or 0.0) if in_money else each.transactions for each in found}
    shown = sorted((each for each in found if worths[id(each)] > 0), key=lambda each: -worths[id(each)])
    if not shown:
        return None
    currency = plain(reviewed.bill.currency)
    figures = [worths[id(each)] for each in shown]
    values = [money(each, currency) if in_money else number(each) for each in figures]
    unit = f"{currency} a month" if in_money else "transactions a month"
    more = f" The {len(shown) - _MAX_COST_ROWS} cheapest are left out." if len(shown) > _MAX_COST_ROWS else ""
    reading = f"A bar for each access pattern: {unit}, at its average rate.{more}"

    def draw(size: Size) -> Figure:
        return _draw_cost(size, shown[:_MAX_COST_ROWS], figures, values, unit)

    return plot("cost", f"{cost_sentence(reviewed)}.", reading, draw)


def _draw_cost(size: Size, shown: Sequence[Cost], figures: Sequence[float], values: Sequence[str], unit: str) -> Figure:
    looks = [_cost_style(each.of.query_class) for each in shown]
    lines = [
        Line(each.name, f"{class_of(each.of)}, {words}", look)
        for each, words, look in zip(shown, values, looks, strict=False)
    ]
    axes = lined(size, lines, bottom=0.42)
    for place, (width, look) in enumerate(zip(figures, looks, strict=False)):
        axes.barh(-place, width, BAR, **look)
    axes.set_xlim(0, max(figures) * 1.01)
    ticks = matplotlib("ticker").MaxNLocator(3 if size.narrow else 6, steps=[1, 2, 5, 10]).tick_values(0, max(figures))
    scale(axes, ticks, number, shortened(unit, _UNIT))
    return axes.figure


def _cost_style(kind: QueryClass | None) -> Look:
    return {"facecolor": _COLOURS[kind], "hatch": _HATCHES.get(kind), "edgecolor": COLOURS["page"], "linewidth": 0}


_MAX_HEAT_ROWS: Final = 24
_HOURS: Final = 24
_CELLS: Final = 48
_ROW: Final = 0.19
_LABEL: Final = 0.071
# The lowest share of the target, the color, and the label in the legend
_CLASSES: Final = (
    (1.0, "over", "over the target"),
    (0.5, "hot", "over half"),
    (0.1, "warm", "over a tenth"),
    (0.0, "cool", "less"),
)


def heat_plot(heat: TableLoad, number_of: int) -> Plot | None:
    """Return the plot of a table's load, or None if it has none.

    :param number_of: the number of the table, for the plot's name on the page
    """
    asked = [each for each in heat.partitions if each.peak]
    rows = asked[:_MAX_HEAT_ROWS]
    if not rows:
        return None
    if heat.follows_time:
        rows.sort(key=lambda each: (each.rates.index(each.peak), each.partition))
    left_out = heat.others + len(asked) - len(rows)
    verb = "is" if left_out == 1 else "are"
    more = f" {plural(left_out, 'partition')} with less load {verb} left out." if left_out else ""
    reading = (
        "Each row is the day of one partition, with its peak at the right, as shares of the target of "
        f"{number(heat.target)} entities a second. Blank: no load.{more}"
    )
    return plot(f"heat-{number_of}", f"{heat_sentence(heat)}.", reading, lambda size: _draw_heat(size, heat, rows))


def cells(rates: Sequence[float], target: float) -> list[int | None]:
    """Return the class of each part of the day by its highest rate; None if it has no load."""
    step = max(len(rates) / _CELLS, 1.0)
    starts = [int(place * step) for place in range(min(_CELLS, len(rates)))]
    peaks = [max(rates[start:end]) for start, end in zip(starts, [*starts[1:], len(rates)], strict=True)]
    return [_class(peak / target) if peak > 0 else None for peak in peaks]


def _class(portion: float) -> int:
    return next(place for place, (least, _, _) in enumerate(_CLASSES) if portion > least or not least)


def _draw_heat(size: Size, heat: TableLoad, rows: Sequence[PartitionLoad]) -> Figure:
    most = 14 if size.narrow else 34
    names = [shortened(each.partition, most) for each in rows]
    left = max(len(each) for each in names) * _LABEL + 0.12
    peaks = [short_share(each.peak / heat.target) for each in rows]
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
    """Return the class, the start and the length of each run of equal classes."""
    width = _HOURS / len(classes)
    start = 0
    for kind, run in groupby(classes):
        length = len(list(run))
        if kind is not None:
            yield kind, start * width, length * width
        start += length


def _row(axes: Axes, place: int, runs: Sequence[tuple[int, float, float]]) -> None:
    for kind, start, length in runs:
        axes.broken_barh([(start, length)], (-place - 0.38, 0.76), **_heat_style(kind))


def _legend(axes: Axes, size: Size) -> None:
    swatches = [
        matplotlib("patches").Patch(label=label, **_heat_style(place)) for place, (_, _, label) in enumerate(_CLASSES)
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


def _heat_style(place: int) -> Look:
    _, colour, _ = _CLASSES[place]
    hatch = None if place else "////"
    return {"facecolor": COLOURS[colour], "hatch": hatch, "edgecolor": COLOURS["page"], "linewidth": 0}


_MAX_LOAD_ROWS: Final = 16
_LEAST_SHOWN: Final = 0.001


def load_plot(reviewed: Reviewed) -> Plot | None:
    """Return the plot of all loads, or None if there are none."""
    found = [each for each in loads(reviewed) if each.peak > 0]
    if not found:
        return None
    reading = (
        "The peak load of the busiest partition of each table, and of the account, as a share of its target. A diamond "
        "is over its target; a ring is the same table, spread over buckets."
    )
    return plot("load", f"{load_sentence(reviewed)}.", reading, lambda size: _draw_load(size, found[:_MAX_LOAD_ROWS]))


def _draw_load(size: Size, found: Sequence[Load]) -> Figure:
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
        if each.spread_peak:
            look = {"s": 42, "facecolors": COLOURS["page"], "edgecolors": COLOURS["ink"], "marker": "o", "zorder": 3}
            axes.scatter([each.spread_peak / each.target], [-place], **look)
    axes.axvline(1, color=COLOURS["ink"], linewidth=1, linestyle=(0, (4, 2)))
    axes.text(1, 1, "target", ha="center", va="bottom", transform=axes.get_xaxis_transform())
    decades = [10.0**power for power in range(round(log10(least)), floor(log10(most)) + 1)]
    scale(axes, decades, lambda value: f"{value * 100:,g}%", "share of the target")
    return axes.figure


def _words(load: Load, size: Size) -> Line:
    target = rate(load.target) if size.narrow else f"{number(load.target)} {load.unit} a second"
    return Line(load.name, f"{share(load.share)} of {target}")


_WARM: Final = 0.1


@dataclass(frozen=True)
class Plots:
    """The plots of a report; None or empty if there is nothing to show.

    :param heats: the plots of the hottest table, and of each other that reaches a tenth of its target
    """

    cost: Plot | None
    load: Plot | None
    heats: tuple[Plot, ...]


def plots(reviewed: Reviewed) -> Plots:
    """Return all plots of a report.

    :raises ModuleNotFoundError: matplotlib is not installed
    """
    first, *others = hottest_first(reviewed) or (None,)
    warm = [each for each in others if each and peak_of(each) >= _WARM * each.target]
    found = [heat_plot(each, place) for place, each in enumerate([first, *warm], start=1) if each]
    return Plots(cost_plot(reviewed), load_plot(reviewed), tuple(each for each in found if each is not None))
