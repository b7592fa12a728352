"""The model of the catalogue: an entry, and a relation between two entries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

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
class CatalogueEntry:
    """One pattern, anti-pattern, way to model a relationship, or piece of the guide's advice.

    :param name: the name of its module, page and notebook, such as `intra_partition_index`
    :param title: its display name; for a pattern of the guide, the guide's name
    :param summary: what it does, in a few words that fit on a line
    :param kind: what it is
    :param guide: the title of the guide's section on it
    :param concerns: what it is about
    :param problem: the problem that it solves
    :param solution: how it solves the problem
    :param keys: the layout of the keys, with an example
    :param classes: its public names; empty for guidance
    :param modules: the recipe modules that belong to it
    :param guarantee: what holds even if a process crashes or a response is lost
    :param limits: what it does not do, and its limits
    :param cost: the cost of its calls in storage transactions, with the figures of docs/costs.md
    :param use_when: when to use it
    :param avoid_when: when not to
    :param trade_offs: the guide's issues and considerations
    :param on_map: whether it is on the guide's own map of patterns and anti-patterns
    :param status: whether it is ready to use
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
    status: Literal["ready"] = "ready"

    @property
    def module(self) -> str | None:
        """The full name of its main recipe module; None for guidance."""
        return f"tablepatterns.recipes.{self.modules[0]}" if self.modules else None


@dataclass(frozen=True)
class Relation:
    """A relation from one entry to another.

    :param source: the name of the entry that refers to the other
    :param target: the name of the entry that is referred to
    :param basis: why the two are related
    """

    source: str
    target: str
    basis: Basis
