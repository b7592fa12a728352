"""`make recipe` creates valid files of a recipe, and tests list what is still to be written."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tools.recipe.begin import Unfit, begin, title_of

from notebooks.book import HEADINGS

ROOT = Path(__file__).parents[2]
PARTS = ("patterns", "tests", "docs", "notebooks", "examples", "benchmarks", "tools")
LEFT_OUT = shutil.ignore_patterns("node_modules", "__pycache__", "_build", ".ipynb_checkpoints", "results")
MADE = [
    "patterns/tablepatterns/recipes/sorted_tail.py",
    "tests/recipes/test_sorted_tail.py",
    "tests/recipes/test_sorted_tail_schedules.py",
    "docs/patterns/sorted_tail.md",
    "docs/patterns/code/sorted_tail.py",
    "tests/budgets/sets.py",
    "docs/data/limits.toml",
    "patterns/tablepatterns/__init__.pyi",
]

PLACES = "tests/project/test_lazy_names.py::test_each_public_name_is_written_once_and_found_where_the_stub_says"


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
    done = run(copy, "tools.recipe", "sorted_tail")
    assert done.returncode == 0, done.stderr
    return done.stdout.split("\nNext")[0].splitlines()


def run(copy: Path, module: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    environment["PYTHONPATH"] = str(copy / "patterns")
    command = [sys.executable, "-m", module, *arguments]
    return subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True, timeout=120)


def complaints(copy: Path, *arguments: str) -> str:
    """Return what pytest says of tests in the copy that fail."""
    done = run(copy, "pytest", "-q", "-p", "no:cacheprovider", "-m", "not azurite", *arguments)
    assert done.returncode == 1, done.stdout + done.stderr
    return done.stdout


def test_the_files_and_lines_of_a_recipe_are_made(made: list[str]) -> None:
    assert made[: len(MADE)] == MADE
    assert made[-1].startswith("notebooks/")
    assert made[-1].endswith("_sorted_tail.ipynb")


def test_what_is_made_passes_the_linter_and_the_rules_of_imports(copy: Path, made: list[str]) -> None:
    for check in (["check"], ["format", "--check"]):
        done = run(copy, "ruff", *check, *(path for path in made if not path.endswith((".md", ".toml"))))
        assert done.returncode == 0, done.stdout
    done = run(
        copy, "pytest", "-q", "-p", "no:cacheprovider", "tests/project/test_imports.py", "-k", "sorted_tail or __init__"
    )
    assert done.returncode == 0, done.stdout


def test_the_recipe_is_public_and_its_examples_run(copy: Path, made: list[str]) -> None:
    done = run(copy, "pytest", "-q", "-p", "no:cacheprovider", "--doctest-modules", made[0], PLACES)
    assert done.returncode == 0, done.stdout


def test_its_tests_fail_with_what_is_to_be_written(copy: Path, made: list[str]) -> None:
    output = complaints(copy, made[1], made[2])
    assert "write me: SortedTail.first" in output
    assert "write me: what must hold at the end" in output
    assert "write me: break the recipe on purpose" in output


def test_the_tests_of_the_house_tell_what_is_missing_and_where(copy: Path, made: list[str]) -> None:
    output = complaints(copy, "tests/project/test_house.py::test_nothing_is_left_to_be_written")
    assert "write me: SortedTail.first" in output
    places = [path for path in made if path not in (MADE[-1], MADE[4])]
    assert [path for path in places if f"{path}:" not in output] == []
    entry = "tests/catalogue/test_catalogue.py::test_every_module_of_recipes_belongs_to_one_entry"
    assert "sorted_tail" in complaints(copy, entry)


def test_a_notebook_has_the_headings_of_all(copy: Path, made: list[str]) -> None:
    cells = json.loads((copy / made[-1]).read_text(encoding="utf-8"))["cells"]
    headings = ["".join(cell["source"]).splitlines()[0] for cell in cells if cell["cell_type"] == "markdown"]
    assert headings[1:] == [f"## {each}" for each in HEADINGS]


def test_a_page_has_the_headings_of_all(copy: Path, made: list[str]) -> None:
    done = run(copy, "pytest", "-q", "-p", "no:cacheprovider", "tests/docs/test_pattern_pages.py", "-k", "headings")
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("name", ["", "SortedTail", "sorted-tail", "1st", "../evil", "log_tail"])
def test_a_name_that_no_recipe_can_have_is_rejected_and_nothing_is_made(copy: Path, name: str) -> None:
    before = {path: path.stat().st_mtime_ns for path in copy.rglob("*.py")}
    done = run(copy, "tools.recipe", name)
    assert done.returncode == 2
    assert "make recipe NAME=sorted_tail" in done.stderr
    assert {path: path.stat().st_mtime_ns for path in copy.rglob("*.py")} == before


def test_a_recipe_that_is_begun_is_not_begun_again(copy: Path, made: list[str]) -> None:
    with pytest.raises(Unfit, match="is there already"):
        list(begin(copy, "sorted_tail"))
    assert title_of(made[0].rpartition("/")[2].removesuffix(".py")) == "Sorted tail"
