"""Print the catalog of patterns, or one of its entries: `tablepatterns patterns log_tail`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, Final, get_args

import typer
from rich.text import Text

from ..catalog import ENTRIES, CatalogEntry, Kind, related
from ..catalog import entry as entry_of
from .output import Result, command, new_app

_HEADINGS: Final[dict[Kind, str]] = {
    "pattern": "Patterns",
    "anti-pattern": "Anti-patterns",
    "relationship": "Relationships",
    "implementation": "Implementation",
    "guidance": "Guidance",
}
_COSTS: Final = "Costs are in storage transactions, the unit that Azure bills; a plain number is for tables."
app = new_app()


@command(app)
def patterns(
    name: Annotated[
        str | None, typer.Argument(help="A pattern, such as log_tail, log-tail or LogTail; by default, list all.")
    ] = None,
) -> Result:
    """List the patterns, or describe one: problem, keys, guarantee, limits, cost, and when not to use it.

    Example: tablepatterns patterns log_tail
    """
    if name is None:
        data = [{"name": pattern.name, "title": pattern.title, "summary": pattern.summary} for pattern in ENTRIES]
        return Result(data, listing())
    pattern = entry_of(name)
    return Result(asdict(pattern), tuple(map(Text, describe(pattern))))


def listing() -> list[str]:
    width = max(len(entry.name) for entry in ENTRIES)
    lines = list[str]()
    for kind in get_args(Kind):
        entries = (entry for entry in ENTRIES if entry.kind == kind)
        lines += [_HEADINGS[kind], *(f"  {entry.name:{width}}  {entry.summary}" for entry in entries), ""]
    return [*lines, "tablepatterns patterns <name> describes one in detail."]


def describe(entry: CatalogEntry) -> list[str]:
    facts: dict[str, Sequence[str]] = {
        "Problem": [entry.problem],
        "Solution": [entry.solution],
        "Keys": [entry.keys],
        "Guarantee": [entry.guarantee],
        "Limits": entry.limits,
        "Cost": [entry.cost],
        "Use it when": entry.use_when,
        "Avoid when": entry.avoid_when,
        "Trade-offs": entry.trade_offs,
        "Related": [", ".join(near.name for near in related(entry.name))],
        "Names": [", ".join(entry.classes)] if entry.classes else [],
        "Guide": [entry.guide],
    }
    lines = [f"{entry.title} ({entry.kind}): {entry.summary}"]
    for name, texts in facts.items():
        lines += ["", f"{name}:", *(f"- {text}" for text in texts)] if len(texts) > 1 else []
        lines += ["", f"{name}: {texts[0]}"] if len(texts) == 1 else []
    return [*lines, "", _COSTS]
