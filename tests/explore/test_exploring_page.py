"""The page on exploring schedules: its examples run, and print what it says."""

from __future__ import annotations

import re
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

from tablepatterns_explore import Counterexample

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "exploring-schedules.md"
BLOCKS = re.findall(r"^```(python|text)\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def printed(example: str, names: dict[str, Any]) -> str:
    """Return what an example prints, and the counterexample that it ends with."""
    output = StringIO()
    with redirect_stdout(output):
        try:
            exec(compile(example, str(PAGE), "exec"), names)  # noqa: S102 - it is our own page
        except Counterexample as found:
            print(found)
    return output.getvalue()


def test_every_example_prints_what_the_page_says() -> None:
    names: dict[str, Any] = {}
    output = ""
    for language, text in BLOCKS:
        if language == "python":
            assert output == "", f"the page does not say that it prints:\n{output}"
            output = printed(text, names)
        else:
            assert output == text
            output = ""
