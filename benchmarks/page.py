"""Format figures for a page in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from .results import Spread

_HOW = """\
The figures are from one machine; on another, ratios change less than times. A figure is the median of the rounds, with
the lowest and the highest in parentheses. A ratio compares two measurements of the same round."""


class Verdict(NamedTuple):
    """A target, and whether it is reached."""

    target: str
    measured: str
    reached: bool


def page(title: str, introduction: str, sections: Mapping[str, str]) -> str:
    parts = [f"# {title}", introduction, _HOW, *(f"## {name}\n\n{text}" for name, text in sections.items())]
    return "\n\n".join(parts) + "\n"


def table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    lines = [tuple(heads), *map(tuple, rows)]
    lines.insert(1, ("---",) * len(lines[0]))
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def targets(verdicts: Iterable[Verdict]) -> str:
    rows = [(each.target, each.measured, "yes" if each.reached else "**no**") for each in verdicts]
    return table(("target", "measured", "reached"), rows)


def where(environments: Mapping[str, Mapping[str, str]]) -> str:
    """Return the machine and the date of the measurements."""
    names = dict.fromkeys(name for each in environments.values() for name in each)
    rows = [(name, *(each.get(name, "") for each in environments.values())) for name in names]
    return table(("", *environments), rows)


def time(seconds: Spread) -> str:
    median, least, most = (f"{each * 1000:,.3g}" for each in seconds)
    return f"{median} ms ({least} to {most})"


def times(ratio: Spread) -> str:
    return f"{ratio.median:.2f} × ({ratio.least:.2f} to {ratio.most:.2f})"


def rate(per_second: Spread) -> str:
    median, least, most = (f"{each:,.0f}" for each in per_second)
    return f"{median}/s ({least} to {most})"
