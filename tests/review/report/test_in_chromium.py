"""The page in a browser: no errors, no requests, and readable on screens, phones and paper."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser

from review.report.sample import HOSTILE, clean, hostile, sample
from support.browser import WatchedPage
from tablepatterns_review.report import html

pytestmark = pytest.mark.browser
DESK, PHONE, PAPER = 1280, 390, 680
"""Widths in pixels; that of paper is A4 without its margins."""
BETWEEN = (970, 760, 320)
WINDOWS = [
    *(("sample", width) for width in (DESK, PHONE, PAPER, *BETWEEN)),
    *((name, width) for name in ("clean", "hostile") for width in (PHONE, DESK, PAPER)),
]
IN_EVERY_RUN = {*WINDOWS[:3], ("sample", 320), ("clean", PHONE), ("hostile", PHONE)}
"""The windows in which each run looks at a page; nightly runs look at all."""
LEAST_HOUR = 4.0
"""Pixels."""

BEYOND = """() => [...document.querySelectorAll('main *')].filter(each => {
  const box = each.getBoundingClientRect();
  return box.width > 0 && !each.closest('svg') && !each.closest('thead')
    && (box.right > document.documentElement.clientWidth + 1 || box.left < -1);
}).map(each => each.outerHTML.slice(0, 80))"""


class Shown(WatchedPage):
    """A page on a screen, or on paper."""

    def __init__(self, browser: Browser, path: Path, width: int) -> None:
        super().__init__(browser, path, width)
        self.width = width
        if width == PAPER:
            self.page.emulate_media(media="print")


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    found = {}
    for name, reviewed in (("sample", sample()), ("clean", clean()), ("hostile", hostile())):
        found[name] = folder / f"{name}.html"
        found[name].write_text(html(reviewed), encoding="utf-8")
    return found


@pytest.fixture(
    scope="module",
    params=[pytest.param(each, marks=[] if each in IN_EVERY_RUN else pytest.mark.nightly) for each in WINDOWS],
    ids=[f"{name}-{width}" for name, width in WINDOWS],
)
def shown(request: pytest.FixtureRequest, browser: Browser, pages: dict[str, Path]) -> Iterator[Shown]:
    name, width = request.param
    found = Shown(browser, pages[name], width)
    yield found
    found.page.close()


def test_nothing_fails_and_nothing_but_the_page_is_asked_for(shown: Shown) -> None:
    assert (shown.said, shown.asked) == ([], [shown.url])


def test_the_chart_is_drawn_with_a_mark_for_each_hour(shown: Shown) -> None:
    if shown.width == PAPER or not shown.page.locator("figure").count():
        return
    hours = shown.page.eval_on_selector_all(
        ".day",
        "days => days.map(day => [...day.querySelectorAll('i')].map(hour => hour.getBoundingClientRect().width))",
    )
    assert all(len(day) == 24 and min(day) >= LEAST_HOUR for day in hours)


def test_nothing_is_beside_the_page(shown: Shown) -> None:
    assert shown.page.evaluate("document.documentElement.scrollWidth") <= shown.width
    assert shown.page.evaluate(BEYOND) == []


@pytest.mark.parametrize("media", ["screen", "print"])
@pytest.mark.parametrize("text", [HOSTILE, "x" * 200, "many short words " * 12], ids=["hostile", "long word", "words"])
def test_nothing_is_beside_the_page_at_any_width(
    browser: Browser, tmp_path: Path, text: str, media: Literal["screen", "print"]
) -> None:
    path = tmp_path / "page.html"
    path.write_text(html(hostile(text)), encoding="utf-8")
    page = browser.new_page()
    page.emulate_media(media=media)
    page.goto(path.as_uri())
    page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
    widths: dict[int, int] = {}
    # Paper is never as narrow as a phone
    for width in range(320 if media == "screen" else 440, DESK + 1, 60):
        page.set_viewport_size({"width": width, "height": 800})
        widths[width] = page.evaluate("document.documentElement.scrollWidth")
    page.close()
    assert {width: used for width, used in widths.items() if used > width} == {}


def test_on_a_phone_every_figure_has_its_label(browser: Browser, pages: dict[str, Path]) -> None:
    page = Shown(browser, pages["sample"], PHONE).page
    fields = page.locator("#access-patterns tbody tr").first.locator("td")
    labels = [each.evaluate("each => getComputedStyle(each, '::before').content") for each in fields.all()]
    page.close()
    assert labels[1:6] == ['"Class "', '"Rate "', '"Requests "', '"Billed "', '"Examined "']


@pytest.mark.parametrize("name", ["sample", "clean", "hostile"])
def test_it_prints_on_one_sheet_of_a4_without_what_only_screens_need(
    browser: Browser, pages: dict[str, Path], name: str
) -> None:
    page = Shown(browser, pages[name], PAPER).page
    printed = page.pdf(prefer_css_page_size=True, print_background=True)
    titles = page.locator("h2:visible").all_inner_texts()
    page.close()
    sides = {tuple(map(float, each.split())) for each in re.findall(rb"/MediaBox \[([\d. ]+)\]", printed)}
    assert {(round(wide), round(high)) for _, _, wide, high in sides} == {(595, 842)}
    assert len(re.findall(rb"/Type /Page\b", printed)) == 1
    assert titles == [
        *("Keys, and why", "Access patterns", "Hot partitions", "Limits", "Consistency"),
    ]


def test_the_summary_and_the_keys_begin_on_the_first_screen(browser: Browser, pages: dict[str, Path]) -> None:
    for width in (DESK, PHONE):
        page = Shown(browser, pages["sample"], width).page
        ends = page.locator("nav").evaluate("each => each.getBoundingClientRect().bottom")
        keys, calls = (page.locator(name).evaluate("each => each.offsetTop") for name in ("#keys", "#access-patterns"))
        page.close()
        assert ends < keys < calls
        assert keys < 900


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_follows_the_readers_colours(browser: Browser, pages: dict[str, Path], scheme: str) -> None:
    page = browser.new_page(color_scheme="dark" if scheme == "dark" else "light")
    page.goto(pages["sample"].as_uri())
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    letters = page.evaluate("getComputedStyle(document.querySelector('.day b')).color")
    page.close()
    assert (brightness(background) > 380, brightness(letters) > 380) == (scheme == "light", scheme == "dark")


def brightness(colour: str) -> int:
    return sum(map(int, re.findall(r"\d+", colour)[:3]))
