"""The programs that pages include: they run, on Azurite too, and print what the pages say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from programs import DOCS, PROGRAMS, cleaned, kept, name_of, printed, runs_on_memory_only
from tablepatterns import connect

ON_AZURITE = [path for path in PROGRAMS if not runs_on_memory_only(path)]
AGAIN = "make schedules writes it anew"


@pytest.mark.parametrize("path", PROGRAMS, ids=name_of)
def test_a_program_prints_what_its_page_says(path: Path) -> None:
    assert kept(path).exists(), AGAIN
    with connect() as storage:
        assert printed(path, storage) == kept(path).read_text(encoding="utf-8"), AGAIN


@pytest.mark.parametrize("path", ON_AZURITE, ids=name_of)
def test_it_prints_the_same_on_azurite(path: Path, azurite: str) -> None:
    with connect(azurite, retry_total=0) as connected, cleaned(connected) as storage:
        assert printed(path, storage) == kept(path).read_text(encoding="utf-8")


def test_no_output_is_kept_of_a_program_that_is_gone() -> None:
    folders = {path.parent for path in PROGRAMS}
    outputs = {path for folder in folders for path in folder.glob("*.txt")}
    assert outputs == {kept(path) for path in PROGRAMS}


def test_the_example_on_an_event_loop_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (example,) = re.findall(r"^```python\n(.*?)^```$", (DOCS / "start-here.md").read_text("utf-8"), re.M | re.S)
    exec(compile(example, "start-here.md", "exec"), {})  # noqa: S102 - it is our own page
    assert capsys.readouterr().out == "{'Department': 'Sales', 'EmployeeId': 223}\n"
