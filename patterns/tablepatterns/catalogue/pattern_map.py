"""The pattern map as SVG: the guide's patterns in blue, its anti-patterns in orange, and what leads where.

It is written by hand, for its boxes are links and its text stays text. The colours are those of Okabe and Ito, which
people who are colour-blind tell apart; shape and outline tell the kinds apart without any. Boxes and legend have
backgrounds of their own, and lines are of a grey between black and white, so that it can lie on any page.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator
from html import escape
from typing import Final

from .entry import CatalogueEntry
from .find import entry
from .map_layout import HEIGHT, MARGIN, WIDTH, Arrow, Box, Point, arrows, boxes

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


def pattern_map() -> str:
    """Return the map as the text of an SVG; the same each time.

    A box is a link to the page of its pattern, in the folder `patterns`, and to the page `catalogue` for an
    anti-pattern. The links work where the SVG is part of a page, or opened by itself.

    >>> pattern_map().splitlines()[0]  # doctest: +ELLIPSIS
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
    """Return the arrows in words, for those who cannot see them."""
    led = [f"{entry(each.source).title} {'and' if each.both else 'to'} {entry(each.target).title}" for each in arrows()]
    return f"Arrows lead from {'; '.join(led)}."


def _box(box: Box) -> str:
    known = entry(box.name)
    lines = textwrap.wrap(known.title, _LABEL_WIDTH, break_on_hyphens=False)
    return (
        f'<a href="{_link(known)}" class="{_class(known)}" id="map-{known.name}">'
        f"<title>{escape(known.problem)}</title>{_shape(box, _class(known))}{''.join(_label(box, lines))}</a>"
    )


def _link(known: CatalogueEntry) -> str:
    if known.modules:
        return f"patterns/{known.name}.html"
    return f"catalogue.html#{known.title.lower().replace('/', '-').replace(' ', '-')}"


def _class(known: CatalogueEntry) -> str:
    return known.kind if known.on_map else "remedy"


def _shape(box: Box, kind: str) -> str:
    """Return a box with round corners; of an anti-pattern, with its corners cut off."""
    x, y, width, height = box[1:]
    if kind == "anti-pattern":
        inner = f"h{width - 2 * _CUT:g} l{_CUT} {_CUT} v{height - 2 * _CUT:g} l-{_CUT} {_CUT}"
        return (
            f'<path d="M{x + _CUT:g} {y:g} {inner} h-{width - 2 * _CUT:g} l-{_CUT} -{_CUT} v-{height - 2 * _CUT:g} z"/>'
        )
    return f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="9"/>'


def _label(box: Box, lines: list[str]) -> Iterator[str]:
    """Hand out a box's lines of text around its middle."""
    middle = box.y + box.height / 2 + 6
    for number, line in enumerate(lines):
        y = middle + (number - (len(lines) - 1) / 2) * _LINE_HEIGHT
        yield f'<text x="{box.x + box.width / 2:g}" y="{y:g}">{escape(line)}</text>'


def _arrow(arrow: Arrow) -> str:
    heads = _head(arrow.start, arrow.end) + (_head(arrow.end, arrow.start) if arrow.both else "")
    kind = {"remedy": "remedies"}.get(arrow.style, arrow.style)
    # The line ends inside the head, so that its end does not show beside the tip
    start = _inside(arrow.end, arrow.start) if arrow.both else arrow.start
    end = _inside(arrow.start, arrow.end)
    line = f'<line x1="{start.x:.1f}" y1="{start.y:.1f}" x2="{end.x:.1f}" y2="{end.y:.1f}"/>'
    return f'<g class="arrow {kind}">{line}{heads}</g>'


def _inside(start: Point, end: Point) -> Point:
    left = 1 - (_HEAD - 2) / math.dist(start, end)
    return Point(start.x + (end.x - start.x) * left, start.y + (end.y - start.y) * left)


def _head(start: Point, end: Point) -> str:
    """Return the head of an arrow whose tip is at the end."""
    angle = math.atan2(end.y - start.y, end.x - start.x)
    tips = [end, *(_polar(end, angle + turn, _HEAD) for turn in (math.pi * 0.86, -math.pi * 0.86))]
    return f'<polygon points="{" ".join(f"{tip.x:.1f},{tip.y:.1f}" for tip in tips)}"/>'


def _polar(centre: Point, angle: float, radius: float) -> Point:
    return Point(centre.x + radius * math.cos(angle), centre.y + radius * math.sin(angle))


def _legend(card: Box) -> Iterator[str]:
    """Hand out what the colours, shapes and lines mean."""
    yield f'<g class="legend">{_shape(card, "card")}'
    kinds = (("pattern", "Pattern"), ("anti-pattern", "Anti-pattern"), ("remedy", "Remedy here"))
    for number, (kind, name) in enumerate(kinds):
        sample = Box(name, card.x + 16 + number * 199, card.y + 16, 182, 40)
        label = f'<text class="name" x="{sample.x + sample.width / 2:g}" y="{sample.y + 26:g}">{name}</text>'
        yield f'<g class="{kind}">{_shape(sample, kind)}{label}</g>'
    lines = (("listed", "listed as related"), ("text", "mentioned"), ("remedy", "do this instead"))
    for number, (style, words) in enumerate(lines):
        x, y = card.x + 16 + number * 199, card.y + 86
        yield _arrow(Arrow("", "", Point(x, y), Point(x + 48, y), False, style))
        yield f'<text class="words" x="{x + 58:g}" y="{y + 6:g}">{words}</text>'
    yield "</g>"
