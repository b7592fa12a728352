"""The programs that pages include: they run, on Azurite too, and print what the pages say."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest
from tools.pages import sections
from tools.pages.program import blocks

from support.no_threads import forbid_threads
from support.page_programs import DOCS, PROGRAMS, cleaned, name_of, printed, runs_on_memory_only
from tablepatterns import connect

FEW = tuple(DOCS / "patterns" / "code" / f"{name}.py" for name in ("archive", "bulk_load", "large_properties"))
"""Between them they use tables, transactions, queues and blobs."""
ON_AZURITE = [
    pytest.param(path, id=name_of(path), marks=[] if path in FEW else [pytest.mark.nightly])
    for path in PROGRAMS
    if not runs_on_memory_only(path)
]


@cache
def shown(path: Path) -> str:
    """Return what the blocks of a program print, as its page shows them."""
    return "".join(block.output for block in blocks(path))


@pytest.mark.parametrize("path", PROGRAMS, ids=name_of)
@pytest.mark.few(17)
def test_a_program_prints_the_same_as_its_blocks_where_no_thread_can_start(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = shown(path)
    forbid_threads(monkeypatch.setattr)
    with connect() as storage:
        assert printed(path, storage) == expected


@pytest.mark.parametrize("path", ON_AZURITE)
def test_it_prints_the_same_on_azurite(path: Path, azurite: str) -> None:
    with connect(azurite, retry_total=0) as connected, cleaned(connected) as storage:
        assert printed(path, storage) == shown(path)


@pytest.mark.parametrize("page", sections.pages(), ids=lambda page: page.stem)
def test_a_page_is_up_to_date(page: Path) -> None:
    assert sections.render(page) == page.read_text(encoding="utf-8"), "make pages writes it"


WITH_CODE = [page for page in sections.pages() if "<!-- make pages: code " in page.read_text(encoding="utf-8")]


@pytest.mark.parametrize("page", WITH_CODE, ids=lambda page: page.stem)
def test_a_page_shows_every_block_of_its_program_in_order(page: Path) -> None:
    marked = re.findall(r"<!-- make pages: code (\S+) -->", page.read_text(encoding="utf-8"))
    assert marked == [block.part for block in blocks(sections.Page(page).source)]


def test_a_marker_that_asks_for_nothing_known_is_an_error(tmp_path: Path) -> None:
    page = tmp_path / "log_tail.md"
    page.write_text("<!-- make pages: code -->\n<!-- end -->\n<!-- make pages: cost -->\n<!-- end -->\n", "utf-8")
    with pytest.raises(sections.BadMarker, match="'cost' is not one of"):
        sections.Page(page).written("cost", []).__next__()


def test_no_picture_is_kept_of_a_page_that_is_gone() -> None:
    pictures = {path.stem for path in (DOCS / "patterns" / "rows").glob("*.svg")}
    assert pictures == {
        page.stem for page in sections.pages() if "<!-- make pages: rows -->" in page.read_text("utf-8")
    }


def test_the_example_on_an_event_loop_runs(capsys: pytest.CaptureFixture[str]) -> None:
    *_, example = re.findall(r"^```python\n(.*?)^```$", (DOCS / "start-here.md").read_text("utf-8"), re.M | re.S)
    exec(compile(example, "start-here.md", "exec"), {})  # noqa: S102 - it is our own page
    assert capsys.readouterr().out == "{'Department': 'Sales', 'EmployeeId': 223}\n"


def test_a_program_that_its_page_holds_is_written_to_its_file() -> None:
    assert [path.name for path, code in sections.programs() if path.read_text(encoding="utf-8") != code] == []
