"""The results of tables as a picture: the cost of a call, what the engine adds, and the effect of the table's size."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from .case import AZURITE, AZURITE_LARGE, ENGINE, ENGINE_LARGE, FLOOR
from .results import Results, Spread
from .table_cases import BY_SIZE, CASES, POINT_READ

# Okabe and Ito's colors, which color-blind readers can distinguish; markers differ, too
_STYLES = {FLOOR: ("#000000", "|"), ENGINE: ("#0072B2", "o"), AZURITE: ("#D55E00", "s")}
_LABELS = {FLOOR: "floor: the SDK alone", ENGINE: "engine", AZURITE: "Azurite"}
_TARGET = "#E69F00"
_LINES = {case.name: line for case, line in zip(BY_SIZE, ("-", ":"), strict=True)}
_NUMBER = FuncFormatter(lambda number, place: f"{number:,.0f}" if number >= 1 else f"{number:g}")
_SETTINGS: Any = {
    "font.size": 9,
    "axes.titlesize": 10.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
}


def plot(results: Results, path: Path) -> None:
    """Draw the picture into a file."""
    with mpl.rc_context(_SETTINGS):
        figure = Figure(figsize=(14, 4.4), layout="constrained")
        times, added, sizes = figure.subplots(1, 3, width_ratios=(5, 4, 4.2))
        _times(times, results)
        _added(added, results)
        _sizes(sizes, results)
        figure.savefig(path, dpi=120)


def _times(axes: Axes, results: Results) -> None:
    for place, who in enumerate(filter(results.has, _LABELS)):
        found = [results.time(case.name, who) for case in CASES]
        color, marker = _STYLES[who]
        axes.errorbar(
            [each.median * 1000 for each in found],
            [row + 0.2 * (place - 1) for row in range(len(CASES))],
            xerr=_whiskers(found, 1000),
            fmt=marker,
            color=color,
            markeredgewidth=2 if marker == "|" else 1,
            markersize=9 if marker == "|" else 5.5,
            elinewidth=1,
            label=_LABELS[who],
        )
    axes.set(xscale="log", xlabel="time of one call in ms, log scale; median, least, most")
    axes.set_title(_title_of_times(results))
    axes.xaxis.set_major_formatter(_NUMBER)
    axes.grid(axis="x", alpha=0.3)
    axes.legend(frameon=False, loc="upper right")
    _name_rows(axes)


def _title_of_times(results: Results) -> str:
    read = results.time(POINT_READ.name, ENGINE).median * 1000
    title = f"A point read takes {read:.2f} ms on the engine"
    if not results.has(AZURITE):
        return title
    return f"{title},\n{results.ratio(POINT_READ.name, AZURITE, ENGINE).median:.1f} times as long on Azurite"


def _added(axes: Axes, results: Results) -> None:
    """Draw the cost that the engine adds to the floor."""
    added = [Spread(*((each - 1) * 100 for each in results.ratio(case.name, ENGINE, FLOOR))) for case in CASES]
    color, _ = _STYLES[ENGINE]
    axes.barh(range(len(CASES)), [each.median for each in added], xerr=_whiskers(added), color=color, height=0.6)
    for row, each in enumerate(added):
        axes.text(each.most + 1.5, row, f"{each.median:.0f} %", va="center")
    rows = [row for row, case in enumerate(CASES) if case.target]
    targets = [(case.target - 1) * 100 for case in CASES if case.target]
    lower, upper = [row - 0.4 for row in rows], [row + 0.4 for row in rows]
    axes.vlines(targets, lower, upper, color=_TARGET, linewidth=3, label="target: at most")
    least, most = (pick(each.median for each in added) for pick in (min, max))
    title = f"The engine adds {least:.0f} to {most:.0f} %\nto the SDK's own cost"
    axes.set(xlabel="added to the floor in %; median, least, most", title=title)
    axes.legend(frameon=False, loc="lower right")
    _name_rows(axes)


def _sizes(axes: Axes, results: Results) -> None:
    """Draw the effect of the table's size on queries that read ten entities."""
    for small, large in ((ENGINE, ENGINE_LARGE), (AZURITE, AZURITE_LARGE)):
        for case in BY_SIZE if results.has(small) else ():
            found = [results.time(case.name, who) for who in (small, large)]
            color, marker = _STYLES[small]
            axes.errorbar(
                [results.loaded[who].entities for who in (small, large)],
                [each.median * 1000 for each in found],
                yerr=_whiskers(found, 1000),
                fmt=marker + _LINES[case.name],
                color=color,
                label=f"{_LABELS[small]}, {case.name}",
            )
    axes.set(xscale="log", yscale="log", title=_title_of_sizes(results))
    axes.set(xlabel="entities in the table, log scale", ylabel="time of one call in ms, log scale")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(_NUMBER)
    axes.grid(alpha=0.3)
    axes.legend(frameon=False, loc="center right")


def _title_of_sizes(results: Results) -> str:
    more = results.loaded[ENGINE_LARGE].entities / results.loaded[ENGINE].entities
    times = max(results.ratio(case.name, ENGINE_LARGE, ENGINE).median for case in BY_SIZE)
    return f"{more:.0f} times the entities: a query of ten\ntakes {times:.2f} times as long on the engine"


def _name_rows(axes: Axes) -> None:
    axes.set_yticks(range(len(CASES)), [case.name for case in CASES])
    axes.tick_params(axis="y", length=0)
    axes.invert_yaxis()


def _whiskers(found: Sequence[Spread], unit: float = 1) -> list[list[float]]:
    """Return the distances of minimum and maximum from the medians."""
    below = [(each.median - each.least) * unit for each in found]
    return [below, [(each.most - each.median) * unit for each in found]]
