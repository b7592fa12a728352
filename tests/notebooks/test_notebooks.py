"""Every notebook follows the rules and runs with the same output again; so do the answers to its exercises."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterator
from pathlib import Path
from typing import Any

import pytest

from notebooks.book import FOLDER, HEADINGS, Book, books, texts_of
from notebooks.rules import RULES
from notebooks.running import answered, executed, save
from tablepatterns import connect

CPU_SECONDS = 20
FEW = ("26_partition_move",)
"""All of them take Azurite some minutes."""
AT_NIGHT = (
    *("02_inter_partition_index", "03_index_entities", "04_eventual_transaction", "05_archive", "07_summary"),
    *("10_period_tables", "11_bulk_delete", "12_data_series", "13_wide_entity", "14_large_properties"),
    *("15_partition_spread", "16_blob_log", "18_one_to_one", "19_lookup", "20_entity_types"),
    *("21_encrypted_properties", "24_bulk_load", "25_parallel_reads", "26_partition_move", "27_worker"),
    *("28_design_review", "29_rekey", "30_export", "31_review_of_writes"),
)
"""They take most of the time; the program of each pattern's page runs in every run."""
every_book = pytest.mark.parametrize("path", books(), ids=lambda path: path.stem)


def books_at_night(names: Container[str]) -> list[Any]:
    """Return all notebooks as parameters, these marked as nightly."""
    marks = {True: [pytest.mark.nightly], False: []}
    return [pytest.param(path, id=path.stem, marks=marks[path.stem in names]) for path in books()]


@every_book
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_a_notebook_keeps_the_rules(path: Path, rule: Callable[[Book], Iterator[str]]) -> None:
    assert list(rule(Book.read(path))) == []


@pytest.mark.parametrize("path", books_at_night(AT_NIGHT))
def test_a_notebook_and_its_answers_run_and_say_the_same_again(path: Path) -> None:
    kept = Book.read(path)
    again, seconds = answered(kept)
    for old, new in zip(kept.code, again.code, strict=True):
        assert texts_of(new) == texts_of(old), f"this says something else when it is run again:\n{old.source}"
        assert len(new.outputs) == len(old.outputs)
    assert seconds < CPU_SECONDS


@pytest.mark.parametrize("path", books_at_night({path.stem for path in books()} - {*FEW}))
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


def test_the_page_for_writers_names_every_heading() -> None:
    page = (FOLDER / "WRITING.md").read_text(encoding="utf-8")
    assert [each for each in HEADINGS if f"## {each}" not in page] == []


def _names(connection_string: str) -> set[tuple[str, str]]:
    with connect(connection_string) as storage:
        tables = {("table", table.name) for table in storage.tables.list_tables()}
        queues = {("queue", queue.name) for queue in storage.queues.list_queues()}
        return tables | queues | {("blobs", found.name) for found in storage.blobs.list_containers()}
