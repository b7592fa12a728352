"""Run the tour: create tables, load flights, ask questions, report and clean up."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import ExitStack, contextmanager
from typing import Any
from uuid import uuid4

from rich.console import Console

from tablepatterns.storage import Storage, connect

from .data import DAYS, Source
from .design import Design
from .load import load
from .meter import Meter
from .questions import QUESTIONS, Question
from .report import Finding, answered, report


def visit(target: str, console: Console, *, days: int = DAYS, keep: bool = False) -> list[Finding]:
    """Run the tour on a storage account and print its report. The account is left unchanged.

    :param target: as for `connect`
    :param days: the number of days of January 2013 to load
    :param keep: keep the tables, and print their names
    :raises ModuleNotFoundError: the flights are not installed; nothing was requested
    :raises BadTarget: `connect` does not know the target
    """
    source, meter = Source.installed(), Meter()
    with connect(target, raw_response_hook=meter) as storage:
        design = Design.on(storage, "" if storage.engine else uuid4().hex[:8])
        with _tables(storage, design.table_names, keep=keep):
            console.print(f"Tables {', '.join(design.table_names)} on {storage.target.address}\n")
            load(
                source,
                design,
                console,
                days,
                lambda: console.print(answered(_ask(storage, design, meter, QUESTIONS[0]))),
            )
            findings = [_ask(storage, design, meter, question) for question in QUESTIONS]
            console.print(report(findings))
    console.print(f"\nThe tables are {'kept' if keep else 'deleted'}.")
    return findings


def _ask(storage: Storage, design: Design, meter: Meter, question: Question) -> Finding:
    with meter.measuring(storage) as cost:
        answer = question.ask(design)
    return Finding(question, answer, cost)


@contextmanager
def _tables(storage: Storage, names: Iterable[str], *, keep: bool) -> Generator[None, None, None]:
    """Create new tables, and delete them after the block, even if it fails.

    It comes before loading, so an unreachable account or an existing table is reported first.
    """
    service: Any = storage.tables
    with ExitStack() as made:
        for name in names:
            service.create_table(name)
            if not keep:
                made.callback(service.delete_table, name)
        yield
