"""The benchmarks run, and store everything that their pages show. Speed is not tested here."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from benchmarks import explorer, over_http
from benchmarks.__main__ import main
from benchmarks.codec import measure_loads

ROOT = Path(__file__).parents[2]
TABLES = {"point read", "upsert", "transaction of 100", "page of 1,000", "range of 10", "$top=10"}
QUEUES = {"send", "receive", "delete", "send, receive, delete"}
BLOBS = {"upload 1 KiB", "download 1 KiB", "upload 16 MiB", "download 16 MiB", "list by prefix"}
LOADS = {
    "bulk load, nothing derived": 80,
    "bulk load, one index": 40,
    "bulk load, three indexes": 20,
    "bulk load, an index, a summary, index entities": 8,
}


@pytest.fixture(scope="module")
def output(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with what a quick run without Azurite wrote."""
    folder = tmp_path_factory.mktemp("benchmarks")
    parts = ("tables", "objects", "serve", "recipes", "year")
    command = [sys.executable, "-m", "benchmarks", *parts, "--quick", "--no-azurite", "--output", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


def written(output: Path, part: str) -> Any:
    return json.loads((output / f"{part}.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("part", "cases"), [("tables", TABLES), ("objects", QUEUES | BLOBS)])
def test_every_case_is_measured_on_the_floor_and_on_the_engine(output: Path, part: str, cases: set[str]) -> None:
    measured = written(output, part)["cases"]
    assert {name for name, found in measured.items() if {"floor", "engine"} <= found.keys()} == cases


@pytest.mark.parametrize("part", ["tables", "objects", "recipes"])
def test_all_contestants_of_a_case_have_two_positive_times_for_each_of_its_rounds(output: Path, part: str) -> None:
    found = written(output, part)
    for contestants in found["cases"].values():
        counts = {len(each[clock]) for each in contestants.values() for clock in ("wall", "cpu")}
        assert len(counts) == 1
        assert 1 <= counts.pop() <= found["scale"]["rounds"]
        assert min(each for series in contestants.values() for each in series["wall"] + series["cpu"]) > 0


@pytest.mark.parametrize(("part", "cases"), [("tables", {"range of 10", "$top=10"}), ("objects", {"list by prefix"})])
def test_what_must_not_depend_on_size_is_measured_where_there_is_more(output: Path, part: str, cases: set[str]) -> None:
    found = written(output, part)
    larger = {name for name, each in found["cases"].items() if {"engine", "engine, large"} <= each.keys()}
    assert larger == cases
    assert found["loaded"]["engine, large"]["entities"] > found["loaded"]["engine"]["entities"]


def test_the_server_is_measured_with_one_client_and_with_eight(output: Path) -> None:
    found = written(output, "serve")["rates"]
    assert found.keys() == {"1", "8"}
    for by_server in found.values():
        assert min(by_server["serve"]["per_second"]) > 0
        assert min(by_server["serve"]["p99"]) > 0
    assert "| 8 | serve |" in (output / "serve.md").read_text(encoding="utf-8")


def test_bulk_loads_are_measured_beside_the_calls_of_the_sdk_that_write_the_same(output: Path) -> None:
    cases = written(output, "recipes")["cases"]
    loads = {name: found for name, found in cases.items() if name.startswith("bulk load")}
    assert {name: found["BulkLoad"]["calls"] for name, found in loads.items()} == LOADS
    assert {name: found["bare"]["calls"] for name, found in loads.items()} == LOADS


def test_writers_of_one_list_need_more_attempts_than_one_writer_and_fewer_if_it_is_spread(output: Path) -> None:
    found = written(output, "recipes")["writers"]
    attempts = {(each["writers"], each["spread"]): each["attempts"] / each["written"] for each in found}
    assert {writers for writers, _ in attempts} == {1, 2, 4, 8, 16}
    assert attempts[1, 1] == attempts[1, 16] == 1
    assert attempts[16, 1] > attempts[16, 16] > 1


def test_keys_are_read_one_by_one_and_together_by_both_kinds_of_clients(output: Path) -> None:
    cases = written(output, "recipes")["cases"]
    for how in ("sync", "async"):
        assert set(cases[f"engine behind 2 ms, {how}"]) == {"one by one", "get_many", "get_many, limit=32"}


def test_the_year_is_loaded_with_an_index_in_fewer_transactions_than_flights(output: Path) -> None:
    (load,) = written(output, "year")["loads"]
    assert load["name"] == "one index"
    assert load["entities"] == 80
    assert 0 < load["transactions"] < 80
    assert load["bare_cpu"] > 0
    assert "all 80 flights of 2013" in (output / "recipes.md").read_text(encoding="utf-8")


def test_derived_data_is_backfilled_and_verified_in_the_partition_and_outside_it(output: Path) -> None:
    cases = written(output, "recipes")["cases"]
    for where in ("index in the partition", "index elsewhere"):
        assert set(cases[where]) == {"backfill", "verify"}


@pytest.mark.parametrize("part", ["tables", "objects", "recipes"])
def test_the_rounds_say_on_which_machine_and_with_which_versions_they_were_run(output: Path, part: str) -> None:
    expected = {"date", "Python", "azure-data-tables", "azure-storage-blob", "azure-core", "Azurite", "processor"}
    assert expected <= written(output, part)["environment"].keys()


@pytest.mark.parametrize(("page", "count"), [("results.md", 8), ("recipes.md", 4)])
def test_a_page_judges_every_target(output: Path, page: str, count: int) -> None:
    text = (output / page).read_text(encoding="utf-8")
    assert len([line for line in text.splitlines() if line.endswith(("| yes |", "| **no** |"))]) == count


def test_the_page_on_single_requests_shows_the_plot(output: Path) -> None:
    assert "(speed.png)" in (output / "results.md").read_text(encoding="utf-8")
    assert (output / "speed.png").read_bytes().startswith(b"\x89PNG")


def test_the_pages_can_be_made_again_of_the_rounds(output: Path, tmp_path: Path) -> None:
    for path in output.glob("*.json"):
        shutil.copy(path, tmp_path)
    main(["--redraw", "--output", str(tmp_path)])
    pages = [path.name for path in output.glob("*.md")]
    assert {"results.md", "recipes.md"} < set(pages)
    assert [page for page in pages if (tmp_path / page).read_bytes() != (output / page).read_bytes()] == []


def test_a_part_that_is_not_there_is_rejected(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["tabels"])
    assert "tabels: the parts are tables, objects, serve, recipes and year" in capsys.readouterr().err


def test_bulk_loads_are_compared_with_the_sdks_own_calls(capsys: pytest.CaptureFixture[str]) -> None:
    assert len(list(measure_loads(100, 1))) == 2
    assert capsys.readouterr().out.count("BulkLoad") == 2


def test_each_exploration_is_measured(tmp_path: Path) -> None:
    output = tmp_path / "explorer.json"
    explorer.main(["--rounds", "1", "--output", str(output), "worker"])
    rounds = json.loads(output.read_text(encoding="utf-8"))["rounds"]
    ((schedules, seconds),) = rounds["worker"]["this version"]
    assert schedules > 50
    assert seconds > 0


@pytest.mark.nightly
def test_single_requests_over_http_are_measured_in_every_way(tmp_path: Path) -> None:
    output = tmp_path / "over_http.json"
    over_http.main(["--rounds", "1", "--count", "1", "--output", str(output)])
    parts = json.loads(output.read_text(encoding="utf-8"))["parts"]
    calls = {"get", "insert", "merge", "append", "queue send", "queue receive"}
    assert {part: set(cases) for part, cases in parts.items()} == {
        **dict.fromkeys(("http", "https", "asyncio"), calls),
        **{part: {"1", "8", "64"} for part in ("threads", "tasks")},
    }
    for cases in parts.values():
        for sides in cases.values():
            assert {"SDK", "library"} <= sides.keys()
            assert min(series["cpu"][0] for series in sides.values()) > 0
    assert "## asyncio, HTTP" in output.with_suffix(".md").read_text(encoding="utf-8")
