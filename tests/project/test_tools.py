"""A test whose tool is missing is skipped with how to get the tool; with --no-skips it fails."""

from __future__ import annotations

from pathlib import Path

import pytest

from support import azurite_server, browser, tools

BODIES = """
import pytest

@pytest.mark.parametrize("number", range(3))
@pytest.mark.browser
def test_page(number): assert number < 2

@pytest.mark.azurite
def test_account(): ...

def test_plain(): ...
"""


@pytest.fixture
def suite(pytester: pytest.Pytester) -> pytest.Pytester:
    pytester.makeini(
        "[pytest]\nmarkers =\n    browser: needs one\n    azurite: runs on it\naddopts = -ra -p support.tools"
    )
    pytester.makepyfile(BODIES)
    return pytester


def lacking(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """Let a run find every tool except these."""
    for name in tools.MISSING:
        text = f"No {name}. To run them: get {name}." if name in names else None
        monkeypatch.setitem(tools.MISSING, name, lambda text=text: text)


def test_each_missing_tool_is_one_line_at_the_end(suite: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    lacking(monkeypatch, "browser", "azurite")
    done = suite.runpytest("-q")
    done.assert_outcomes(passed=1, skipped=4)
    lines = [line.partition(": ")[2] for line in done.outlines if line.startswith("SKIPPED")]
    assert sorted(lines) == ["No azurite. To run them: get azurite.", "No browser. To run them: get browser."]
    done.stdout.fnmatch_lines(["SKIPPED [[]3] *get browser.", "1 passed, 4 skipped in *"])
    assert done.ret == pytest.ExitCode.OK


def test_where_every_skip_fails_none_counts_as_a_pass(suite: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    lacking(monkeypatch, "browser")
    done = suite.runpytest("--no-skips")
    done.assert_outcomes(passed=2, errors=3)
    done.stdout.fnmatch_lines(["*--no-skips: No browser. To run them: get browser."])
    assert done.ret == pytest.ExitCode.TESTS_FAILED


def test_with_its_tool_a_test_runs_and_fails(suite: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    lacking(monkeypatch)
    suite.runpytest().assert_outcomes(passed=4, failed=1)


@pytest.mark.parametrize(
    "body",
    [
        'import pytest\npytest.skip("for now", allow_module_level=True)',
        'import pytest\npytest.importorskip("a_package_that_is_missing")',
        "import pytest\n@pytest.mark.skip\ndef test_it(): ...",
        "import pytest\n@pytest.mark.skipif(True, reason='so')\ndef test_it(): ...",
        "import pytest\ndef test_it(): pytest.skip()",
        "import pytest\n@pytest.fixture\ndef tool(): pytest.skip()\ndef test_it(tool): ...",
        "import unittest\nclass TestIt(unittest.TestCase):\n    def test_it(self): self.skipTest('so')",
    ],
)
def test_no_kind_of_skip_passes(suite: pytest.Pytester, body: str) -> None:
    suite.makepyfile(test_other=body)
    assert suite.runpytest("test_other.py").ret in {pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED}
    assert suite.runpytest("test_other.py", "--no-skips").ret not in {
        pytest.ExitCode.OK,
        pytest.ExitCode.NO_TESTS_COLLECTED,
    }


def test_an_expected_failure_is_no_skip(suite: pytest.Pytester) -> None:
    suite.makepyfile(test_other="import pytest\n@pytest.mark.xfail\ndef test_it(): raise ValueError")
    suite.runpytest("test_other.py", "--no-skips").assert_outcomes(xfailed=1)


def test_a_program_that_only_says_how_to_install_a_browser_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stub, own = tmp_path / "chromium", tmp_path / "google-chrome"
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("PLAYWRIGHT_BROWSERS_PATH", str(tmp_path / "none"))
    monkeypatch.setattr(browser, "PROGRAMS", browser.PROGRAMS[:4])
    stub.write_text("#!/bin/sh\necho it requires the snap; exit 1\n")
    stub.chmod(0o755)
    with pytest.raises(browser.BrowserMissing, match="apt install chromium"):
        browser.program.__wrapped__()
    own.write_text("#!/bin/sh\nexit 0\n")
    own.chmod(0o755)
    assert browser.program.__wrapped__() == str(own)


def test_what_npm_did_not_install_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(azurite_server, "PROGRAM", tmp_path / "azurite.js")
    assert "make test" in str(tools.MISSING["azurite"]())
    (tmp_path / "azurite.js").touch()
    assert tools.MISSING["azurite"]() is None
