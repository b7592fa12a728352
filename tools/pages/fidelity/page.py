"""Write the page from the rows and the tests."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from pathlib import Path

from tools import DATA, ROOT
from tools.pages.fidelity.evidence import in_words
from tools.pages.fidelity.rows import Row, Section, sections
from tools.pages.fidelity.suite import Test, deviations, exclusions, tests

PAGE = "docs/fidelity.md"
_INTRODUCTION = DATA / "introductions" / "fidelity.md"


def render(root: Path = ROOT) -> str:
    """Return the page for this repository."""
    known, found = tests(root), sections()
    parts = [
        _INTRODUCTION.read_text(encoding="utf-8").format(azurite=_version(root), **_counts(found)),
        *_body(found, known),
        *_left_out(root),
    ]
    return "\n".join(part.rstrip("\n") + "\n" for part in parts)


def unknown_tests(root: Path) -> list[str]:
    """Return the tests that rows name but that do not exist."""
    known = tests(root)
    return [f"{row.number}: {name}" for row in _rows(sections()) for name in row.tests if name not in known]


def _rows(found: Iterable[Section]) -> Iterator[Row]:
    for section in found:
        yield from section.rows


def _version(root: Path) -> str:
    pinned = json.loads((root / "tests/azurite/package.json").read_text(encoding="utf-8"))
    return str(pinned["dependencies"]["azurite"])


def _counts(found: Iterable[Section]) -> dict[str, int]:
    rows = list(_rows(found))
    return {
        "all": len(rows),
        "same": sum(row.is_same for row in rows),
        "lacking": sum(row.lacks for row in rows),
        "other": sum(not row.is_same and not row.lacks for row in rows),
        "untested": sum(not row.tests for row in rows),
        "inferred": sum("inferred" in row.evidence for row in rows),
    }


def _body(found: list[Section], known: Mapping[str, Test]) -> Iterator[str]:
    for part, within in groupby(found, key=lambda section: section.part):
        yield f"## {part}"
        for section in within:
            yield f"### {section.number}. {section.title}"
            yield _table(
                ("", "The service", "The in-memory engine", "Azurite", "Known from", "Tests"),
                (_cells(row, known) for row in section.rows),
            )
            yield _tests_of(section)


def _cells(row: Row, known: Mapping[str, Test]) -> tuple[str, ...]:
    engine = "the same" if row.is_same else f"**lacks it**: {row.engine}" if row.lacks else row.engine
    evidence = ", ".join(map(in_words, row.evidence))
    return row.number, row.service, engine, _azurite(row, known), evidence, str(len(row.tests) or "not tested")


def _azurite(row: Row, known: Mapping[str, Test]) -> str:
    """Return the behavior of Azurite: as the row states, otherwise from the marks of the row's tests."""
    named = [known[name] for name in row.tests if name in known]
    if row.azurite:
        return row.azurite
    if met := dict.fromkeys(deviation for test in named for deviation in test.deviations):
        return "; ".join(f"*{deviation.name}*: {deviation.reason}" for deviation in met)
    return "the same" if any(test.on_azurite for test in named) else "not compared"


def _tests_of(section: Section) -> str:
    lines = [f"- {row.number}: " + ", ".join(f"`{name}`" for name in row.tests) for row in section.rows if row.tests]
    if not lines:
        return ""
    return "\n".join(["<details><summary>Tests</summary>", "", *lines, "", "</details>"])


def _left_out(root: Path) -> Iterator[str]:
    yield "## Azurite's deviations"
    yield "A conformance test that depends on one of these deviations does not run on Azurite, and names the deviation."
    marks = deviations(root).values()
    yield _table(("Deviation", "What Azurite does"), sorted((mark.name, mark.reason) for mark in marks))
    yield "The comparison of random operations ignores these differences, or does not send the operation to Azurite."
    compared = [(f"`{path}`", each.name, each.reason) for path, each in exclusions(root)]
    yield _table(("Where", "Difference", "What Azurite does"), compared)


def _table(heads: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [heads, tuple("---" for _ in heads), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)
