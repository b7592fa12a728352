"""The pattern map has a box for each pattern, arrows that cross nothing, and is deterministic."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from xml.etree.ElementTree import Element

import pytest
from defusedxml.ElementTree import fromstring
from tools.pages.pattern_map import HEIGHT, WIDTH, Arrow, Box, Point, arrows, boxes, render

from tablepatterns.catalog import ENTRIES, RELATIONS, entry

ROOT = Path(__file__).parents[2]
SVG = "{http://www.w3.org/2000/svg}"
ON_MAP = {each.name for each in ENTRIES if each.on_map}
REMEDIES = {"partition_spread", "blob_log"}
LETTER_WIDTH = 11
"""Of a bold letter of 19 pixels, in a font as wide as they come."""


@pytest.fixture(scope="module")
def drawn() -> Element:
    root: Element = fromstring(render())
    return root


def side(a: Point, b: Point, c: Point) -> float:
    """Return on which side of the line from a to b the point c lies."""
    return (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x)


def cross(one: tuple[Point, Point], other: tuple[Point, Point]) -> bool:
    """Tell whether two lines have a point in common; two that are parallel have none."""
    sides = (side(*one, other[0]), side(*one, other[1]), side(*other, one[0]), side(*other, one[1]))
    return any(sides) and sides[0] * sides[1] <= 0 and sides[2] * sides[3] <= 0


def edges(box: Box) -> list[tuple[Point, Point]]:
    left, top, right, bottom = box.x, box.y, box.x + box.width, box.y + box.height
    corners = [Point(left, top), Point(right, top), Point(right, bottom), Point(left, bottom)]
    return list(zip(corners, corners[1:] + corners[:1], strict=True))


def outside(box: Box, point: Point) -> bool:
    return not (box.x <= point.x <= box.x + box.width and box.y <= point.y <= box.y + box.height)


def test_there_is_a_box_for_each_pattern_and_anti_pattern_and_the_remedies() -> None:
    assert boxes().keys() == ON_MAP | REMEDIES


def test_no_two_boxes_overlap_and_all_are_on_the_map() -> None:
    for one, other in itertools.combinations(boxes().values(), 2):
        apart = abs(one.x - other.x) >= one.width or abs(one.y - other.y) >= one.height
        assert apart, (one, other)
    for box in boxes().values():
        assert 0 <= box.x <= WIDTH - box.width
        assert 0 <= box.y <= HEIGHT - box.height


def test_every_relation_of_the_guide_is_an_arrow_and_so_are_the_remedies() -> None:
    drawn_arrows = {(each.source, each.target) for each in arrows()}
    drawn_arrows |= {(each.target, each.source) for each in arrows() if each.both}
    assert drawn_arrows == {
        (each.source, each.target)
        for each in RELATIONS
        if {each.source, each.target} <= ON_MAP or each.basis == "remedy"
    }


def test_what_leads_both_ways_is_one_arrow_with_two_heads(drawn: Element) -> None:
    both = {frozenset((each.source, each.target)) for each in arrows() if each.both}
    assert both == {
        frozenset(("intra_partition_index", "inter_partition_index")),
        frozenset(("log_tail", "prepend_append")),
    }
    heads = [len(group.findall(f"{SVG}polygon")) for group in drawn.findall(f"{SVG}g[@class]/.")]
    assert heads.count(2) == len(both)


@pytest.mark.parametrize("arrow", arrows(), ids=lambda arrow: f"{arrow.source}-{arrow.target}")
def test_no_arrow_runs_through_a_box(arrow: Arrow) -> None:
    for box in boxes().values():
        assert outside(box, arrow.start)
        assert outside(box, arrow.end)
        assert not any(cross((arrow.start, arrow.end), edge) for edge in edges(box)), box


def test_no_two_arrows_cross() -> None:
    lines = [(each.start, each.end) for each in arrows()]
    assert [pair for pair in itertools.combinations(lines, 2) if cross(*pair)] == []


def test_every_box_is_a_link_with_its_title_as_text(drawn: Element) -> None:
    links = {(link.get("id") or "").removeprefix("map-"): link for link in drawn.findall(f"{SVG}a")}
    assert links.keys() == boxes().keys()
    for name, link in links.items():
        words = " ".join(text.text or "" for text in link.findall(f"{SVG}text"))
        assert words == entry(name).title
        assert (link.get("href") == f"patterns/{name}.html") == bool(entry(name).modules)


def test_the_link_of_an_anti_pattern_leads_to_its_place_in_the_catalog(drawn: Element) -> None:
    links = {link.get("id"): link.get("href") for link in drawn.findall(f"{SVG}a")}
    assert links["map-log_data"] == "catalog.html#log-data"
    assert links["map-prepend_append"] == "catalog.html#prepend-append"


def test_every_line_of_text_fits_its_box(drawn: Element) -> None:
    for link in drawn.findall(f"{SVG}a"):
        lines = link.findall(f"{SVG}text")
        assert max(len(line.text or "") for line in lines) * LETTER_WIDTH <= boxes()["log_tail"].width
        box = boxes()[(link.get("id") or "").removeprefix("map-")]
        assert all(box.y < float(line.get("y") or 0) < box.y + box.height for line in lines)


def test_kinds_differ_in_shape_and_not_in_colour_alone(drawn: Element) -> None:
    for link in drawn.findall(f"{SVG}a"):
        name = (link.get("id") or "").removeprefix("map-")
        anti = entry(name).kind == "anti-pattern"
        assert (link.find(f"{SVG}path") is not None) == anti
        assert (link.find(f"{SVG}rect") is not None) != anti
        assert (link.get("class") == "remedy") == (name in REMEDIES)


def test_the_map_says_in_words_what_it_shows(drawn: Element) -> None:
    words = drawn.findtext(f"{SVG}desc") or ""
    assert drawn.findtext(f"{SVG}title") == "Pattern map"
    assert [each.title for each in map(entry, boxes().keys() - {"period_tables"}) if each.title not in words] == []


def test_the_map_loads_nothing_and_runs_nothing() -> None:
    text = render()
    assert re.findall(r"<script|<image|@import|url\(|on\w+=", text) == []
    assert set(re.findall(r'"(https?://[^"]+)"', text)) == {"http://www.w3.org/2000/svg"}


def test_the_map_is_the_same_each_time() -> None:
    assert render() == render()
