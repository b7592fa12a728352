"""What the catalogue knows of a pattern, and of how two of them are related."""

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
"""Why two are related.

`listed` and `text`: the guide lists the one as related to the other, or mentions it in the other's text. `remedy`:
what to do instead of an anti-pattern. `relationship`: the guide's section on relationships leads there. `library`:
so it is in this library.
"""


@dataclass(frozen=True)
class CatalogueEntry:
    """One pattern, anti-pattern, way to model a relationship, or piece of the guide's advice.

    :param name: the name of its module, such as `intra_partition_index`; of its page and its notebook, too
    :param title: what people call it; for a pattern of the guide, the guide's own name
    :param summary: what it does, in a few words that fit on a line
    :param kind: what it is
    :param guide: the title of the guide's section on it
    :param concerns: what it is about
    :param problem: what is hard without it
    :param solution: what it does about that
    :param keys: how the keys are made, with an example
    :param classes: the public names that it is used by; none for what is advice only
    :param modules: the modules of recipes that belong to it
    :param guarantee: what holds, whoever dies and whichever answer is lost
    :param limits: what it does not do, and how far it goes
    :param cost: what calls cost in storage transactions, figure by figure as docs/budgets.md has them
    :param use_when: when to use it
    :param avoid_when: when not to
    :param trade_offs: the guide's issues and considerations
    :param on_map: whether it is one of the guide's own map of patterns and anti-patterns
    :param status: how far it is
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
        """The full name of the module of recipes that it is named for; None for what is advice only."""
        return f"tablepatterns.recipes.{self.modules[0]}" if self.modules else None


@dataclass(frozen=True)
class Relation:
    """An arrow from one entry to another that one should know of.

    :param source: the name of the entry that it begins at
    :param target: the name of the entry that it points to
    :param basis: why the two are related
    """

    source: str
    target: str
    basis: Basis
