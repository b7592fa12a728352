"""`review --watch`: the report of a design file is written again when the file changes."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tablepatterns.cli.main import main
from tablepatterns.extras import how_to_install

DESIGN = """name = "{name}"

[[set]]
name = "Employees"
table = "Employees"
key = {{ partition = "{{Department}}", row = "{{EmployeeId:06d}}" }}
entity = "Employee"
count = 40

[set.fields]
Department = {{ distinct = 4, size = 10 }}
EmployeeId = {{ type = "int32" }}

[[set.query]]
name = "employee by number"
known = {{ Department = "=", EmployeeId = "=" }}
rate = 5
"""
WAIT = 60


@pytest.fixture
def path(tmp_path: Path) -> Path:
    found = tmp_path / "design.toml"
    found.write_text(DESIGN.format(name="First"), encoding="utf-8")
    return found


@contextmanager
def watching(path: Path, *options: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "tablepatterns", "review", str(path), "--watch", *options]
    # A shell lets programs in the background ignore Ctrl+C, and those that they start
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            try:
                yield process
            finally:
                process.kill()
    finally:
        signal.signal(signal.SIGINT, before)


def wait_for(page: Path, text: str, path: Path, design: str) -> None:
    """Write the design until its page has a text: the folder may not be watched yet at the first time."""
    end = time.monotonic() + WAIT
    while time.monotonic() < end:
        path.write_text(design, encoding="utf-8")
        for _ in range(10):
            if page.exists() and text in page.read_text(encoding="utf-8"):
                return
            time.sleep(0.1)
    raise AssertionError(f"the page has no {text}: {page.read_text(encoding='utf-8')[:400]}")


@pytest.mark.skipif(sys.platform == "win32", reason="Ctrl+C cannot be sent to one process")
def test_the_page_is_written_again_when_the_file_changes_and_control_c_ends_it(path: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    with watching(path, "--output", str(page)) as process:
        wait_for(page, "<h1>First</h1>", path, DESIGN.format(name="First"))
        wait_for(page, "<h1>Second</h1>", path, DESIGN.format(name="Second"))
        wait_for(page, "The design file has errors", path, DESIGN.format(name="Third") + "\nrat = '<b>'\n")
        assert "<b>" not in page.read_text(encoding="utf-8").partition("<pre")[2]
        wait_for(page, "<h1>Fourth</h1>", path, DESIGN.format(name="Fourth"))
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=WAIT)
        assert (process.returncode, errors) == (0, "")


def test_only_a_file_can_be_watched(tmp_path: Path) -> None:
    ended = CliRunner().invoke(main, ["review", str(tmp_path / "none.toml"), "--watch"])
    assert ended.exit_code == 2
    assert "only a design file can be watched" in ended.stderr


def test_missing_watchfiles_is_named_with_its_extra(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "watchfiles", None)
    ended = CliRunner().invoke(main, ["review", str(path), "--watch"])
    assert ended.exit_code == 1
    assert how_to_install("review") in ended.stderr
