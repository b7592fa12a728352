"""Tests of the record of long runs, and of the seed that the next run starts with."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from differential.record import Record, Run
from differential.services import SERVICES

RUN = Run("2026-11-21", 5, 7, 61, ("Azurite 3",), {"Put": 1999, "Get": 1}, {"cache control": 12})


def test_a_record_begins_at_the_first_seed(tmp_path: Path) -> None:
    assert Record(tmp_path / "record.json").next_seed("queues") == 1


def test_a_run_continues_where_the_last_one_ended(tmp_path: Path) -> None:
    Record(tmp_path / "record.json").put("queues", RUN)
    found = Record(tmp_path / "record.json")
    assert (found.next_seed("queues"), found.next_seed("blobs")) == (7, 1)


def test_a_continued_run_stays_one_run(tmp_path: Path) -> None:
    record = Record(tmp_path / "record.json")
    record.put("queues", RUN)
    record.put("queues", replace(RUN, stop=9, operations={"Put": 3000}))
    page = record.page(SERVICES)
    assert "## Queues: 3,000 operations" in page
    assert page.count("| 2026-11-21 |") == 1
    assert "| 2026-11-21 | 5 to 8 | 3,000 | 1 min 1 s | Azurite 3 |" in page


def test_the_page_adds_up_all_runs_and_names_every_exclusion(tmp_path: Path) -> None:
    record = Record(tmp_path / "record.json")
    record.put("queues", RUN)
    record.put("queues", replace(RUN, start=7, stop=8))
    page = record.page(SERVICES)
    assert "## Queues: 4,000 operations" in page
    assert "| 24 | cache control |" in page
    assert [each.name for each in SERVICES["queues"].exclusions if f"| {each.name} |" not in page] == []
