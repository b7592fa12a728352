"""The page on the catalog: entries by question and by kind, and in full those that have no page of their own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import get_args

from tablepatterns.catalog import ENTRIES, CatalogEntry, Concern, Kind, related
from tools.pages.homes import anchor_of, page_of
from tools.pages.markdown import introduction, page, table

PAGE = "docs/catalog.md"
QUESTIONS: dict[Concern, str] = {
    "lookup": "How do I find entities by something else than their key?",
    "order": "How do I get entities in another order, or the newest first?",
    "modification": "How do I change or delete much at little cost?",
    "consistency": "How do I keep together what belongs together?",
    "size": "What if it does not fit in one entity?",
    "volume": "What if there are too many requests, or entities, for one partition?",
    "access": "Who may read and change what?",
    "relationship": "How do I model what belongs to an entity?",
    "query-versus-modification": "What if reading and writing want different layouts?",
}
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
    return page(first, f"## By question\n\n{_questions()}", *_kinds())


def _questions() -> str:
    concerns: tuple[Concern, ...] = get_args(Concern)
    rows = (
        (QUESTIONS[concern], ", ".join(_link(entry) for entry in ENTRIES if concern in entry.concerns))
        for concern in concerns
    )
    return table(("Question", "Entries"), rows)


def _kinds() -> Iterator[str]:
    for kind in get_args(Kind):
        found = [each for each in ENTRIES if each.kind == kind]
        rows = ((_link(each), each.summary, _names(each.classes)) for each in found)
        yield f"## {KINDS[kind]}\n\n{table(('Entry', 'What it does', 'Names'), rows)}"
        yield from (_whole(each) for each in found if page_of(each) is None)


def _whole(each: CatalogEntry) -> str:
    """Return an entry."""
    used = f"`{each.name}`" + (f": {_names(each.classes)}" if each.classes else "")
    paragraphs = (
        f"### {each.title}",
        f"{used}. Guide: *{each.guide}*.",
        f"**Problem.** {each.problem}",
        f"**Solution.** {each.solution}",
        f"**Keys.** {each.keys}.",
        f"**Guarantee.** {each.guarantee}",
        f"**Cost.** {each.cost}",
        _list("Limits", each.limits),
        _list("Use it when", each.use_when),
        _list("Avoid it when", each.avoid_when),
        _list("Trade-offs", each.trade_offs),
        f"**Related.** {', '.join(map(_link, related(each.name)))}.",
    )
    return "\n\n".join(filter(None, paragraphs))


def _list(title: str, lines: Iterable[str]) -> str:
    points = "\n".join(f"- {line}" for line in lines)
    return f"**{title}**\n\n{points}" if points else ""


def _names(classes: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in classes)


def _link(each: CatalogEntry) -> str:
    """Return a link to the page of an entry, or to its section under the anchor that viewers make of the heading."""
    return f"[{each.title}]({page_of(each) or f'#{anchor_of(each)}'})"
