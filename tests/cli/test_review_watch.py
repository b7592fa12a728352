"""`review --watch`: the page of a design file on this machine, reloaded when the file changes."""

from __future__ import annotations

import http.client
import io
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.console import Console

from support.browser import chromium
from tablepatterns.cli.watch import PageServer, Watched, watch
from tablepatterns.errors import BadInput

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


@pytest.fixture
def server(path: Path) -> Iterator[PageServer]:
    watched = Watched(path)
    watched.refresh()
    with PageServer(watched) as found:
        thread = threading.Thread(target=found.serve_forever, daemon=True)
        thread.start()
        yield found
        found.shutdown()
        thread.join()


def written(path: Path, text: str) -> None:
    """Write a file with a later time than before, whatever the resolution of the file system is."""
    before = path.stat().st_mtime_ns
    path.write_text(text, encoding="utf-8")
    os.utime(path, ns=(before + 10**9, before + 10**9))


def test_the_page_is_written_again_only_when_the_file_changes(path: Path) -> None:
    watched = Watched(path)
    assert watched.refresh()
    assert not watched.refresh()
    assert "<h1>First</h1>" in watched.page
    written(path, DESIGN.format(name="Second"))
    assert watched.refresh()
    assert "<h1>Second</h1>" in watched.page


def test_errors_of_the_file_are_on_the_page(path: Path) -> None:
    watched = Watched(path)
    written(path, DESIGN.format(name="First") + "\nrat = '<b>'\n")
    watched.refresh()
    assert "The design file has errors" in watched.page
    assert "rat" in watched.page
    path.unlink()
    assert watched.refresh()
    assert "The design file has errors" in watched.page


def test_it_listens_on_this_machine_only_and_answers_no_other_host(server: PageServer) -> None:
    assert server.server_address[0] == "127.0.0.1"
    found = [answered(server, "/"), answered(server, "/", "evil.example:80"), answered(server, "/other")]
    assert [status for status, _ in found] == [200, 403, 404]
    assert "connect-src 'self'" in found[0][1]


def answered(server: PageServer, path: str, host: str = "localhost:1") -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port)
    connection.request("GET", path, headers={"Host": host})
    response = connection.getresponse()
    found = response.status, response.read().decode()
    connection.close()
    return found


def test_only_a_file_can_be_watched(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="only a design file can be watched"):
        watch(tmp_path / "none.toml", None, 0, Console(file=io.StringIO()))


@pytest.mark.browser
def test_the_browser_reloads_when_the_file_changes(server: PageServer, path: Path) -> None:
    with chromium() as browser:
        page = browser.new_page()
        failed: list[str] = []
        page.on("pageerror", lambda error: failed.append(str(error)))
        page.goto(server.url)
        page.check("#choose-0")
        written(path, DESIGN.format(name="Second"))
        server.watched.refresh()
        page.locator("h1", has_text="Second").wait_for()
        assert page.locator("#choose-0").is_checked()
        written(path, "name = 1")
        server.watched.refresh()
        page.locator("h1", has_text="errors").wait_for()
        written(path, DESIGN.format(name="Third"))
        server.watched.refresh()
        page.locator("h1", has_text="Third").wait_for()
        page.close()
        assert failed == []


@pytest.mark.skipif(sys.platform == "win32", reason="Ctrl+C cannot be sent to one process")
def test_control_c_ends_it_cleanly(path: Path) -> None:
    # A page of errors is written at once
    path.write_text("name = 1", encoding="utf-8")
    command = [sys.executable, "-m", "tablepatterns", "review", str(path), "--watch"]
    # A shell lets programs in the background ignore Ctrl+C, and those that they start
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    signal.signal(signal.SIGINT, before)
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line.startswith("http://127.0.0.1:")
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=WAIT)
    assert (process.returncode, errors) == (0, "")
