"""The report for a terminal: its content and width, and no control characters from the design."""

from __future__ import annotations

import io
import os
import re
from pathlib import Path

from rich.console import Console

from review.report.sample import HOSTILE, clean, hostile, sample
from tablepatterns_review.report import text
from tablepatterns_review.report.formatting import plain
from tablepatterns_review.result import Reviewed

KEPT = Path(__file__).with_name("sample.txt")
WIDTH = 100
REWRITE = "TABLEPATTERNS_REWRITE"


def printed(reviewed: Reviewed, width: int = WIDTH) -> str:
    out = io.StringIO()
    Console(file=out, width=width, highlight=False, color_system=None).print(text(reviewed))
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


def test_the_report_is_the_one_that_is_kept() -> None:
    if os.environ.get(REWRITE):
        KEPT.write_text(printed(sample()), encoding="utf-8")
    assert printed(sample()) == KEPT.read_text(encoding="utf-8"), f"{REWRITE}=1 writes it again: review the change"


def test_the_findings_come_first_and_the_worst_of_them_first() -> None:
    said = printed(sample())
    places = [said.index(word) for word in ("SERIOUS", "WARNING", "NOTE", "Access patterns\n")]
    assert places == sorted(places)


def test_no_line_is_wider_than_the_terminal() -> None:
    for width in (80, WIDTH, 200):
        assert max(map(len, printed(sample(), width).splitlines())) <= width


def test_a_design_without_findings_is_reported_as_such() -> None:
    said = printed(clean())
    assert "no findings" in said
    assert "No limit of an entity, a key, a transaction or the account is nearly reached" in said


def test_what_a_design_names_cannot_command_the_terminal() -> None:
    said = printed(hostile(), 400)
    assert [each for each in said if not each.isprintable() and each != "\n"] == []
    assert plain(HOSTILE) in said


def test_colours_only_repeat_what_words_say() -> None:
    out = io.StringIO()
    Console(file=out, width=WIDTH, highlight=False, force_terminal=True).print(text(sample()))
    coloured = re.sub(r"\x1b\[[\d;]*m", "", out.getvalue())
    assert [line.rstrip() for line in coloured.splitlines()] == printed(sample()).splitlines()
