"""Lines: a plot of one line for each thing, its name and its figure above its mark, so that long names have room."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypedDict

from .canvas import COLOURS, Axes, Size, figure, matplotlib
from .wording import shortened

_LINE: Final = 0.37
_ABOVE: Final = 0.15
_SIDE: Final = 0.08
_SQUARE: Final = 0.1
_CHARACTERS: Final = 13.5
_FIGURE_CHARACTERS: Final = 12
BAR: Final = 0.34


class Look(TypedDict):
    """How a bar is filled."""

    facecolor: str
    hatch: str | None
    edgecolor: str
    linewidth: float


@dataclass(frozen=True)
class Line:
    """The words of one line.

    :param name: at its left
    :param told: at its right
    :param look: that of a square before the name, so that also the shortest bar can be told by its colour
    """

    name: str
    told: str
    look: Look | None = None


def lined(size: Size, lines: Sequence[Line], *, bottom: float, top: float = 0.05) -> Axes:
    """Return axes with the words of each line; line number n has its mark at the height -n."""
    count = max(len(lines), 1)
    axes = figure(size, count * _LINE + bottom + top, left=_SIDE, right=_SIDE, bottom=bottom, top=top)
    axes.set_ylim(-count + 0.3, 0.7)
    axes.set_yticks([])
    rectangle = matplotlib("patches").Rectangle
    across = size.width - 2 * _SIDE
    for place, line in enumerate(lines):
        most = int(size.width * _CHARACTERS)
        told = shortened(line.told, most * 2 // 3)
        room = most - len(told) - 2
        height, start = -place + _ABOVE / _LINE, 0.0
        behind = {"facecolor": COLOURS["page"], "edgecolor": "none", "pad": 1}
        words = {"va": "center", "transform": axes.get_yaxis_transform(), "bbox": behind}
        if line.look:
            corner, start = (0, height - _SQUARE / _LINE / 2), (_SQUARE + 0.06) / across
            square = rectangle(corner, _SQUARE / across, _SQUARE / _LINE, transform=words["transform"], **line.look)
            axes.add_patch(square)
        axes.text(start, height, shortened(line.name, max(room, _FIGURE_CHARACTERS)), ha="left", **words)
        axes.text(1, height, told, ha="right", color=COLOURS["muted"], **words)
    return axes
