"""Write the generated sections of a page between its markers: code, output, costs, guarantees, catalog text.

A section starts with the comment `<!-- make pages: KIND ARGUMENTS -->`, and ends with `<!-- end -->`. The page of a
pattern shows the catalog entry of the same name.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from budgets.budget import all_budgets
from tablepatterns.catalog import ENTRIES, CatalogEntry, entry, related
from tablepatterns.key import Key
from tools import DOCS, ROOT
from tools.pages import api, budgets, guarantees
from tools.pages.homes import anchor_of, page_of
from tools.pages.program import Block, blocks
from tools.pages.stored_rows import picture

NOTEBOOKS: Final = ROOT / "notebooks"
DECISIONS: Final = DOCS / "decisions"
END: Final = "<!-- end -->"
_SECTION = re.compile(rf"^(<!-- make pages: ([\w-]+)((?:\s+[\w.*:/-]+)*)\s+-->\n).*?^{END}$", re.DOTALL | re.MULTILINE)
_PROGRAM = re.compile(r'^```python\n(""".*?^def main\(storage.*?)^```$', re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"\]\(/")


class BadMarker(ValueError):
    """A marker asks for something that does not exist."""


def pages() -> list[Path]:
    """Return the pages that have markers."""
    found = [*DOCS.glob("*.md"), *DOCS.glob("patterns/*.md"), *DOCS.glob("api/*.md"), DECISIONS / "README.md"]
    return sorted(path for path in found if _SECTION.search(path.read_text(encoding="utf-8")))


def programs() -> Iterator[tuple[Path, str]]:
    """Yield the path and the text of each program that is written on its page; others have a file of their own."""
    for path in sorted(DOCS.glob("patterns/*.md")):
        if match := _PROGRAM.search(path.read_text(encoding="utf-8")):
            yield Page(path).source, match[1]


def render(path: Path) -> str:
    """Return the text of a page with all of its sections written."""
    page = Page(path)

    def section(match: re.Match[str]) -> str:
        written = "\n\n".join(page.written(match[2], match[3].split()))
        if not written and match[2] != "api":
            raise BadMarker(f"{path.name}: there is nothing to write for {match[1].strip()}")
        return f"{match[1]}\n{written}\n\n{END}" if written else f"{match[1]}{END}"

    return _SECTION.sub(section, path.read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Page:
    """One page, and the sections it can have."""

    path: Path

    def written(self, kind: str, arguments: list[str]) -> Iterator[str]:
        """Yield the paragraphs of a section."""
        sections: dict[str, Callable[..., Iterator[str]]] = {
            "facts": self.facts,
            "code": self.code,
            "rows": self.rows,
            "program": self.program,
            "schedule": self.schedule,
            "guarantees": self.guarantees,
            "costs": self.costs,
            "when-to-use": self.when_to_use,
            "contents": self.contents,
            "names": self.names,
            "api": self.api,
            "key-formats": self.key_formats,
            "decisions": self.decisions,
        }
        if kind not in sections:
            raise BadMarker(f"{self.path.name}: {kind!r} is not one of {', '.join(sections)}")
        up = "../" if self.path.parent != DOCS else ""
        for part in sections[kind](*arguments):
            yield _LINK.sub(f"]({up}", part)

    @property
    def entry(self) -> CatalogEntry:
        """The catalog entry of the page."""
        return entry(self.path.stem)

    @property
    def source(self) -> Path:
        """The page's program."""
        return self.path.parent / "code" / f"{self.path.stem.replace('-', '_')}.py"

    @property
    def blocks(self) -> tuple[Block, ...]:
        """The program as blocks that run one after the other."""
        return blocks(self.source)

    def facts(self) -> Iterator[str]:
        """Yield a summary of the entry."""
        found = self.entry
        notebooks = sorted(NOTEBOOKS.glob(f"[0-9][0-9]_{found.name}.ipynb"))
        rows = [
            ("In the guide", found.guide),
            ("Here", ", ".join(f"`{name}`" for name in found.classes)),
            ("Notebook", ", ".join(f"`notebooks/{path.name}`" for path in notebooks)),
        ]
        yield "\n".join(f"- **{name}**: {value}" for name, value in rows if value)

    def code(self, part: str) -> Iterator[str]:
        """Yield a block of the program and its output."""
        block = next((each for each in self.blocks if each.part == part), None)
        if block is None:
            raise BadMarker(f"{self.source.name} has no part {part!r}")
        yield f"```python\n{block.code}```"
        if block.output:
            yield f"Output:\n\n```text\n{block.output}```"

    def rows(self) -> Iterator[str]:
        """Write a picture of the rows before and after the program, and yield a link to it."""
        states = [block.stored for block in self.blocks if any(block.stored.values())]
        if states:
            path = self.path.parent / "rows" / f"{self.path.stem}.svg"
            path.parent.mkdir(exist_ok=True)
            drawn = picture({} if states[0] == states[-1] else states[0], states[-1])
            if not path.exists() or path.read_text(encoding="utf-8") != drawn:
                path.write_text(drawn, encoding="utf-8")
            yield f"![The rows that the program below stores](rows/{path.name})"

    def program(self) -> Iterator[str]:
        """Yield a link to the whole program."""
        name = f"code/{self.source.name}"
        yield f"The whole program: [{name}]({name})."

    def schedule(self) -> Iterator[str]:
        """Yield the schedule of the page as the explorer prints it, without the results and the line to replay it."""
        path = self.path.parent / "schedules" / f"{self.path.stem}.txt"
        if path.exists():
            trace, _, _ = path.read_text(encoding="utf-8").strip("\n").rpartition("\n\n")
            yield f"```text\n{trace}\n```"

    def guarantees(self, *recipes: str) -> Iterator[str]:
        """Yield how much was explored, and links to all guarantees and limits."""
        proof = guarantees.Proof.read()
        known = [name for name in recipes or self.entry.classes if name in proof.recipes]
        if known:
            marks = [mark for mark in proof.marks if mark.recipe in known]
            schedules = sum(seen["schedules"] for mark in marks for seen in proof.explored(mark.test))
            yield (
                f"[Explored](/guarantees.md) in {schedules:,} schedules, without a failure:"
                " [guarantees](/data/guarantees.tsv), [limits](/data/limits.tsv),"
                " [shared limits](/guarantees.md#what-all-patterns-share)."
            )

    def costs(self, *recipes: str) -> Iterator[str]:
        """Yield the rows of the budgets."""
        rows = [row for name in recipes or self.entry.classes for row in all_budgets() if row.recipe == name]
        if rows:
            converted = "" if all(map(budgets.is_in_tables, rows)) else " (= cost in table operations)"
            yield f"[Storage transactions](/costs.md#what-each-call-costs){converted}:"
            yield budgets.list_of(rows, unnamed=self.entry.classes[0])

    def when_to_use(self) -> Iterator[str]:
        """Yield the last sections of a page: when to use the pattern and when not, and the patterns related to it."""
        yield f"## When to use\n\n{_listed(self.entry.use_when)}"
        yield f"## When not\n\n{_listed(self.entry.avoid_when)}"
        yield f"## Related\n\n{'; '.join(map(self._linked, related(self.entry.name)))}"

    def contents(self) -> Iterator[str]:
        """Yield the pages of patterns for the menu of the site, in the order of the catalog."""
        names = [f"patterns/{each.name}" for each in ENTRIES if (DOCS / f"patterns/{each.name}.md").exists()]
        yield "\n".join(["<!-- toctree: Patterns", *names, "-->"])

    def names(self, *words: str) -> Iterator[str]:
        """Yield what is said about public names; on the site, autodoc replaces it."""
        yield from api.as_markdown(api.read_targets(words))

    def api(self, kind: str) -> Iterator[str]:
        """Yield the classes of a kind of entry that no page of the reference lists by hand."""
        for title, targets in api.unlisted(kind):
            yield f"## {title}"
            yield from api.as_markdown(targets)

    def key_formats(self) -> Iterator[str]:
        """Yield the table of the formats of key fields and their order, from the docstring of `Key`."""
        paragraphs = (inspect.getdoc(Key) or "").split("\n\n")
        first = next(at for at, text in enumerate(paragraphs) if text.startswith("|"))
        yield from paragraphs[first - 1 : first + 2]

    def decisions(self) -> Iterator[str]:
        """Yield links to all decisions, by their titles."""
        paths = sorted(DECISIONS.glob("[0-9]*.md"))
        titles = (path.read_text(encoding="utf-8").partition("\n")[0] for path in paths)
        named = ((re.sub(r"^# 0*(\d+)[.:] ", r"\1. ", title), path) for title, path in zip(titles, paths, strict=True))
        yield "\n".join(f"- [{title}]({path.name})" for title, path in named)

    def _linked(self, found: CatalogEntry) -> str:
        return f"[{found.title}](/{page_of(found) or f'catalog.md#{anchor_of(found)}'})"


def _listed(sentences: Iterable[str]) -> str:
    return "\n".join(f"- {sentence}" for sentence in sentences)
