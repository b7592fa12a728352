"""The site: it builds without a warning, and links lead somewhere, on it and between the files as they are."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from programs import DOCS

MADE_OF = {"_build", "proof", "fidelity"}
FILES = sorted(path for path in DOCS.rglob("*.md") if not MADE_OF.intersection(path.parts))
FENCED = re.compile(r"^(`{3,}|:{3,}).*?^\1$", re.MULTILINE | re.DOTALL)
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


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(DOCS).as_posix())
def test_the_links_between_files_lead_somewhere(path: Path) -> None:
    assert dead_links(path) == []


def test_a_dead_link_is_seen(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# One\n[a](#one) [b](#two) [c](page.md#one) [d](other.md)\n```\n[e](no.md)\n```\n", "utf-8")
    assert dead_links(page) == ["#two", "other.md"]


def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    options = ["-q", "-W", "--keep-going", "-n", "-E", "-d", str(tmp_path / "read"), "-b", "html"]
    ran = subprocess.run(
        [sys.executable, "-m", "sphinx", *options, str(DOCS), str(tmp_path / "site")], capture_output=True, text=True
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    assert (tmp_path / "site" / "patterns" / "archive.html").exists()
