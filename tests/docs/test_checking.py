"""Filters and designs that readers paste into a page, in CPython; test_in_chromium.py runs the forms."""

from __future__ import annotations

import json

import pytest
from tools.site import checking

from support.page_programs import SMALL_DESIGN
from tablepatterns_review import explain

FILTER = "PartitionKey eq 'Sales' and Email eq 'jo'"
SIZE = (1_000_000, 40, 500)


def asked(method: str, *arguments: object) -> dict[str, str]:
    found: dict[str, str] = json.loads(checking.answer(json.dumps([method, arguments])))
    return found


def test_a_filter_alone_is_explained_as_the_command_does() -> None:
    assert asked("explain", FILTER, "", "", *SIZE)["text"].startswith(f"{explain(FILTER)}\n\n")


def test_with_keys_an_index_is_suggested() -> None:
    found = asked("explain", FILTER, "{Department}", "empid_{EmployeeId:06d}", *SIZE)["text"]
    assert "IntraPartitionIndex" in found


@pytest.mark.parametrize(
    ("query", "amount"),
    [
        ("PartitionKey eq 'a' and RowKey eq 'b'", "it reads 1 entity."),
        ("PartitionKey eq 'a' and RowKey gt 'b'", "up to 25,000 entities (12.5 MB)"),
        ("PartitionKey eq 'a' and Age gt 3", "all of 25,000 entities (12.5 MB). If all of them match, that takes 25 "),
        ("", "all of 1,000,000 entities (500.0 MB). If all of them match, that takes 1,000 transactions"),
    ],
)
def test_the_size_of_the_table_says_how_much_is_read(query: str, amount: str) -> None:
    assert amount in asked("explain", query, "", "", *SIZE)["text"]


def test_mistakes_are_told() -> None:
    assert "position 8" in asked("explain", "Email qe 'jo'", "", "", *SIZE)["error"]
    assert "PartitionKey" in asked("explain", FILTER, "{", "a", *SIZE)["error"]
    assert "name" in asked("review", "name = 3")["error"]


def test_a_design_is_reviewed_as_the_command_does() -> None:
    assert "<h1>Employees</h1>" in asked("review", SMALL_DESIGN)["html"]
