"""Draw the map of a design: its sets, their derived data, and the queues and containers of writes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from ..model import Place
from .formatting import plain, shortened
from .markup import Markup, element, joined

SYMBOLS: Final = {
    "primary": ("●", "entity"),
    "copy": ("◆", "index copy"),
    "list": ("☰", "list"),
    "summary": ("Σ", "summary"),
    "part": ("▤", "further row of an entity"),
}
"""The symbol and the name of each kind of row."""
_HEIGHT, _GAP, _INSET, _TITLE = 62, 12, 14, 26
_CALLED: Final = {
    "set": "set",
    "copy": "index",
    "list": "list",
    "summary": "summary",
    "queue": "queue",
    "log": "blob log",
    "archive": "archive",
}
_OWN: Final = {"set": "Table", "log": "Container"}
"""What a place of its own is in."""
_APART: Final = ("container", "queue", "archive")
"""What is beside the derived data of a set, from top to bottom."""


@dataclass(frozen=True)
class _Columns:
    """The positions of boxes.

    :param width: the width of the drawing
    :param left: the left edges of sets, of derived data, and of queues and containers
    :param box: the width of the boxes in each of these columns
    :param is_stacked: whether the derived data of a set is below it, instead of beside it
    """

    width: int
    left: tuple[int, int, int]
    box: tuple[int, int, int]
    is_stacked: bool


_WIDE: Final = _Columns(1020, (_INSET, 410, 780), (350, 330, 226), is_stacked=False)
_NARROW: Final = _Columns(350, (_INSET, 34, 34), (322, 302, 302), is_stacked=True)


def design_map(places: Sequence[Place]) -> Markup:
    """Return the map as two drawings, for wide and for narrow screens.

    :param places: the places of the sample
    """
    return joined(
        *(
            element("div", _drawing(places, columns), class_=name, role="img", aria_label=_text_alternative(places))
            for name, columns in (("wide", _WIDE), ("narrow", _NARROW))
        )
    )


def _text_alternative(places: Sequence[Place]) -> str:
    """Return a text alternative of the map."""
    return "; ".join(f"{plain(each.name)}: {_kind(each)} of {plain(each.of)} in {plain(each.where)}" for each in places)


def _kind(place: Place) -> str:
    return _CALLED.get(place.kind, "container")


def _drawing(places: Sequence[Place], columns: _Columns) -> Markup:
    drawn, y = list[Markup](), 0
    sets = sorted(
        (each for each in places if each.kind in _OWN),
        key=lambda each: (list(_OWN).index(each.kind), each.where.lower()),
    )
    for (kind, table), group in groupby(sets, key=lambda each: (each.kind, each.where)):
        inner, height = _table(list(group), places, columns, y + _TITLE)
        frame = element(
            "rect",
            x="1",
            y=str(y + 1),
            width=str(columns.width - 2),
            height=str(height + _TITLE - 2),
            rx="8",
            class_="frame",
        )
        title = element("text", f"{_OWN[kind]} {shortened(table, 40)}", x=str(_INSET), y=str(y + 19), class_="title")
        drawn += [frame, title, *inner]
        y += _TITLE + height + _GAP
    size = {"viewBox": f"0 0 {columns.width} {max(1, y - _GAP)}"}
    return element("svg", *drawn, aria_hidden="true", **size)


def _table(sets: Sequence[Place], places: Sequence[Place], columns: _Columns, top: int) -> tuple[list[Markup], int]:
    """Return the sets of one table with their derived data, and the height."""
    drawn, y = list[Markup](), top
    for declared in sets:
        own = [each for each in places if each.of == declared.name and each.kind not in _OWN]
        derived = [each for each in own if each.kind not in _APART]
        others = sorted((each for each in own if each.kind in _APART), key=_order)
        drawn.append(_box(declared, columns, 0, y))
        start = y + (_HEIGHT + _GAP // 2 if columns.is_stacked else 0)
        for at, each in enumerate(derived):
            drawn += _joined_to(each, columns, 1, y, start + at * (_HEIGHT + _GAP // 2))
        below = start + len(derived) * (_HEIGHT + _GAP // 2) if columns.is_stacked else y
        for at, each in enumerate(others):
            start = below + at * (_HEIGHT + _GAP // 2)
            if each.kind == "archive":
                # A worker moves entities there, from the queue above
                line = f"M{columns.left[2] + 40} {start - _GAP // 2}v{_GAP // 2}"
                drawn.append(element("path", d=line, class_="late"))
                drawn.append(_box(each, columns, 2, start))
            else:
                drawn += _joined_to(each, columns, 2, y, start)
        rows = 1 + len(own) if columns.is_stacked else max(1, len(derived), len(others))
        y += rows * (_HEIGHT + _GAP // 2) + _GAP // 2
    return drawn, y - top


def _order(place: Place) -> tuple[int, bool]:
    """Sort queues and containers, with the queue of the archive just before it."""
    return _APART.index(place.kind), plain(place.name).endswith("-archive")


def _joined_to(place: Place, columns: _Columns, column: int, set_top: int, y: int) -> Iterator[Markup]:
    """Yield a box and the line to its set: dashed if it is updated later."""
    middle, left = y + _HEIGHT // 2, columns.left[column]
    if columns.is_stacked:
        path = f"M{columns.left[0] + 8} {set_top + _HEIGHT}V{middle}H{left}"
    else:
        right = columns.left[0] + columns.box[0]
        # Queues are below the derived data, because the line must not cross that column
        turn = right + 20 if column == 1 else right + 32
        path = (
            f"M{right} {set_top + _HEIGHT // 2}H{turn}V{middle}H{left}"
            if column == 1
            else (f"M{right} {set_top + 8}H{turn}V{y - 3}H{left - 14}V{middle}H{left}")
        )
    yield element("path", d=path, class_="late" if place.is_eventual else "same")
    yield _box(place, columns, column, y)


def _box(place: Place, columns: _Columns, column: int, y: int) -> Markup:
    kind = "primary" if place.kind == "set" else "container" if place.kind == "log" else place.kind
    symbol, _ = SYMBOLS.get(kind, ("✉", "") if kind == "queue" else ("▣", ""))
    width, left = columns.box[column], columns.left[column]
    partition, _, row = plain(place.template).partition(" | ")
    notes = [f"PartitionKey {partition}", f"RowKey {row}"] if row else [_kind(place), partition]
    if place.kind == "archive":
        notes.append("of blobs" if place.where == "blobs" else f"in table {plain(place.where)}")
    lines = [
        element("text", _cut(note, (width - 20) // 7), x=str(left + 10), y=str(y + 38 + 16 * at), class_="key")
        for at, note in enumerate(filter(None, notes))
    ]
    return element(
        "g",
        element("rect", x=str(left), y=str(y), width=str(width), height=str(_HEIGHT), rx="5", class_=f"box {kind}"),
        element("text", symbol, x=str(left + 10), y=str(y + 20), class_=f"symbol {kind}"),
        element(
            "text", shortened(plain(place.name), (width - 40) // 8), x=str(left + 30), y=str(y + 20), class_="name"
        ),
        *lines,
    )


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
