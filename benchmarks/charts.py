"""Bar charts as SVG, legible on a light and on a dark page."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Final, NamedTuple

_WIDTH: Final = 860
_LABELS: Final = 270
_VALUES: Final = 150
_BAR: Final = 14
_GAP: Final = 12
_TOP: Final = 64
# Gray for the SDK alone; the other two are Okabe and Ito's, which color-blind readers can tell apart
_COLORS: Final = ("#8a8f98", "#0072b2", "#d55e00")
_STYLE: Final = """\
.card { fill: #ffffff; } text { font: 13px system-ui, "Segoe UI", Helvetica, Arial, sans-serif; fill: #1f2937; }
.title { font-size: 16px; font-weight: 600; } .label, .value { dominant-baseline: central; }
.label { text-anchor: end; } .line { stroke: #1f2937; stroke-dasharray: 4 3; }
.value { paint-order: stroke; stroke: #ffffff; stroke-width: 4px; }
@media (prefers-color-scheme: dark) {
  .card { fill: #15181d; } text { fill: #e5e7eb; } .line { stroke: #e5e7eb; } .value { stroke: #15181d; }
}"""


class Group(NamedTuple):
    """The bars of one case, one for each series."""

    label: str
    values: Sequence[float]
    texts: Sequence[str]
    """The text after each bar."""


def bar_chart(title: str, series: Sequence[str], groups: Sequence[Group], *, line: float | None = None) -> str:
    """Return a chart of horizontal bars.

    :param series: the names of the bars of each group
    :param line: a value to mark with a vertical line
    """
    colors = _COLORS if len(series) > 1 else _COLORS[1:]
    most = max(value for group in groups for value in group.values)
    scale = (_WIDTH - _LABELS - _VALUES) / most
    height_of_group = len(series) * _BAR + _GAP
    height = _TOP + len(groups) * height_of_group + _GAP
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" role="img" aria-labelledby="title">',
        f'<title id="title">{escape(title)}</title>',
        f"<style>\n{_STYLE}\n</style>",
        f'<rect class="card" width="{_WIDTH}" height="{height}" rx="8"/>',
        f'<text class="title" x="16" y="26">{escape(title)}</text>',
        *_legend(series, colors),
    ]
    if line is not None:
        x = _LABELS + line * scale
        parts.append(f'<line class="line" x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP - 6}" y2="{height - _GAP}"/>')
    for number, group in enumerate(groups):
        parts += _bars(group, _TOP + number * height_of_group, scale, colors)
    return "\n".join([*parts, "</svg>"]) + "\n"


def _legend(series: Sequence[str], colors: Sequence[str]) -> list[str]:
    parts: list[str] = []
    x = 16
    for name, color in zip(series, colors, strict=False):
        parts.append(f'<rect x="{x}" y="38" width="12" height="12" fill="{color}"/>')
        parts.append(f'<text class="value" x="{x + 18}" y="44">{escape(name)}</text>')
        x += 34 + 8 * len(name)
    return parts


def _bars(group: Group, top: int, scale: float, colors: Sequence[str]) -> list[str]:
    middle = top + len(group.values) * _BAR / 2
    parts = [f'<text class="label" x="{_LABELS - 10}" y="{middle:.1f}">{escape(group.label)}</text>']
    for number, (value, text) in enumerate(zip(group.values, group.texts, strict=True)):
        y, width = top + number * _BAR, value * scale
        parts.append(
            f'<rect x="{_LABELS}" y="{y}" width="{width:.1f}" height="{_BAR - 2}" fill="{colors[number]}"/>'
            f'<text class="value" x="{_LABELS + width + 6:.1f}" y="{y + _BAR / 2 - 1:.1f}">{escape(text)}</text>'
        )
    return parts
