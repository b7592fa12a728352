"""Draw the pattern map as SVG: patterns in blue, anti-patterns in orange, arrows between related ones."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator
from html import escape
from typing import Final, NamedTuple

from tablepatterns.catalog import RELATIONS, CatalogEntry, entry

PAGE = "docs/pattern_map.svg"

GRID: Final = (
    ("blob_log", "log_data", "period_tables"),
    ("log_tail", "prepend_append", "partition_spread"),
    ("intra_partition_index", "compound_key", "denormalize"),
    ("inter_partition_index", "eventual_transaction", "index_entities"),
    ("data_series", "large_properties", "wide_entity"),
)
"""The guide's patterns and anti-patterns, with the two remedies that have recipes of their own."""
BOX_WIDTH: Final = 182
BOX_HEIGHT: Final = 82
MARGIN: Final = 8
COLUMN_GAP: Final = 34
ROW_GAP: Final = 46
WIDTH: Final = 2 * MARGIN + 3 * BOX_WIDTH + 2 * COLUMN_GAP
HEIGHT: Final = 2 * MARGIN + len(GRID) * BOX_HEIGHT + (len(GRID) - 1) * ROW_GAP
_INSET: Final = 16
_CLEARANCE: Final = 4


class Point(NamedTuple):
    """A place on the map, in pixels from its upper left corner."""

    x: float
    y: float


class Box(NamedTuple):
    """An entry's place on the map, in pixels."""

    name: str
    x: float
    y: float
    width: float = BOX_WIDTH
    height: float = BOX_HEIGHT


class Arrow(NamedTuple):
    """A relation's place on the map.

    :param source: the name of the entry that it begins at
    :param target: the name of the entry that it points to
    :param start: the start point
    :param end: the end point
    :param both: whether it points both ways
    :param style: `listed`, `text` or `remedy`
    """

    source: str
    target: str
    start: Point
    end: Point
    both: bool
    style: str


def boxes() -> dict[str, Box]:
    """Return every box of the map by the name of its entry."""
    return {
        name: Box(name, MARGIN + column * (BOX_WIDTH + COLUMN_GAP), MARGIN + row * (BOX_HEIGHT + ROW_GAP))
        for row, names in enumerate(GRID)
        for column, name in enumerate(names)
    }


def arrows() -> list[Arrow]:
    """Return the arrows of the map, one for each related pair."""
    place = boxes()
    styles = _styles()
    found: list[Arrow] = []
    for (source, target), style in styles.items():
        both = (target, source) in styles
        if not both or source < target:
            start, end = _ends(place[source], place[target])
            found.append(Arrow(source, target, start, end, both, style))
    return found


def _styles() -> dict[tuple[str, str], str]:
    """Return the relation of each pair; the guide's own take precedence over this library's remedies."""
    place = boxes()
    styles: dict[tuple[str, str], str] = {}
    for each in RELATIONS:
        pair = (each.source, each.target)
        on_map = entry(each.source).on_map and entry(each.target).on_map
        if pair[0] in place and pair[1] in place and (on_map or each.basis == "remedy"):
            styles.setdefault(pair, each.basis.split()[0])
    return styles


def _ends(source: Box, target: Box) -> tuple[Point, Point]:
    """Return where an arrow leaves one box and meets the other: at the middle of a side, or near a corner."""
    right, down = _sign(target.x - source.x), _sign(target.y - source.y)
    middle = Point(source.x + source.width / 2, source.y + source.height / 2)
    other = Point(target.x + target.width / 2, target.y + target.height / 2)
    if not down:
        start = Point(middle.x + right * source.width / 2, middle.y)
        end = Point(other.x - right * target.width / 2, other.y)
    else:
        aside = right * (source.width / 2 - _INSET)
        start = Point(middle.x + aside, middle.y + down * source.height / 2)
        end = Point(other.x - aside, other.y - down * target.height / 2)
    return _short_of(start, end), _short_of(end, start)


def _short_of(start: Point, end: Point) -> Point:
    """Return a point on the line near its start, so that no arrowhead touches a box."""
    part = _CLEARANCE / (abs(end.y - start.y) or abs(end.x - start.x))
    return Point(start.x + (end.x - start.x) * part, start.y + (end.y - start.y) * part)


def _sign(number: float) -> int:
    return (number > 0) - (number < 0)


_TITLE: Final = "Pattern map"
_SHOWN_WIDTH: Final = 720
_LEGEND_HEIGHT: Final = 116
_LEGEND_GAP: Final = 24
_LINE_HEIGHT: Final = 23
_LABEL_WIDTH: Final = 16
_CUT: Final = 14
_HEAD: Final = 11
_STYLE: Final = """
  text { font: 600 19px "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; text-anchor: middle }
  .pattern rect { fill: #0072b2; stroke: #0072b2; stroke-width: 2 }
  .pattern text { fill: #fff }
  .anti-pattern path { fill: #e69f00; stroke: #7a3e00; stroke-width: 3 }
  .anti-pattern text { fill: #231400 }
  .remedy rect { fill: #e8f3fa; stroke: #0072b2; stroke-width: 2.5; stroke-dasharray: 7 4 }
  .remedy text { fill: #003f66 }
  a:hover rect, a:hover path, a:focus rect, a:focus path { stroke: #cc79a7; stroke-width: 5 }
  .arrow { stroke: #7a7a7a; fill: #7a7a7a; stroke-width: 2.5 }
  .arrow polygon { stroke: none }
  .text line { stroke-dasharray: 2 5; stroke-linecap: round }
  .remedies line { stroke-dasharray: 7 4 }
  .legend > rect { fill: #f6f8fa; stroke: #c9d1d9 }
  .legend .words { font-size: 17px; font-weight: 500; text-anchor: start; fill: #24292f }
  .legend .name { font-size: 18px }
"""


def render() -> str:
    """Return the map as SVG; the output is deterministic.

    A box is a link to the page of its pattern, in the folder `patterns`, and to the page `catalog` for an
    anti-pattern. The links work where the SVG is part of a page, or opened by itself.

    >>> render().splitlines()[0]  # doctest: +ELLIPSIS
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 630 ...
    """
    height = HEIGHT + _LEGEND_GAP + _LEGEND_HEIGHT
    shown = round(height * _SHOWN_WIDTH / WIDTH)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        f'width="{_SHOWN_WIDTH}" height="{shown}" aria-labelledby="map-title map-words">',
        f'<title id="map-title">{_TITLE}</title>',
        f'<desc id="map-words">{escape(_words())}</desc>',
        f"<style>{_STYLE}</style>",
        *(_arrow(each) for each in arrows()),
        *(_box(each) for each in boxes().values()),
        *_legend(Box("", MARGIN, HEIGHT + _LEGEND_GAP - MARGIN, WIDTH - 2 * MARGIN, _LEGEND_HEIGHT)),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _words() -> str:
    """Return a description of the arrows, for screen readers."""
    led = [f"{entry(each.source).title} {'and' if each.both else 'to'} {entry(each.target).title}" for each in arrows()]
    return f"Arrows lead from {'; '.join(led)}."


def _box(box: Box) -> str:
    known = entry(box.name)
    lines = textwrap.wrap(known.title, _LABEL_WIDTH, break_on_hyphens=False)
    return (
        f'<a href="{_link(known)}" class="{_class(known)}" id="map-{known.name}">'
        f"<title>{escape(known.problem)}</title>{_shape(box, _class(known))}{''.join(_label(box, lines))}</a>"
    )


def _link(known: CatalogEntry) -> str:
    if known.modules:
        return f"patterns/{known.name}.html"
    return f"catalog.html#{known.title.lower().replace('/', '-').replace(' ', '-')}"


def _class(known: CatalogEntry) -> str:
    return known.kind if known.on_map else "remedy"


def _shape(box: Box, kind: str) -> str:
    """Return a box with rounded corners, or with cut corners for an anti-pattern."""
    x, y, width, height = box[1:]
    if kind == "anti-pattern":
        inner = f"h{width - 2 * _CUT:g} l{_CUT} {_CUT} v{height - 2 * _CUT:g} l-{_CUT} {_CUT}"
        return (
            f'<path d="M{x + _CUT:g} {y:g} {inner} h-{width - 2 * _CUT:g} l-{_CUT} -{_CUT} v-{height - 2 * _CUT:g} z"/>'
        )
    return f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="9"/>'


def _label(box: Box, lines: list[str]) -> Iterator[str]:
    """Yield the lines of text of a box, centered."""
    middle = box.y + box.height / 2 + 6
    for number, line in enumerate(lines):
        y = middle + (number - (len(lines) - 1) / 2) * _LINE_HEIGHT
        yield f'<text x="{box.x + box.width / 2:g}" y="{y:g}">{escape(line)}</text>'


def _arrow(arrow: Arrow) -> str:
    heads = _head(arrow.start, arrow.end) + (_head(arrow.end, arrow.start) if arrow.both else "")
    kind = {"remedy": "remedies"}.get(arrow.style, arrow.style)
    # The line ends inside the arrowhead, so that its end is hidden
    start = _inside(arrow.end, arrow.start) if arrow.both else arrow.start
    end = _inside(arrow.start, arrow.end)
    line = f'<line x1="{start.x:.1f}" y1="{start.y:.1f}" x2="{end.x:.1f}" y2="{end.y:.1f}"/>'
    return f'<g class="arrow {kind}">{line}{heads}</g>'


def _inside(start: Point, end: Point) -> Point:
    left = 1 - (_HEAD - 2) / math.dist(start, end)
    return Point(start.x + (end.x - start.x) * left, start.y + (end.y - start.y) * left)


def _head(start: Point, end: Point) -> str:
    """Return the arrowhead at the end of an arrow."""
    angle = math.atan2(end.y - start.y, end.x - start.x)
    tips = [end, *(_polar(end, angle + turn, _HEAD) for turn in (math.pi * 0.86, -math.pi * 0.86))]
    return f'<polygon points="{" ".join(f"{tip.x:.1f},{tip.y:.1f}" for tip in tips)}"/>'


def _polar(centre: Point, angle: float, radius: float) -> Point:
    return Point(centre.x + radius * math.cos(angle), centre.y + radius * math.sin(angle))


def _legend(card: Box) -> Iterator[str]:
    """Yield the legend of colors, shapes and lines."""
    yield f'<g class="legend">{_shape(card, "card")}'
    kinds = (("pattern", "Pattern"), ("anti-pattern", "Anti-pattern"), ("remedy", "Remedy here"))
    for number, (kind, name) in enumerate(kinds):
        sample = Box(name, card.x + 16 + number * 199, card.y + 16, 182, 40)
        label = f'<text class="name" x="{sample.x + sample.width / 2:g}" y="{sample.y + 26:g}">{name}</text>'
        yield f'<g class="{kind}">{_shape(sample, kind)}{label}</g>'
    lines = (("listed", "listed as related"), ("text", "mentioned"), ("remedy", "do this instead"))
    # The first words are wider than a box
    for left, (style, words) in zip((16, 238, 414), lines, strict=True):
        x, y = card.x + left, card.y + 86
        yield _arrow(Arrow("", "", Point(x, y), Point(x + 48, y), False, style))
        yield f'<text class="words" x="{x + 58:g}" y="{y + 6:g}">{words}</text>'
    yield "</g>"
