"""The tour's report: each question, its cost, and the lesson."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tablepatterns.figures import count, counted, duration
from tablepatterns.filters import QueryClass

from .meter import Cost
from .questions import Answer, Question

_SCANS = {QueryClass.PARTITION_SCAN: "yellow", QueryClass.TABLE_SCAN: "red"}
_UNKNOWN = "-"


@dataclass(frozen=True)
class Finding:
    """A question, its answer, and the cost."""

    question: Question
    answer: Answer
    cost: Cost


def answered(finding: Finding) -> RenderableType:
    """Return the answer to one question, to show before the others."""
    cost = f"{counted(finding.cost.requests, 'request')}, {duration(finding.cost.seconds)}"
    return Text(f"\n{finding.question.words}: {finding.answer.words} ({cost})\n")


def report(findings: Sequence[Finding]) -> RenderableType:
    """Return the table of costs, followed by the answers and lessons."""
    parts: list[RenderableType] = [_costs(findings)]
    if any(finding.cost.examined is None for finding in findings):
        parts.append(Text(f"{_UNKNOWN} the service does not report how many entities it examined", style="dim"))
    return Group(*parts, Text("\nAnswers and lessons\n", style="bold"), _lessons(findings))


def _costs(findings: Sequence[Finding]) -> Table:
    table = Table(box=box.HORIZONTALS, padding=(0, 1, 0, 0), pad_edge=False, header_style="bold")
    table.add_column("", justify="right")
    table.add_column("Question")
    table.add_column("Class", no_wrap=True)
    for name in ("Requests", "Examined", "Returned", "Time"):
        table.add_column(name, justify="right", no_wrap=True)
    for number, finding in enumerate(findings, 1):
        table.add_row(str(number), finding.question.words, *_figures(finding.cost))
    return table


def _figures(cost: Cost) -> tuple[Text, str, str, str, str]:
    label = Text(cost.query_class.label, style=_SCANS.get(cost.query_class, "green"))
    examined = _UNKNOWN if cost.examined is None else count(cost.examined)
    return label, count(cost.requests), examined, count(cost.returned), duration(cost.seconds)


def _lessons(findings: Sequence[Finding]) -> Table:
    lessons = Table.grid(padding=(0, 1))
    lessons.add_column(justify="right")
    for number, finding in enumerate(findings, 1):
        lessons.add_row(str(number), finding.answer.words)
        lessons.add_row("", Text(finding.question.lesson, style="dim"))
    return lessons
