"""The catalog: the guide's patterns as data. The docs, the pattern map, the review and the CLI read it."""

from __future__ import annotations

import difflib
import re
import sys
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Final, Literal

from .errors import BadInput

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

Kind = Literal["pattern", "anti-pattern", "relationship", "implementation", "guidance"]
Concern = Literal[
    "lookup",
    "order",
    "modification",
    "consistency",
    "size",
    "volume",
    "access",
    "relationship",
    "query-versus-modification",
]
Basis = Literal["listed", "text", "listed and text", "remedy", "relationship", "library"]
"""Why two entries are related.

`listed` and `text`: the guide lists the one as related to the other, or mentions it in the other's text. `remedy`:
what to do instead of an anti-pattern. `relationship`: the guide's section on relationships leads there. `library`:
the two are used together in this library.
"""


@dataclass(frozen=True)
class CatalogEntry:
    """One pattern, anti-pattern, way to model a relationship, or piece of the guide's advice.

    :param name: the name of its module, page and notebook, such as `intra_partition_index`
    :param title: its display name; for a pattern of the guide, the guide's name
    :param keys: the layout of the keys, with an example
    :param classes: its public names; empty for guidance
    :param guarantee: what holds even if a process crashes or a response is lost
    :param cost: the cost of its calls in storage transactions, with the figures of docs/costs.md
    :param on_map: whether it is on the guide's own map of patterns and anti-patterns
    """

    name: str
    title: str
    summary: str
    kind: Kind
    guide: str
    concerns: tuple[Concern, ...]
    problem: str
    solution: str
    keys: str
    classes: tuple[str, ...]
    modules: tuple[str, ...]
    guarantee: str
    limits: tuple[str, ...]
    cost: str
    use_when: tuple[str, ...]
    avoid_when: tuple[str, ...]
    trade_offs: tuple[str, ...] = ()
    on_map: bool = False


@dataclass(frozen=True)
class Relation:
    """A relation from the entry `source`, which refers to the entry `target`; `basis` says why."""

    source: str
    target: str
    basis: Basis


def _entry(fields: dict[str, Any]) -> CatalogEntry:
    lists: dict[str, list[str]] = {name: text for name, text in fields.items() if isinstance(text, list)}
    values: dict[str, Any] = fields | {name: tuple(texts) for name, texts in lists.items()}
    return CatalogEntry(**values)


_CATALOG: Final = tomllib.loads(files("tablepatterns").joinpath("catalog.toml").read_text(encoding="utf-8"))
ENTRIES: Final = tuple(_entry(fields) for fields in _CATALOG["entries"])
"""The whole catalog, related entries together."""
RELATIONS: Final = tuple(Relation(**fields) for fields in _CATALOG["relations"])
"""Which entry leads to which other, and why."""
_NEAR: Final = 0.6


def entry(name: str) -> CatalogEntry:
    """Return the entry of a module's name, a title or a class; case, hyphens and underscores make no difference.

    A name that several entries list, such as `EntitySet`, is the first one's.
    """
    names = _names()
    catalog_entry = names.get(_plain(name))
    if catalog_entry is None:
        near = difflib.get_close_matches(_plain(name), names, n=4, cutoff=_NEAR)
        suggestions = list(dict.fromkeys(names[close_name].name for close_name in near))
        hint = f"did you mean {' or '.join(suggestions)}?" if suggestions else "`tablepatterns patterns` lists them all"
        raise BadInput("name", name, "there is no pattern with this name", hint)
    return catalog_entry


def related(name: str) -> tuple[CatalogEntry, ...]:
    """Return the entries that an entry points to, then those that point to it, without duplicates."""
    entry_name = entry(name).name
    targets = [relation.target for relation in RELATIONS if relation.source == entry_name]
    sources = [relation.source for relation in RELATIONS if relation.target == entry_name]
    return tuple(entry(name) for name in dict.fromkeys([*targets, *sources]))


def _names() -> dict[str, CatalogEntry]:
    """Return the entries by all their names: modules take precedence over titles, and those over classes."""
    entry_names = [(entry.name, entry) for entry in ENTRIES]
    titles = [(name, entry) for entry in ENTRIES for name in (entry.title, *entry.modules)]
    classes = [(name, entry) for entry in ENTRIES for name in entry.classes]
    names: dict[str, CatalogEntry] = {}
    for name, entry in (*entry_names, *titles, *classes):
        names.setdefault(_plain(name), entry)
    return names


def _plain(name: str) -> str:
    return re.sub(r"[\W_]+", "", name).lower()
