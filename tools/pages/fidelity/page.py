"""Write the page of evidence, with a row for each behavior, from the rows and the tests."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from pathlib import Path

from tools import ROOT
from tools.pages.fidelity import recordings
from tools.pages.fidelity.evidence import in_words
from tools.pages.fidelity.rows import Row, Section, sections
from tools.pages.fidelity.suite import Test, deviations, exclusions, tests
from tools.pages.markdown import introduction, table

PAGE = "docs/fidelity-evidence.md"


def render(root: Path = ROOT) -> str:
    """Return the page for this repository."""
    found = sections()
    known = _named(root, found)
    parts = [
        introduction(
            "fidelity-evidence",
            azurite=azurite_version(root),
            all=len(list(all_rows(found))),
            exchanges=f"{recordings.FIGURES['exchanges']:,}",
            compared=f"{recordings.compared():,}",
            set_aside=recordings.set_aside(),
            differences=recordings.differences(),
        ),
        *_body(found, known),
        *_left_out(root),
    ]
    return "\n".join(part.rstrip("\n") + "\n" for part in parts)


def unknown_tests(root: Path) -> list[str]:
    """Return the tests that rows name but that do not exist."""
    found = sections()
    known = _named(root, found)
    return [f"{row.number}: {name}" for row in all_rows(found) for name in row.tests if name not in known]


def _named(root: Path, found: Iterable[Section]) -> Mapping[str, Test]:
    """Return the tests of all files that rows name."""
    return tests(root, frozenset(name.partition("::")[0] for row in all_rows(found) for name in row.tests))


def all_rows(found: Iterable[Section]) -> Iterator[Row]:
    """Yield the rows of all sections."""
    for section in found:
        yield from section.rows


def azurite_version(root: Path) -> str:
    """Return the version of Azurite that tests run with."""
    pinned = json.loads((root / "tests/azurite/package.json").read_text(encoding="utf-8"))
    return str(pinned["dependencies"]["azurite"])


def _body(found: list[Section], known: Mapping[str, Test]) -> Iterator[str]:
    for part, within in groupby(found, key=lambda section: section.part):
        yield f"## {part}"
        for section in within:
            yield f"### {section.number}. {section.title}"
            yield table(
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
    yield "## Deviations of Azurite"
    yield "A conformance test that depends on one of these deviations does not run on Azurite, and names the deviation."
    marks = deviations(root).values()
    yield table(("Deviation", "What Azurite does"), sorted((mark.name, mark.reason) for mark in marks))
    yield "The comparison of random operations ignores these differences, or does not send the operation to Azurite."
    compared = [(f"`{path}`", each.name, each.reason) for path, each in exclusions(root)]
    yield table(("Where", "Difference", "What Azurite does"), compared)
