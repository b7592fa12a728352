"""The design on the page, in a browser: choose an access pattern, print, and read on a phone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from review.detailed import HOSTILE, reviewed
from review.report.test_in_chromium import BEYOND, brightness
from support.browser import WatchedPage
from tablepatterns import EntitySet, Key, connect
from tablepatterns_review import Design, Field, Query, Shape, declare_set, read_design, review
from tablepatterns_review.report import html
from tablepatterns_review.report.formatting import plain
from tablepatterns_review.result import Walkthrough

pytestmark = pytest.mark.browser
DOCS = Path(__file__).parents[3] / "docs" / "reviews"
MARKED = "rows => rows.map(row => [row.dataset.row, row.querySelector('.mark').textContent])"


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("design") / "design.html"
    found.write_text(html(reviewed()), encoding="utf-8")
    return found


@pytest.fixture
def page(browser: Browser, path: Path) -> Iterator[Page]:
    with opened(browser, path, 1280) as shown:
        yield shown


@contextmanager
def opened(browser: Browser, path: Path, width: int, **options: str) -> Iterator[Page]:
    """Open a page; at the end, nothing may have been said or asked for."""
    shown = WatchedPage(browser, path, width, **options)
    try:
        yield shown.page
    finally:
        shown.page.close()
    assert (shown.said, [each.partition("#")[0] for each in shown.asked]) == ([], [shown.url])


def walkthrough(name: str) -> tuple[int, Walkthrough]:
    found = reviewed()
    assert found.simulation is not None
    at = next(at for at, each in enumerate(found.measured) if each.access.name == name)
    return at, next(each for each in found.simulation.walkthroughs if each.access.name == name)


def expected(walk: Walkthrough, *, only: int | None = None) -> dict[str, str]:
    """Return the words at each row that a call, or one of its requests, touches."""
    steps = walk.steps if only is None else walk.steps[only : only + 1]
    words: dict[int, list[str]] = {}
    for word in ("read", "returned", "written"):
        for number in dict.fromkeys(number for step in steps for number in getattr(step, word)):
            words.setdefault(number, []).append(word)
    return {str(number): ", ".join(texts) for number, texts in words.items()}


def marked(page: Page) -> dict[str, str]:
    found: list[tuple[str, str]] = page.locator("tr.row:visible").evaluate_all(MARKED)
    return {number: words for number, words in found if words}


def test_an_access_pattern_is_chosen_with_the_keyboard(page: Page) -> None:
    page.locator("#choose-all").focus()
    calls = [each.access.name for each in reviewed().measured]
    for at, name in enumerate(calls):
        page.keyboard.press("ArrowDown")
        assert page.locator(".call:visible h3").all_inner_texts() == [f"{reviewed().measured[at].of.name}: {name}"]
        assert marked(page) == expected(walkthrough(name)[1]), name
    page.keyboard.press("ArrowDown")
    assert page.locator(".call:visible").count() == 0
    assert marked(page) == {}


def test_a_request_shows_its_own_rows(page: Page) -> None:
    at, walk = walkthrough("new phone")
    page.check(f"#choose-{at}")
    for number in range(len(walk.steps)):
        page.locator(".call:visible .steps button").nth(number).focus()
        page.keyboard.press("Enter")
        assert marked(page) == expected(walk, only=number)
    page.keyboard.press("Enter")
    assert marked(page) == expected(walk)


def test_what_a_crash_leaves_is_shown_at_its_request(page: Page) -> None:
    at, walk = walkthrough("new phone")
    page.check(f"#choose-{at}")
    texts = page.locator(".call:visible .steps li").all_inner_texts()
    assert len(texts) == len(walk.steps)
    for step, text in zip(walk.steps, texts, strict=True):
        assert plain(step.request) in text
        assert (step.crash or "") in text
        assert (step.recovery or "") in text


def test_a_link_in_a_finding_chooses_its_access_pattern(page: Page) -> None:
    link = page.locator('.finding a[href^="#call-"]').first
    at = (link.get_attribute("href") or "").removeprefix("#call-")
    link.click()
    page.locator(f"#call-{at}").wait_for()
    assert page.locator(f"#choose-{at}").is_checked()
    assert page.locator(".call:visible").count() == 1


@pytest.mark.parametrize(
    "width", [1280, pytest.param(760, marks=pytest.mark.nightly), pytest.param(400, marks=pytest.mark.nightly), 320]
)
def test_nothing_is_beside_the_page(browser: Browser, path: Path, width: int) -> None:
    with opened(browser, path, width) as page:
        page.check(f"#choose-{walkthrough('hire')[0]}")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.evaluate(BEYOND) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_rows_can_be_read_in_light_and_in_dark(browser: Browser, path: Path, scheme: str) -> None:
    with opened(browser, path, 1280, color_scheme=scheme) as page:
        page.check(f"#choose-{walkthrough('employees by last name')[0]}")
        row = page.locator("tr.returned td").first
        behind = row.evaluate("each => getComputedStyle(each).backgroundColor")
        letters = row.evaluate("each => getComputedStyle(each).color")
        assert (brightness(behind) > 380, brightness(letters) > 380) == (scheme == "light", scheme == "dark")


def test_paper_is_one_sheet_with_the_keys_and_every_access_pattern(page: Page) -> None:
    page.emulate_media(media="print")
    assert page.locator(".screen :visible").count() == 0
    names = page.locator(".printed section:nth-of-type(2) tbody tr td:first-child").all_inner_texts()
    assert sorted(names) == sorted(f"{each.of.name}: {each.access.name}" for each in reviewed().measured)
    assert len(re.findall(rb"/Type /Page\b", page.pdf(prefer_css_page_size=True))) == 1


@pytest.fixture
def naive(browser: Browser, tmp_path: Path) -> Iterator[Page]:
    path = tmp_path / "naive.html"
    path.write_text(html(review(read_design(DOCS / "employees_naive.toml"))), encoding="utf-8")
    with opened(browser, path, 1280) as shown:
        yield shown


def test_a_finding_that_is_folded_is_opened_by_a_link(naive: Page) -> None:
    folded = naive.locator(".folded .finding").first
    assert not folded.is_visible()
    naive.evaluate("id => { location.hash = id }", folded.get_attribute("id"))
    folded.wait_for()


def test_a_scan_shows_how_many_rows_it_reads_for_the_one_that_it_returns(naive: Page) -> None:
    naive.get_by_label("Employees: employee by e-mail").check()
    assert naive.locator("tr.read").count() == 6
    assert naive.locator("tr.returned").count() == 1
    said = naive.locator(".status").inner_text()
    assert said == "In the sample: 6 read, 1 returned, 0 written. At the declared size: 676 read, 1 returned."


def test_without_scripts_everything_is_there(browser: Browser, path: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(path.as_uri())
    assert page.locator(".call:visible").count() == len(reviewed().measured)
    assert page.locator(".stored:visible").count() >= 2
    context.close()


def test_kinds_of_rows_differ_by_more_than_their_color(page: Page) -> None:
    kinds = page.locator(".legend .symbol").all()
    assert len({each.inner_text() for each in kinds}) == len(kinds) == 4
    symbols = {
        (row.get_attribute("class") or "").split(" ")[1]: row.locator(".symbol").inner_text()
        for row in page.locator("tr.row:visible").all()
    }
    assert len(set(symbols.values())) == len(symbols) == 4


def test_hostile_names_are_text(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "hostile.html"
    employees = EntitySet(connect(), "Employees", Key("{Department}", "empid_{EmployeeId:06d}"))
    shape = Shape("Employee", 20, {"Department": Field(distinct=2), "EmployeeId": Field("int32")})
    lookup = Query(HOSTILE, {"Department": "="}, rate=10)
    found = review(Design(HOSTILE, (declare_set(employees, shape=shape, queries=[lookup]),)))
    path.write_text(html(found), encoding="utf-8")
    with opened(browser, path, 1280) as page:
        assert page.locator(".screen h1").inner_text() == plain(HOSTILE)
        assert page.locator(".choice label").nth(1).inner_text() == f"Employees: {plain(HOSTILE)}"
        page.check("#choose-0")
        assert page.locator(".call:visible h3").inner_text() == f"Employees: {plain(HOSTILE)}"
        assert "\u2028" not in page.content()
