"""The schedules on the pages of patterns are what the explorer finds and prints."""

from __future__ import annotations

import logging

import pytest

from schedules.schedule import FOLDER, all_schedules, path_of, written_schedule

SCHEDULES = all_schedules()


@pytest.mark.parametrize("name", SCHEDULES)
def test_the_explorer_prints_what_the_page_shows(name: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL)
    assert path_of(name).read_text(encoding="utf-8") == written_schedule(name), "run make schedules to write it again"


def test_nothing_is_kept_of_a_schedule_that_is_gone() -> None:
    assert {path.stem for path in FOLDER.glob("*.txt")} == set(SCHEDULES)
