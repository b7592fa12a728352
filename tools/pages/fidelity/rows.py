"""The rows of the page, from the files of docs/data/fidelity."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tools import DATA

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # pytest brings it to Python 3.10

ROWS = DATA / "fidelity"


@dataclass(frozen=True)
class Row:
    """One behavior.

    :param number: the section's number and its own
    :param service: what the service does
    :param engine: what the in-memory engine does; "" if it is the same
    :param lacks: whether the in-memory engine does not support it
    :param azurite: what Azurite does; "" if the marks of the tests state it
    :param evidence: the evidence for the service's behavior, in the notation of `evidence`
    :param tests: the tests of it, by their pytest names
    """

    number: str
    service: str
    engine: str
    lacks: bool
    azurite: str
    evidence: tuple[str, ...]
    tests: tuple[str, ...]

    @property
    def is_same(self) -> bool:
        """Whether the in-memory engine behaves like the service."""
        return not self.engine

    @property
    def differs(self) -> bool:
        """Whether the in-memory engine supports it, but answers in another way than the service."""
        return not self.is_same and not self.lacks


@dataclass(frozen=True)
class Section:
    """The behaviors of one subject.

    :param file: the name of the file of the rows
    """

    number: int
    file: str
    part: str
    title: str
    rows: tuple[Row, ...]


def sections() -> list[Section]:
    """Return all sections, in the order of their files."""
    found: list[Section] = []
    for path in sorted(ROWS.glob("*.toml")):
        subject = tomllib.loads(path.read_text(encoding="utf-8"))
        for each in subject["section"]:
            number = len(found) + 1
            rows = (_row(f"{number}.{index}", row) for index, row in enumerate(each["rows"], 1))
            found.append(Section(number, path.name, subject["part"], each["title"], tuple(rows)))
    return found


def _row(number: str, row: dict[str, Any]) -> Row:
    if unknown := row.keys() - {"service", "engine", "lacks", "azurite", "evidence", "tests"}:
        raise ValueError(f"row {number} has members that no row has: {sorted(unknown)}")
    if "engine" in row and "lacks" in row:
        raise ValueError(f"row {number} says twice what the account in memory does")
    return Row(
        number,
        row["service"],
        row.get("engine", row.get("lacks", "")),
        "lacks" in row,
        row.get("azurite", ""),
        tuple(row["evidence"]),
        tuple(_names(row.get("tests", []))),
    )


def _names(listed: list[str]) -> Iterator[str]:
    """Yield the names of tests, which are listed by file: `engine/test_clock.py: test_a test_b`."""
    for entry in listed:
        path, _, names = entry.partition(": ")
        yield from (f"tests/{path}::{name}" for name in names.split())
