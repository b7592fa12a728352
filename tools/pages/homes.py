"""Where a pattern is described: its page, and the recipes whose guarantees only that page lists."""

from __future__ import annotations

import re
from operator import itemgetter

from tablepatterns.catalog import ENTRIES, CatalogEntry
from tools import DOCS

_OTHER_PLACES = {"rekey": "moving-to-new-keys.md"}


def page_of(pattern: CatalogEntry) -> str | None:
    """Return the path of an entry's page in the folder of the docs."""
    path = _OTHER_PLACES.get(pattern.name, f"patterns/{pattern.name}.md")
    return path if (DOCS / path).is_file() else None


def anchor_of(pattern: CatalogEntry) -> str:
    """Return the anchor that viewers make of the heading of an entry which only the catalog's page describes."""
    return re.sub(r"[^a-z -]", "", pattern.title.lower()).replace(" ", "-")


def recipes_on_pages() -> dict[str, CatalogEntry]:
    """Return the entry on whose page a recipe's guarantees are, by the name of the recipe."""
    marker = re.compile(r"<!-- make pages: guarantees(.*?) -->")
    found = dict[str, CatalogEntry]()
    for pattern, path in sorted(((each, path) for each in ENTRIES if (path := page_of(each))), key=itemgetter(1)):
        for names in marker.findall((DOCS / path).read_text(encoding="utf-8")):
            # A page can show recipes of others, too; their own page comes first
            shown = names.split() or pattern.classes
            found |= {name: pattern for name in shown if name in pattern.classes or name not in found}
    return found
