"""Every notebook follows the rules and runs with the same output again; so do the answers to its exercises."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from notebooks.book import FOLDER, HEADINGS, Book, books, texts_of
from notebooks.rules import RULES
from notebooks.running import answered, executed, save
from tablepatterns import connect

CPU_SECONDS = 20
FEW = ("01_intra_partition_index", "05_archive", "14_large_properties")
"""Between them they use tables, queues and blobs: all of them take Azurite some minutes."""
every_book = pytest.mark.parametrize("path", books(), ids=lambda path: path.stem)


@every_book
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_a_notebook_keeps_the_rules(path: Path, rule: Callable[[Book], Iterator[str]]) -> None:
    assert list(rule(Book.read(path))) == []


@every_book
def test_a_notebook_and_its_answers_run_and_say_the_same_again(path: Path) -> None:
    kept = Book.read(path)
    again, seconds = answered(kept)
    for old, new in zip(kept.code, again.code, strict=True):
        assert texts_of(new) == texts_of(old), f"this says something else when it is run again:\n{old.source}"
        assert len(new.outputs) == len(old.outputs)
    assert seconds < CPU_SECONDS


@pytest.mark.parametrize(
    "path",
    [pytest.param(path, marks=[] if path.stem in FEW else pytest.mark.nightly) for path in books()],
    ids=[path.stem for path in books()],
)
def test_a_notebook_runs_on_azurite_by_its_switch_and_leaves_nothing_there(path: Path, azurite: str) -> None:
    before = _names(azurite)
    executed(Book.read(path), storage=azurite)
    assert _names(azurite) == before


@every_book
def test_a_notebook_is_kept_as_make_notebooks_writes_it(path: Path, tmp_path: Path) -> None:
    save(Book.read(path), tmp_path / path.name)
    assert (tmp_path / path.name).read_text(encoding="utf-8") == path.read_text(encoding="utf-8")


def test_the_table_of_contents_has_every_notebook_and_no_other() -> None:
    listed = re.findall(r"\]\((\d\d_\w+\.ipynb)\)", (FOLDER / "README.md").read_text(encoding="utf-8"))
    assert listed == [path.name for path in books()]


@every_book
def test_a_link_leads_to_what_is_there(path: Path) -> None:
    links = {link for text in Book.read(path).prose for link in re.findall(r"\]\(([^)]+)\)", text)}
    assert {link for link in links if "://" not in link and not (FOLDER / link).exists()} == set()


@every_book
def test_a_notebook_has_the_number_that_is_kept_for_it(path: Path) -> None:
    page = (FOLDER / "WRITING.md").read_text(encoding="utf-8")
    assert path.stem in re.findall(r"\b\d\d_\w+", page.partition("## Numbers")[2])


def test_the_page_for_writers_names_every_heading() -> None:
    page = (FOLDER / "WRITING.md").read_text(encoding="utf-8")
    assert [each for each in HEADINGS if f"## {each}" not in page] == []


def _names(connection_string: str) -> set[tuple[str, str]]:
    with connect(connection_string) as storage:
        tables = {("table", table.name) for table in storage.tables.list_tables()}
        queues = {("queue", queue.name) for queue in storage.queues.list_queues()}
        return tables | queues | {("blobs", found.name) for found in storage.blobs.list_containers()}
