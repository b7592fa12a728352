"""The benchmarks run, and write down everything that their page shows; how fast anything is, they say themselves."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
CASES = {"point read", "upsert", "transaction of 100", "page of 1,000", "range of 10", "$top=10"}


@pytest.fixture(scope="module")
def output(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with what a quick run without Azurite wrote."""
    folder = tmp_path_factory.mktemp("benchmarks")
    command = [sys.executable, "-m", "benchmarks", "--quick", "--no-azurite", "--output", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return folder


@pytest.fixture(scope="module")
def written(output: Path) -> Any:
    return json.loads((output / "rounds.json").read_text(encoding="utf-8"))


def test_every_case_is_measured_on_the_floor_and_on_the_engine(written: Any) -> None:
    assert {name for name, found in written["cases"].items() if {"floor", "engine"} <= found.keys()} == CASES


def test_every_contestant_has_two_positive_times_for_every_round(written: Any) -> None:
    series = [each for contestants in written["cases"].values() for each in contestants.values()]
    assert {len(each[clock]) for each in series for clock in ("wall", "cpu")} == {written["scale"]["rounds"]}
    assert min(time for each in series for time in each["wall"] + each["cpu"]) > 0


def test_queries_of_a_range_and_of_a_top_are_measured_in_a_larger_table_too(written: Any) -> None:
    larger = {name for name, found in written["cases"].items() if {"engine", "engine, large table"} <= found.keys()}
    assert larger == {"range of 10", "$top=10"}
    assert written["loaded"]["engine, large table"]["entities"] > written["loaded"]["engine"]["entities"]


def test_the_rounds_say_on_which_machine_and_with_which_versions_they_were_run(written: Any) -> None:
    told = {"date", "Python", "azure-data-tables", "azure-core", "Azurite", "processor"}
    assert told <= written["environment"].keys()


def test_the_page_judges_every_target_and_shows_the_plot(output: Path) -> None:
    page = (output / "results.md").read_text(encoding="utf-8")
    targets = [line for line in page.splitlines() if line.endswith(("| yes |", "| **no** |"))]
    assert len(targets) == 7
    assert "(speed.png)" in page
    assert (output / "speed.png").read_bytes().startswith(b"\x89PNG")
