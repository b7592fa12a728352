"""Where everything on the pattern map lies: a grid in which every arrow joins neighbours, so that none crosses."""

from __future__ import annotations

from typing import Final, NamedTuple

from .find import entry
from .relations import RELATIONS

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
    """A place on the map, in pixels from its left upper corner."""

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
    :param start: where it begins
    :param end: where it ends
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
    """Return every arrow of the map: one for each two that are related, in whichever way or both."""
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
    """Return how each pair is joined; what the guide itself lists goes before this library's own remedies."""
    place = boxes()
    styles: dict[tuple[str, str], str] = {}
    for each in RELATIONS:
        pair = (each.source, each.target)
        on_map = entry(each.source).on_map and entry(each.target).on_map
        if pair[0] in place and pair[1] in place and (on_map or each.basis == "remedy"):
            styles.setdefault(pair, each.basis.split()[0])
    return styles


def _ends(source: Box, target: Box) -> tuple[Point, Point]:
    """Return where an arrow leaves one box and meets the other: at the middle of a side, or askew near a corner."""
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
    """Return a point on the line, a little away from its start, so that no head touches a box."""
    part = _CLEARANCE / (abs(end.y - start.y) or abs(end.x - start.x))
    return Point(start.x + (end.x - start.x) * part, start.y + (end.y - start.y) * part)


def _sign(number: float) -> int:
    return (number > 0) - (number < 0)
