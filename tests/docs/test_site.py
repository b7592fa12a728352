"""The site: it builds without a warning, and links lead somewhere, on it and between the files as they are."""

from __future__ import annotations

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from support.page_programs import DOCS

MADE_OF = {"_build", "data"}
FILES = sorted(path for path in DOCS.rglob("*.md") if not MADE_OF.intersection(path.parts))
FENCED = re.compile(r"^(`{3,}|:{3,}).*?^\1$", re.MULTILINE | re.DOTALL)
TABLE = re.compile(r"(?:^|\n\n)(\|.*)\n(.*)")
LINK = re.compile(r"\]\((?!https?:|mailto:)([^)#\s]*)(?:#([^)\s]+))?\)")


def prose(path: Path) -> str:
    return FENCED.sub("", path.read_text(encoding="utf-8"))


def anchors(path: Path) -> set[str]:
    """Return what the headings of a page are called in links, as GitHub and MyST make it of their text."""
    headings = re.findall(r"^#+ (.+)$", prose(path), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def dead_links(path: Path) -> list[str]:
    """Return the links of a file that lead nowhere where files are looked at as they are."""
    found = []
    for place, anchor in LINK.findall(prose(path)):
        target = path.parent / place if place else path
        if not target.exists() or (anchor and target.suffix == ".md" and anchor not in anchors(target)):
            found.append(f"{place}#{anchor}" if anchor else place)
    return found


class Page(HTMLParser):
    """The links and the ids of a page of the site."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.ids: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value for name, value in attrs if value}
        self.ids |= {given[name] for name in ("id", "name") if name in given}
        # What the theme loads carries a digest of its content behind a question mark
        self.links += [given[name] for name in ("href", "src") if name in given]


def dead_links_of_site(site: Path) -> list[str]:
    """Return the links between the pages of a built site that lead nowhere."""
    pages = {path: Page(path) for path in site.rglob("*.html")}
    return [
        f"{path.relative_to(site)}: {link}"
        for path, page in pages.items()
        for link in page.links
        if _dead(path, link, pages)
    ]


def _dead(path: Path, link: str, pages: dict[Path, Page]) -> bool:
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return False
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if not target.exists():
        return True
    return bool(parts.fragment) and target in pages and unquote(parts.fragment) not in pages[target].ids


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(DOCS).as_posix())
def test_the_links_between_files_lead_somewhere(path: Path) -> None:
    assert dead_links(path) == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(DOCS).as_posix())
def test_every_table_has_a_line_below_its_headings(path: Path) -> None:
    assert [headings for headings, line in TABLE.findall(prose(path)) if not set(line) <= set("|-: ")] == []


def test_a_broken_link_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# One\n[a](#one) [b](#two) [c](page.md#one) [d](other.md)\n```\n[e](no.md)\n```\n", "utf-8")
    assert dead_links(page) == ["#two", "other.md"]


def test_a_broken_link_of_the_site_is_found(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text('<p id="one"><a href="#one"></a><a href="#two"></a><img src="b.svg"></p>', "utf-8")
    assert dead_links_of_site(tmp_path.resolve()) == ["a.html: #two", "a.html: b.svg"]


def test_the_site_builds_without_a_warning_and_its_links_lead_somewhere(tmp_path: Path) -> None:
    site, options = tmp_path.resolve() / "site", ["-q", "-W", "--keep-going", "-n", "-E", "-d", str(tmp_path / "read")]
    # With a bare theme: the menu on each page takes a third of the time, and has no text of ours
    command = [sys.executable, "-m", "sphinx", *options, "-D", "html_theme=basic", "-b", "html", str(DOCS), str(site)]
    ran = subprocess.run(command, capture_output=True, text=True)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert (site / "patterns" / "archive.html").exists()
    assert dead_links_of_site(site) == []
