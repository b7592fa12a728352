"""A design written as Python: it is formatted, typed, declares the same design, and its own tests pass."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from review.test_archives import FILE, ORDERS
from tablepatterns.cli.main import main
from tablepatterns_review import Design, read_design
from tablepatterns_review.cli import design_of
from tablepatterns_review.code.module import written

ROOT = Path(__file__).parents[2]
DOCS = sorted((ROOT / "docs" / "reviews").glob("*.toml"))
RECALL = ROOT / "tests" / "review" / "recall"
KINDS = [
    RECALL / name
    for name in (
        "sound/departments_denormalized.toml",
        "sound/patients_encrypted.toml",
        "faulty/accounts_with_shared_email.toml",
        "faulty/notes_spread_for_nothing.toml",
    )
]
"""Designs with the patterns, derived data and mappings that the documented ones do not have."""
MANY = sorted(RECALL.glob("*/*.toml"))[::6]
HOSTILE = """
name = "A \\"design\\" of 'x' \\\\ \\n\\"\\"\\" import os"
[[set]]
name = "Sales \\"\\"\\" 'of' class\\n"
table = "Sales"
entity = "class"
key = { partition = "{class}", row = "{print:06d}" }
count = 1_000
[set.fields]
class = { distinct = 12, size = 8 }
print = { type = "int32" }
secret = { size = 8, secret = true, personal = true }
[[set.query]]
name = "Größe\\n\\"\\"\\" {x} 日本"
known = { class = "=", print = "=" }
rate = 1
[[set.write]]
name = "def"
operation = "update"
changes = ["secret"]
[[set.access]]
name = "portal"
by = ["class"]
[[set]]
name = "class"
key = { partition = "{Text}", row = "x" }
count = 10
permanent = true
[set.fields]
Text = { size = 5 }
[[set.mappings]]
pattern = "encrypted_properties"
names = ["Card"]
[set.fields.Card]
size = 20
"""

LISTS = """
name = "Lists"
[[set]]
name = "Employees"
key = {{ partition = "{{Department}}", row = "{{Id:06d}}" }}
count = 10
fields = {{ Department = {{ size = 8 }}, Id = {{ type = "int32" }} }}
derived = [{{ pattern = "index_entities", fields = ["Department"], {} }}]
"""


def said(design: Design) -> object:
    """Return all that a design says; corrections are made in what is written."""
    return [
        design.name,
        design.years,
        [
            (
                replace(each, settings={}, derived=(), mappings=()),
                {name: value for name, value in each.settings.items() if value is not None},
                [(each.profile(via).key, type(via).__name__, via.name, sorted(via.reads)) for via in each.derived],
                [(type(mapping).__name__, sorted(mapping.fields)) for mapping in each.mappings],
            )
            for each in design.sets
        ],
    ]


def run(folder: Path, *command: str, status: int = 0) -> str:
    """Run a module, and return its output."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "patterns"), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == status, done.stdout[-4000:] + done.stderr[-2000:]
    return done.stdout


def costlier(module: str) -> str:
    """Return a module whose sets have lost their indexes and lists."""
    return module.replace("derived=[", "derived=[] and [")


@pytest.mark.parametrize("paths", [KINDS, pytest.param(MANY, marks=pytest.mark.nightly)], ids=["kinds", "many"])
def test_designs_are_written_with_their_tests(
    paths: Sequence[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is written is formatted and typed, passes its own tests unless a call costs more, and says the same."""
    typed = [
        *((f"docs_{path.stem}", read_design(path)) for path in DOCS),
        ("archive_former", read_design(FILE)),
        ("archive_orders", read_design(ORDERS)),
    ]
    # Names and texts of the last one must not become code
    others = [
        *((f"{path.parent.name}_{path.stem}", read_design(path)) for path in paths),
        ("hostile", read_design(HOSTILE)),
    ]
    for name, design in (*typed, *others):
        for file, text in written(design, name).items():
            (tmp_path / file).write_text(text, encoding="utf-8")
    selected = ("--select", "E,F,W,I,B", "--ignore", "E501")
    run(tmp_path, "ruff", "check", "--isolated", "--target-version", "py310", *selected, ".")
    run(tmp_path, "ruff", "format", "--isolated", "--check", ".")
    settings = {
        "include": [f"*{name}.py" for name, _ in typed],
        "typeCheckingMode": "strict",
        "extraPaths": [str(ROOT / "patterns")],
        "pythonVersion": "3.10",
    }
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings), encoding="utf-8")
    run(tmp_path, "pyright", "-p", ".", "--pythonpath", sys.executable)

    for file in ("docs_employees_improved.py", "test_docs_employees_improved.py"):
        text = costlier((tmp_path / file).read_text(encoding="utf-8"))
        changed = text.replace("from docs_employees_improved import", "from costlier import")
        (tmp_path / file.replace("docs_employees_improved", "costlier")).write_text(changed, encoding="utf-8")
    # The library's plugin is the only one that they need
    options = ("-p", "pytest_tablepatterns", "-p", "no:cacheprovider", "--rootdir", ".")
    said_of_tests = run(tmp_path, "pytest", "-q", *options, "-rf", ".", status=1)
    failed = [line for line in said_of_tests.splitlines() if line.startswith("FAILED ")]
    assert failed
    assert [line for line in failed if not line.startswith("FAILED test_costlier.py")] == []
    assert "employee by e-mail" in " ".join(failed)

    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    for name, design in (*typed, *others):
        assert said(design_of(f"{name}:design")) == said(design), name


def test_what_is_not_written_is_named() -> None:
    files = written(read_design(HOSTILE), "hostile")
    assert "# Not written: a model of" in files["hostile.py"]
    improved = written(read_design(ROOT / "docs" / "reviews" / "employees_improved.toml"), "improved")
    assert '# Not written: the transaction of "hire" with "store photograph"' in improved["improved.py"]
    assert '("Employees", "hire"): ' in improved["test_improved.py"]


@pytest.mark.parametrize(
    ("derived", "expected"),
    [
        ('store = { container = "lists" }', 'store=InBlobs("lists")'),
        ('key = { partition = "{Department}", row = "list" }', 'key=Key("{Department}", "list")'),
    ],
)
def test_a_list_by_a_field_of_the_partition_is_written_as_declared(derived: str, expected: str) -> None:
    """Without a place or a key, the list's key would have the field twice."""
    design = read_design(LISTS.format(derived))
    assert f'"Department", {expected}, name="Department"' in written(design, "lists")["lists.py"]


@pytest.mark.parametrize("name", ["tablepatterns", "pytest", "dataclasses", "class"])
def test_no_module_hides_another(name: str) -> None:
    files = written(read_design(HOSTILE), name)
    assert list(files) == [f"{name}_design.py", f"test_{name}_design.py"]


def test_command(tmp_path: Path) -> None:
    source, folder = ROOT / "docs" / "reviews" / "log_prepend_append.toml", tmp_path / "log"
    command = ["review", str(source), "--code", "--output", str(folder)]
    done = CliRunner().invoke(main, command)
    assert done.exit_code == 0, done.output
    assert sorted(path.name for path in folder.iterdir()) == [f"{source.stem}.py", f"test_{source.stem}.py"]
    before = (folder / f"{source.stem}.py").read_text(encoding="utf-8")
    again = CliRunner().invoke(main, command)
    assert again.exit_code == 2
    assert "there is such a file" in again.output
    assert (folder / f"{source.stem}.py").read_text(encoding="utf-8") == before


def test_only_files_are_written_as_python() -> None:
    done = CliRunner().invoke(main, ["review", "some.module:design", "--code"])
    assert done.exit_code == 2
    assert "only a design file" in done.output


def test_modules_are_readable_where_ruff_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tablepatterns_review.code.module.find_spec", lambda name: None)
    for text in written(read_design(ROOT / "docs" / "reviews" / "employees_improved.toml"), "improved").values():
        compile(text, "improved.py", "exec")
        assert len(text.splitlines()) > 30
