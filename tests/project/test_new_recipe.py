"""`make recipe` creates valid files of a recipe, and tests list what is still to be written."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from xml.etree import ElementTree

import nbformat
import pytest
from tools.recipe.begin import Unfit, begin, title_of

from notebooks.book import HEADINGS

ROOT = Path(__file__).parents[2]
PARTS = ("patterns", "tests", "docs", "notebooks", "examples", "benchmarks", "tools")
LEFT_OUT = shutil.ignore_patterns("node_modules", "__pycache__", "_build", ".ipynb_checkpoints", "results")
MADE = [
    "patterns/tablepatterns/recipes/highest_scores.py",
    "tests/recipes/test_highest_scores.py",
    "docs/patterns/highest_scores.md",
    "patterns/tablepatterns/catalog.toml",
    "notebooks/README.md",
]
"""And a notebook."""

PLACES = "tests/project/test_lazy_names.py::test_each_public_name_is_written_once_and_found_where_the_stub_says"
LEFT = "tests/project/test_house.py::test_nothing_is_left_to_be_written"
ENTRY = "tests/catalog/test_catalog.py"
IMPORTS = "tests/project/test_imports.py"
HEADINGS_OF_PAGES = "tests/docs/test_pattern_pages.py"


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project."""
    copy = tmp_path_factory.mktemp("copy")
    for part in PARTS:
        shutil.copytree(ROOT / part, copy / part, ignore=LEFT_OUT)
    for path in ROOT.iterdir():
        if path.is_file():
            shutil.copy(path, copy)
    return copy


@pytest.fixture(scope="module")
def made(copy: Path) -> list[str]:
    """What the command says that it made in the copy."""
    done = run(copy, "tools.recipe", "highest_scores")
    assert done.returncode == 0, done.stderr
    return done.stdout.split("\nNext")[0].splitlines()


def run(copy: Path, module: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    environment["PYTHONPATH"] = str(copy / "patterns")
    command = [sys.executable, "-m", module, *arguments]
    return subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True, timeout=120)


@pytest.fixture(scope="module")
def tested(copy: Path, made: list[str]) -> Mapping[str, list[str]]:
    """What one run of pytest says of the copy: for each file or test, the message of each case, empty if it passes."""
    asked = (made[0], made[1], IMPORTS, PLACES, LEFT, ENTRY, HEADINGS_OF_PAGES)
    few = "highest_scores and not test_pattern_pages or __init__ or headings or stub_says or is_left or of_the_guide"
    options = ("-q", "-p", "no:cacheprovider", "-m", "not azurite", "--doctest-modules", "-k", few)
    done = run(copy, "pytest", *options, "--junitxml=report.xml", "-o", "junit_family=xunit1", *asked)
    assert done.returncode == 1, done.stdout + done.stderr
    found: dict[str, list[str]] = {each: [] for each in asked}
    for case in ElementTree.parse(copy / "report.xml").iter("testcase"):  # noqa: S314 - it is our own
        place = case.get("file", "")
        found[place if place in found else f"{place}::{case.get('name')}"].append("".join(case.itertext()))
    assert all(found.values()), done.stdout
    return found


def test_a_recipe_is_made_of_five_files_and_a_row(made: list[str]) -> None:
    assert made[:-1] == MADE
    assert made[-1].startswith("notebooks/")
    assert made[-1].endswith("_highest_scores.ipynb")


def test_what_is_made_passes_the_linter_and_the_rules_of_imports(
    copy: Path, made: list[str], tested: Mapping[str, list[str]]
) -> None:
    for check in (["check"], ["format", "--check"]):
        done = run(copy, "ruff", *check, *(path for path in made if not path.endswith((".md", ".toml"))))
        assert done.returncode == 0, done.stdout
    assert not any(tested[IMPORTS])


def test_the_recipe_is_public_and_its_examples_run(made: list[str], tested: Mapping[str, list[str]]) -> None:
    assert not any(tested[made[0]])
    assert not any(tested[PLACES])


def test_its_tests_fail_with_what_is_to_be_written(made: list[str], tested: Mapping[str, list[str]]) -> None:
    output = "".join(tested[made[1]])
    assert "write me: HighestScores.first" in output
    assert "write me: what must hold at the end" in output


def test_the_tests_of_the_house_tell_what_is_missing_and_where(
    made: list[str], tested: Mapping[str, list[str]]
) -> None:
    (output,) = tested[LEFT]
    assert "write me: HighestScores.first" in output
    assert [path for path in made if f"{path}:" not in output] == []
    assert "Write me: the title of the guide's section" in "".join(tested[ENTRY])


def test_a_notebook_has_the_headings_of_all(copy: Path, made: list[str]) -> None:
    written = json.loads((copy / made[-1]).read_text(encoding="utf-8"))
    nbformat.validate(written)
    cells = written["cells"]
    headings = ["".join(cell["source"]).splitlines()[0] for cell in cells if cell["cell_type"] == "markdown"]
    assert headings[1:] == [f"## {each}" for each in HEADINGS]


def test_a_page_has_the_headings_of_all(tested: Mapping[str, list[str]]) -> None:
    assert not any(tested[HEADINGS_OF_PAGES])


@pytest.mark.parametrize("name", ["", "SortedTail", "sorted-tail", "1st", "../evil", "log_tail"])
def test_a_name_that_no_recipe_can_have_is_rejected_and_nothing_is_made(copy: Path, name: str) -> None:
    before = {path: path.stat().st_mtime_ns for path in copy.rglob("*.py")}
    done = run(copy, "tools.recipe", name)
    assert done.returncode == 2
    assert "make recipe NAME=sorted_tail" in done.stderr
    assert {path: path.stat().st_mtime_ns for path in copy.rglob("*.py")} == before


def test_a_recipe_that_is_begun_is_not_begun_again(copy: Path, made: list[str]) -> None:
    with pytest.raises(Unfit, match="is there already"):
        list(begin(copy, "highest_scores"))
    assert title_of(made[0].rpartition("/")[2].removesuffix(".py")) == "Highest scores"
