"""The page on the catalog: entries by kind, and what to know of those that have no page of their own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import get_args

from tablepatterns.catalog import ENTRIES, CatalogEntry, Kind
from tools.pages.homes import page_of
from tools.pages.markdown import introduction, page, table

PAGE = "docs/catalog.md"
KINDS: dict[Kind, str] = {
    "pattern": "Patterns",
    "anti-pattern": "Anti-patterns",
    "relationship": "Relationships",
    "implementation": "Implementation",
    "guidance": "Guidance",
}


def render() -> str:
    """Return the page."""
    counts = Counter(each.kind for each in ENTRIES)
    first = introduction(
        "catalog",
        patterns=counts["pattern"],
        anti_patterns=counts["anti-pattern"],
        relationships=counts["relationship"],
        implementations=counts["implementation"],
    )
    return page(first, *_kinds())


def _kinds() -> Iterator[str]:
    """Yield a section for each kind: a table of the entries that have a page, and the others in whole."""
    for kind in get_args(Kind):
        found = [each for each in ENTRIES if each.kind == kind]
        yield f"## {KINDS[kind]}"
        if rows := [(_link(each), each.summary, f"`{each.classes[0]}`") for each in found if page_of(each)]:
            yield table(("Entry", "What it does", "Class"), rows)
        yield from (_whole(each) for each in found if page_of(each) is None)


def _whole(each: CatalogEntry) -> str:
    """Return an entry: what it is for, and what to mind; `tablepatterns patterns` prints all of it."""
    paragraphs = (
        f"### {each.title}",
        f"**Problem.** {each.problem}",
        f"**Solution.** {each.solution}",
        "\n".join(f"- {line}" for line in (*each.limits, *each.trade_offs)),
        f"**Use it when:** {_clauses(each.use_when)}. **Avoid it when:** {_clauses(each.avoid_when)}.",
    )
    return "\n\n".join(filter(None, paragraphs))


def _clauses(sentences: Iterable[str]) -> str:
    """Return sentences as clauses after a colon."""
    without_period = (sentence.rstrip(".") for sentence in sentences)
    return "; ".join(clause[0].lower() + clause[1:] for clause in without_period)


def _link(each: CatalogEntry) -> str:
    return f"[{each.title}]({page_of(each)})"
