"""The report: every figure in one table, for a terminal of 100 columns and for a file."""

from __future__ import annotations

import io
import unicodedata

from examples.tour.meter import Cost
from examples.tour.questions import QUESTIONS, Answer
from examples.tour.report import Finding, report
from rich.console import Console

from tablepatterns.filters import QueryClass

WORST = Cost(QueryClass.PARTITION_SCAN, requests=1_234, examined=1_234_567, returned=1_234_567, seconds=59.9999)


def printed(cost: Cost) -> str:
    page = io.StringIO()
    findings = [Finding(question, Answer([], "x" * 85), cost) for question in QUESTIONS]
    Console(file=page, width=100).print(report(findings))
    return page.getvalue()


def test_each_question_is_printed_with_its_class_its_figures_and_its_lesson() -> None:
    text = printed(WORST)
    for question in QUESTIONS:
        (line,) = [line for line in text.splitlines() if question.words in line]
        assert line.split()[-7:] == ["partition", "scan", "1,234", "1,234,567", "1,234,567", "60.0", "s"]
        assert question.lesson in text


def test_it_fits_a_hundred_columns_and_has_no_control_characters() -> None:
    for line in printed(WORST).splitlines():
        assert len(line) <= 100
        assert not [character for character in line if unicodedata.category(character) == "Cc"]


def test_what_an_account_does_not_tell_is_said_to_be_unknown() -> None:
    unknown = printed(Cost(QueryClass.RANGE, requests=1, examined=None, returned=10, seconds=0.01))
    assert "- the service does not report how many entities it examined" in unknown
    figures = [line.split()[-7:] for line in unknown.splitlines()]
    assert figures.count(["range", "query", "1", "-", "10", "10.0", "ms"]) == len(QUESTIONS)
    assert "does not report" not in printed(WORST)
