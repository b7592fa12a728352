"""Cost plot: what each access pattern costs in a month, by the class of its query."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ...filters import QueryClass
from ..outcome import Reviewed
from .canvas import COLOURS, Figure, Plot, Size, matplotlib, plot, scale
from .lines import BAR, Line, Look, lined
from .sentences import Cost, class_of, cost_sentence, costs
from .wording import money, number, plain, shortened

_MOST: Final = 15
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
    """Return the plot, or None where nothing costs anything."""
    found = costs(reviewed)
    in_money = any(each.money for each in found)
    worths = {id(each): (each.money or 0.0) if in_money else each.transactions for each in found}
    shown = sorted((each for each in found if worths[id(each)] > 0), key=lambda each: -worths[id(each)])
    if not shown:
        return None
    currency = plain(reviewed.bill.currency)
    figures = [worths[id(each)] for each in shown]
    told = [money(each, currency) if in_money else number(each) for each in figures]
    unit = f"{currency} a month" if in_money else "transactions a month"
    more = f" The {len(shown) - _MOST} cheapest are left out." if len(shown) > _MOST else ""
    reading = f"A bar for each access pattern: {unit}, at its average rate.{more}"

    def draw(size: Size) -> Figure:
        return _drawn(size, shown[:_MOST], figures, told, unit)

    return plot("cost", f"{cost_sentence(reviewed)}.", reading, draw)


def _drawn(size: Size, shown: Sequence[Cost], figures: Sequence[float], told: Sequence[str], unit: str) -> Figure:
    looks = [_look(each.of.query_class) for each in shown]
    lines = [
        Line(each.name, f"{class_of(each.of)}, {words}", look)
        for each, words, look in zip(shown, told, looks, strict=False)
    ]
    axes = lined(size, lines, bottom=0.42)
    for place, (width, look) in enumerate(zip(figures, looks, strict=False)):
        axes.barh(-place, width, BAR, **look)
    axes.set_xlim(0, max(figures) * 1.01)
    ticks = matplotlib("ticker").MaxNLocator(3 if size.narrow else 6, steps=[1, 2, 5, 10]).tick_values(0, max(figures))
    scale(axes, ticks, number, shortened(unit, _UNIT))
    return axes.figure


def _look(kind: QueryClass | None) -> Look:
    return {"facecolor": _COLOURS[kind], "hatch": _HATCHES.get(kind), "edgecolor": COLOURS["page"], "linewidth": 0}
