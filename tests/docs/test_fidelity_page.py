"""The page on the fidelity of the in-memory engine is up to date, and every test that it names exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tools import ROOT
from tools.pages.fidelity import evidence, page, rows, suite, summary

from conformance import deviations

TEXT = (ROOT / page.PAGE).read_text(encoding="utf-8")
SUMMARY = (ROOT / summary.PAGE).read_text(encoding="utf-8")
ROW = """
part = "Tables"

[[section]]
title = "Keys"

[[section.rows]]
service = "Both keys are needed"
evidence = ["recorded"]
"""


@pytest.fixture
def rows_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file of rows to be written, in place of all that are there."""
    monkeypatch.setattr(rows, "ROWS", tmp_path)
    return tmp_path / "rows.toml"


# ------------------------------------------------------------------ the page


def test_every_test_that_the_page_names_is_there() -> None:
    assert page.unknown_tests(ROOT) == []


def test_every_deviation_of_azurite_is_listed() -> None:
    marks = [each.mark.args for each in vars(deviations).values() if isinstance(each, pytest.MarkDecorator)]
    known = [args for args in marks if args]
    assert known
    listed = {row[1:] for row in page.deviations()}
    assert [args for args in known if args not in listed] == []


def test_everything_that_the_comparison_leaves_out_is_listed() -> None:
    sources = [path.read_text(encoding="utf-8") for path in (ROOT / "tests/differential").rglob("*.py")]
    decorators = [re.findall(r"^@\S*(?:excuse|withhold)\(", text, re.MULTILINE) for text in sources]
    exclusions = suite.exclusions(ROOT)
    assert len(exclusions) == sum(map(len, decorators)) > 0
    listed = set(page.deviations())
    assert [(path, *each) for path, each in exclusions if (path, *each) not in listed] == []


def test_every_word_of_evidence_is_explained() -> None:
    words = evidence.WORDS.values()
    explained = set(re.findall(r"^\| ([^|]+) \|", TEXT, re.MULTILINE))
    assert [word for word in words if word not in explained] == []


def test_all_that_differs_is_listed() -> None:
    differing = [row for row in page.all_rows(rows.sections()) if not row.is_same]
    assert differing
    assert [(row.number, row.engine) for row in differing] == [(row[0], row[3]) for row in page.differences()]
    assert page.DIFFERENCES.PAGE.removeprefix("docs/") in SUMMARY


def test_the_files_of_the_page_are_short_enough_to_be_read() -> None:
    files = (ROOT / "docs/data/fidelity").glob("*.toml")
    assert {path.name for path in files if len(path.read_text(encoding="utf-8").splitlines()) > 400} == set()


# ------------------------------------------------------------------ what the generator sees


def test_a_test_that_is_not_there_is_seen(rows_file: Path) -> None:
    rows_file.write_text(
        f'{ROW}tests = ["docs/test_fidelity_page.py: test_a_test_that_is_not_there_is_seen test_gone"]\n'
    )
    assert page.unknown_tests(ROOT) == ["1.1: tests/docs/test_fidelity_page.py::test_gone"]


def test_a_row_without_a_test_says_so(rows_file: Path) -> None:
    rows_file.write_text(ROW)
    assert [*page.behaviors()] == [
        ("1.1", "Tables", "Keys", "Both keys are needed", "the same", "no test", "recorded, not tested")
    ]


@pytest.mark.parametrize(
    ("test", "azurite"),
    [
        ("test_the_same_row_key_in_two_partitions_is_two_entities", "the same"),
        ("test_storing_a_longer_key_is_rejected", "deviates: keys"),
    ],
)
def test_what_azurite_does_is_taken_from_the_mark_of_the_test(rows_file: Path, test: str, azurite: str) -> None:
    rows_file.write_text(f'{ROW}tests = ["conformance/test_table_keys.py: {test}"]\n')
    assert [row[4:] for row in page.behaviors()] == [("the same", azurite, "recorded")]


def test_a_test_for_the_engine_alone_says_nothing_of_azurite(rows_file: Path) -> None:
    named = "test_a_table_cannot_be_made_again_before_its_deletion_has_ended"
    rows_file.write_text(f'{ROW}tests = ["conformance/test_fidelity_deletions.py: {named}"]\n')
    assert [row[4:] for row in page.behaviors()] == [("the same", "no test", "recorded")]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('notes = "none"', "members that no row has"),
        ('engine = "another way"\nlacks = "501"', "says twice"),
        ('tests = []\nazurite = 1\nevidences = ["recorded"]', "members that no row has"),
    ],
)
def test_a_row_that_cannot_be_is_rejected(rows_file: Path, text: str, said: str) -> None:
    rows_file.write_text(ROW + text)
    with pytest.raises(ValueError, match=said):
        list(page.behaviors())


def test_evidence_of_no_known_kind_is_rejected(rows_file: Path) -> None:
    rows_file.write_text(ROW.replace("recorded", "hearsay"))
    with pytest.raises(ValueError, match="hearsay"):
        list(page.behaviors())
