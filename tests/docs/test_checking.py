"""Filters and designs that readers paste into a page: in CPython, and in a browser."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from playwright.sync_api import expect
from tools.site import assets, checking

from support.browser import chromium
from support.page_programs import DOCS
from support.site import Requests, build, serve
from tablepatterns.review import explain

FILTER = "PartitionKey eq 'Sales' and Email eq 'jo'"
SIZE = (1_000_000, 40, 500)
NAIVE = (DOCS / "reviews" / "employees_naive.toml").read_text("utf-8")
FIRST = 120_000


def asked(method: str, *arguments: object) -> dict[str, str]:
    found: dict[str, str] = json.loads(checking.answer(json.dumps([method, arguments])))
    return found


def test_a_filter_alone_is_explained_as_the_command_does() -> None:
    assert asked("explain", FILTER, "", "", *SIZE)["text"].startswith(f"{explain(FILTER)}\n\n")


def test_with_keys_an_index_is_suggested() -> None:
    found = asked("explain", FILTER, "{Department}", "empid_{EmployeeId:06d}", *SIZE)["text"]
    assert "IntraPartitionIndex" in found


@pytest.mark.parametrize(
    ("query", "amount"),
    [
        ("PartitionKey eq 'a' and RowKey eq 'b'", "it reads 1 entity."),
        ("PartitionKey eq 'a' and RowKey gt 'b'", "up to 25,000 entities (12.5 MB)"),
        ("PartitionKey eq 'a' and Age gt 3", "all of 25,000 entities (12.5 MB). If all of them match, that takes 25 "),
        ("", "all of 1,000,000 entities (500.0 MB). If all of them match, that takes 1,000 transactions"),
    ],
)
def test_the_size_of_the_table_says_how_much_is_read(query: str, amount: str) -> None:
    assert amount in asked("explain", query, "", "", *SIZE)["text"]


def test_mistakes_are_told() -> None:
    assert "position 8" in asked("explain", "Email qe 'jo'", "", "", *SIZE)["error"]
    assert "PartitionKey" in asked("explain", FILTER, "{", "a", *SIZE)["error"]
    assert "name" in asked("review", "name = 3")["error"]


def test_a_design_is_reviewed_as_the_command_does() -> None:
    assert "<h1>Employees, naive</h1>" in asked("review", NAIVE)["html"]


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a site with both forms."""
    pages = {
        "index.md": "# Site\n\n<!-- explain in the browser -->\n\n<!-- end -->\n\n"
        "<!-- review in the browser -->\n\n<!-- end -->\n",
        "reviews/employees_naive.toml": NAIVE,
    }
    with serve(build(tmp_path_factory.mktemp("site"), pages)) as url:
        yield url


@pytest.mark.browser
def test_both_forms_answer_in_a_browser(url: str) -> None:
    missing = [
        name for name, version in assets.pinned_packages() if not list(assets.WHEELS.glob(f"{name}-{version}-*"))
    ]
    assert missing == [], "make test downloads them"
    with chromium() as browser:
        page = browser.new_page(viewport={"width": 400, "height": 800})
        requests = Requests(page, url)
        page.goto(url)
        assert requests.early == []
        page.get_by_role("button", name="Explain a filter").click()
        expect(page.locator(".tp-out")).to_contain_text("partition scan", timeout=FIRST)
        page.get_by_label("$filter").fill("Email qe 'jo'")
        page.get_by_role("button", name="Explain", exact=True).click()
        expect(page.locator(".tp-out.tp-error")).to_contain_text("position 8")
        page.get_by_role("button", name="Review a design").click()
        expect(page.frame_locator(".tp-report").locator("h1")).to_have_text("Employees, naive", timeout=FIRST)
        assert page.evaluate("document.documentElement.scrollWidth") <= 400
        assert requests.elsewhere == []
