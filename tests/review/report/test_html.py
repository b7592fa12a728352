"""The HTML page: one file that makes no request and runs only its own script."""

from __future__ import annotations

import re
from base64 import b64encode
from dataclasses import replace
from functools import cache
from hashlib import sha256
from html.parser import HTMLParser
from importlib.resources import files

import pytest
from hypothesis import given
from hypothesis import strategies as st

from review import detailed
from review.report.sample import HOSTILE, clean, hostile, sample
from tablepatterns_review.report import html
from tablepatterns_review.report import html as written
from tablepatterns_review.report.formatting import effect_of_all, plain
from tablepatterns_review.report.tables import sheets

VOID = {"meta", "br", "input"}


class Page(HTMLParser):
    """What is on a page."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.unbalanced: list[str] = []
        self.feed(source)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.unbalanced.append(tag)

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


@pytest.fixture(scope="module")
def source() -> str:
    return html(sample())


@pytest.fixture(scope="module")
def page(source: str) -> Page:
    return Page(source)


def test_every_tag_that_is_opened_is_closed(page: Page) -> None:
    assert (page.open, page.unbalanced) == ([], [])


def test_only_its_own_script_runs_and_nothing_is_asked_for(page: Page, source: str) -> None:
    assert {tag for tag, _ in page.tags} & {
        "link",
        "iframe",
        "object",
        "embed",
        "img",
        "base",
        "form",
    } == set()
    named = [value for _, attrs in page.tags for key, value in attrs.items() if key in ("src", "href", "xlink:href")]
    assert [value for value in named if value and not value.startswith(("#", "https://learn.microsoft.com/"))] == []
    assert [key for _, attrs in page.tags for key in attrs if key.startswith("on")] == []
    assert "@import" not in source
    policy = next(attrs["content"] for tag, attrs in page.tags if attrs.get("http-equiv") == "Content-Security-Policy")
    assert policy is not None
    assert policy.startswith("default-src 'none'")
    own = files("tablepatterns_review.report").joinpath("page.js").read_text("utf-8")
    assert f"script-src 'sha256-{b64encode(sha256(own.encode()).digest()).decode()}'; " in policy
    assert scripts(source) == [own]


def scripts(source: str) -> list[str]:
    """Return the scripts that a page runs."""
    return re.findall(r"<script>(.*?)</script>", source, re.DOTALL)


def test_no_two_parts_have_one_name(page: Page) -> None:
    names = [attrs["id"] for _, attrs in page.tags if attrs.get("id")]
    assert len(set(names)) == len(names)


def test_every_link_within_the_page_leads_somewhere(page: Page) -> None:
    names = {attrs["id"] for _, attrs in page.tags if attrs.get("id")}
    links = [attrs["href"] or "" for tag, attrs in page.tags if tag == "a" and (attrs["href"] or "").startswith("#")]
    assert links
    assert [link for link in links if link[1:] not in names] == []


def test_everything_that_the_tables_say_is_on_the_page(page: Page) -> None:
    said = {text.strip() for text in page.texts}
    cells = [cell for sheet in sheets(sample()) for row in sheet.rows for cell in row]
    assert [cell for cell in cells if cell.text and cell.text not in said] == []
    assert [cell for cell in cells if cell.code and cell.code not in said] == []
    assert [each.says for each in sample().findings if each.says not in said] == []


def test_what_a_design_names_is_text_on_the_page() -> None:
    page = Page(html(hostile()))
    assert (page.open, page.unbalanced) == ([], [])
    assert [tag for tag, _ in page.tags].count("script") == 1
    assert plain(HOSTILE) in {text.strip() for text in page.texts}


def test_the_same_review_gives_the_same_page(source: str) -> None:
    assert html(sample()) == source


def test_the_effect_of_all_changes_is_on_the_screen_and_on_the_printed_sheet(source: str) -> None:
    said = effect_of_all(sample())
    assert said.startswith("All 2 tested changes together: requests a second 4,716")
    assert source.count(said) == 2
    assert "changes together" not in html(clean())


def test_a_design_without_findings_has_no_list_of_them() -> None:
    assert 'class="finding ' in written(sample())
    assert 'class="finding ' not in written(clean())


def test_colours_differ_enough_from_what_is_behind_them(source: str) -> None:
    css = source[source.index("<style>") : source.index("</style>")]
    for block in re.findall(r":root \{(.*?)\}", css, re.DOTALL):
        colour = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", block))
        pairs = [(name, "page") for name in ("ink", "muted", "link", "serious", "warning", "note", "good")]
        kinds = ("primary", "copy", "list", "summary", "part")
        pairs += [(name, behind) for name in kinds for behind in ("page", "panel")]
        pairs += [("ink", behind) for behind in ("read", "returned", "written")]
        pairs += [(name, f"{name}-tint") for name in ("serious", "warning", "note", "good")]
        assert [pair for pair in pairs if contrast(colour[pair[0]], colour[pair[1]]) < 4.5] == []


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colours as WCAG 2 defines it."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def luminance(colour: str) -> float:
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@cache
def detailed_page() -> Page:
    return Page(html(detailed.reviewed()))


@given(name=st.text(max_size=40))
def test_no_name_changes_the_structure_of_a_detailed_page(name: str) -> None:
    found = detailed.reviewed()
    assert found.simulation is not None
    first, *others = found.measured
    renamed = replace(first.access, name=name)
    walks = tuple(
        replace(walk, access=renamed) if walk.access is first.access else walk for walk in found.simulation.walkthroughs
    )
    page = Page(
        html(
            replace(
                found,
                design=replace(found.design, name=name),
                measured=(replace(first, access=renamed, how=name), *others),
                simulation=replace(found.simulation, walkthroughs=walks),
            )
        )
    )
    assert (page.open, page.unbalanced) == ([], [])
    tags = {"script", "style", "section", "article", "tr", "button", "input", "svg"}
    assert [tag for tag, _ in page.tags if tag in tags] == [
        tag for tag, _ in detailed_page().tags if tag in tags - {"li"}
    ]
    assert not any(key.startswith("on") for _, attrs in page.tags for key in attrs)
