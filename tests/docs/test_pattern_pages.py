"""The pages of patterns have the same headings in the same order, and the required content."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from schedules.schedule import all_schedules
from support.page_programs import DOCS
from tablepatterns.catalog import ENTRIES, entry

PAGES = sorted((DOCS / "patterns").glob("*.md"))
KINDS = {"pattern", "relationship", "implementation"}
HEADINGS = [
    "Goal",
    "Problem",
    "Solution",
    "Ordering and keys",
    "Code",
    "Guarantees",
    "What can go wrong",
    "Cost",
    "When to use",
    "When not",
    "Related",
]
MARKERS = {
    "Code": "code",
    "Cost": "costs",
}
"""The generated parts that each section must have."""


def sections(path: Path) -> dict[str, str]:
    """Return the text below each heading of the second level."""
    _, *parts = re.split(r"^## (.+)\n", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return dict(zip(parts[::2], parts[1::2], strict=True))


def name_of(path: Path) -> str:
    return path.stem


def test_every_pattern_of_the_catalog_has_a_page() -> None:
    wanted = {each.name for each in ENTRIES if each.kind in KINDS}
    assert wanted - {path.stem for path in PAGES} == set()


def test_every_schedule_is_shown_on_the_page_that_it_is_named_for_or_linked() -> None:
    pages = {path.stem: path.read_text(encoding="utf-8") for path in PAGES}
    shown = {stem for stem, text in pages.items() if "<!-- make pages: schedule -->" in text}
    linked = {name for stem, text in pages.items() for name in re.findall(rf"\]\(schedules/({stem}-\w+)\.txt\)", text)}
    assert shown | linked == all_schedules().keys()


@pytest.mark.parametrize("path", PAGES, ids=name_of)
class TestEveryPage:
    def test_is_of_an_entry_of_the_catalog(self, path: Path) -> None:
        assert entry(path.stem).name == path.stem
        assert path.read_text(encoding="utf-8").startswith(f"# {entry(path.stem).title}\n")

    def test_has_the_fixed_headings_in_order_and_text_below_each(self, path: Path) -> None:
        found = sections(path)
        assert list(found) == HEADINGS
        assert [heading for heading, text in found.items() if not text.strip()] == []

    def test_takes_generated_parts_from_their_sources(self, path: Path) -> None:
        found = sections(path)
        missing = [each for heading, each in MARKERS.items() if f"<!-- make pages: {each} " not in found[heading]]
        assert missing == []

    def test_ends_with_the_generated_sections(self, path: Path) -> None:
        generated = path.read_text(encoding="utf-8").partition("\n<!-- make pages: when-to-use")[2]
        assert re.findall(r"^## (.+)$", generated, re.MULTILINE) == HEADINGS[-3:]
        assert generated.endswith("\n<!-- end -->\n")

    def test_shows_its_keys_in_a_table(self, path: Path) -> None:
        assert re.search(r"^\|.*RowKey", sections(path)["Ordering and keys"], re.MULTILINE)
