"""Find catalogue entries by name, topic or relation, and print them in a terminal."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence
from typing import Final, get_args

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from ..errors import BadInput
from .entries import ENTRIES, RELATIONS
from .entry import CatalogueEntry, Concern, Kind

CONCERNS: Final[tuple[Concern, ...]] = get_args(Concern)
_NEAR: Final = 0.6


def entry(name: str) -> CatalogueEntry:
    """Return the entry of this name.

    A module's name, a title and a class are all names; case, hyphens, spaces and underscores make no difference.
    A name that several entries list, such as `EntitySet`, is the first one's.

    >>> entry("log-tail").title, entry("Wide entities").name, entry("BlobLog").name
    ('Log tail', 'wide_entity', 'blob_log')
    >>> entry("log_trail")
    Traceback (most recent call last):
        ...
    tablepatterns.errors.BadInput: name = 'log_trail': there is no pattern with this name; did you mean log_tail?

    :param name: such as `log_tail`, `log-tail`, `Log tail` or `LogTail`
    :raises BadInput: no entry has this name; the error has those that are near
    """
    names = _names()
    catalog_entry = names.get(_plain(name))
    if catalog_entry is None:
        raise BadInput("name", name, "there is no pattern with this name", _hint(name, names))
    return catalog_entry


def by_concern(concern: Concern) -> tuple[CatalogueEntry, ...]:
    """Return the entries on a topic, in the order of the catalogue.

    >>> [each.name for each in by_concern("order")]  # doctest: +ELLIPSIS
    ['intra_partition_index', 'inter_partition_index', 'log_tail', ...

    :param concern: such as `lookup` or `size`
    :raises BadInput: nothing in the catalogue is about this
    """
    if concern not in CONCERNS:
        raise BadInput("concern", concern, "no pattern has this topic", f"use one of {', '.join(CONCERNS)}")
    return tuple(entry for entry in ENTRIES if concern in entry.concerns)


def related(name: str) -> tuple[CatalogueEntry, ...]:
    """Return the entries that an entry points to, then those that point to it, without duplicates.

    >>> [each.name for each in related("log_data")]
    ['prepend_append', 'blob_log']

    :param name: as for `entry`
    :raises BadInput: no entry has this name
    """
    entry_name = entry(name).name
    out = [relation.target for relation in RELATIONS if relation.source == entry_name]
    back = [relation.source for relation in RELATIONS if relation.target == entry_name]
    return tuple(entry(entry_name) for entry_name in dict.fromkeys([*out, *back]))


def _names() -> dict[str, CatalogueEntry]:
    """Return the entries by all their names: modules take precedence over titles, and those over classes."""
    entry_names = [(entry.name, entry) for entry in ENTRIES]
    titles = [(name, entry) for entry in ENTRIES for name in (entry.title, *entry.modules)]
    classes = [(name, entry) for entry in ENTRIES for name in entry.classes]
    names: dict[str, CatalogueEntry] = {}
    for name, entry in (*entry_names, *titles, *classes):
        names.setdefault(_plain(name), entry)
    return names


def _plain(name: str) -> str:
    return re.sub(r"[\W_]+", "", name).lower()


def _hint(name: str, names: dict[str, CatalogueEntry]) -> str:
    near = difflib.get_close_matches(_plain(name), names, n=4, cutoff=_NEAR)
    suggestions = list(dict.fromkeys(names[close_name].name for close_name in near))
    return f"did you mean {' or '.join(suggestions)}?" if suggestions else "`tablepatterns patterns` lists them all"


_HEADINGS: Final[dict[Kind, str]] = {
    "pattern": "Patterns",
    "anti-pattern": "Anti-patterns",
    "relationship": "Relationships",
    "implementation": "Implementation",
    "guidance": "Guidance",
}
_INDENT: Final = 2
_COSTS: Final = "Costs are in storage transactions, the unit that Azure bills; a plain number is for tables."


def listing() -> Group:
    """Return a list of all entries by kind, for a terminal."""
    names = max(len(entry.name) for entry in ENTRIES)
    parts: list[RenderableType] = []
    for kind in get_args(Kind):
        table = Table(box=None, show_header=False, padding=(0, _INDENT, 0, 0), pad_edge=False)
        table.add_column(min_width=names, no_wrap=True)
        table.add_column()
        for entry in (entry for entry in ENTRIES if entry.kind == kind):
            table.add_row(entry.name, entry.summary)
        parts += [Text(_HEADINGS[kind], style="bold"), Padding(table, (0, 0, 1, _INDENT))]
    return Group(*parts, Text("tablepatterns patterns <name> describes one in detail.", style="dim"))


def describe(entry: CatalogueEntry) -> Group:
    """Return the description of an entry, for a terminal."""
    heading = Text.assemble((entry.title, "bold"), f" ({entry.kind}): {entry.summary}")
    return Group(heading, Text(), *_parts(entry), Text(), Text(_COSTS, style="dim"))


def _parts(entry: CatalogueEntry) -> Iterator[RenderableType]:
    near = [entry.name for entry in related(entry.name)]
    facts: Sequence[tuple[str, Sequence[str]]] = (
        ("Problem", [entry.problem]),
        ("Solution", [entry.solution]),
        ("Keys", [entry.keys]),
        ("Guarantee", [entry.guarantee]),
        ("Limits", entry.limits),
        ("Cost", [entry.cost]),
        ("Use it when", entry.use_when),
        ("Avoid when", entry.avoid_when),
        ("Trade-offs", entry.trade_offs),
        ("Related", [", ".join(near)]),
        ("Names", [", ".join(entry.classes)] if entry.classes else []),
        ("Guide", [entry.guide]),
    )
    table = Table(box=None, show_header=False, padding=(0, _INDENT, 0, 0), pad_edge=False)
    table.add_column(no_wrap=True, style="bold")
    table.add_column()
    for name, lines in facts:
        for number, line in enumerate(lines):
            text = f"- {line}" if len(lines) > 1 else line
            table.add_row(name if number == 0 else "", _code(text))
    yield table


def _code(line: str) -> Text:
    """Return a line with its code, between backticks, in another color."""
    return Text.assemble(*((part, "cyan" if part.startswith("`") else "") for part in re.split(r"(`[^`]+`)", line)))
