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
from tools.pages.markdown import folded, introduction, table

PAGE = "docs/fidelity-evidence.md"
_PLACES = {False: "what-differs", True: "what-is-missing"}
"""Where the summary says what the engine does instead."""


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
            rows = [_cells(row, known) for row in section.rows]
            source = f"[Tests of each behavior](data/fidelity/{section.file})"
            yield folded(
                f"{len(rows)} behaviors", table(("", "The service", "Engine", "Azurite", "Known from"), rows), source
            )


def _cells(row: Row, known: Mapping[str, Test]) -> tuple[str, ...]:
    engine = "" if row.is_same else f"[{'lacks it' if row.lacks else 'differs'}](fidelity.md#{_PLACES[row.lacks]})"
    evidence = ", ".join([*map(in_words, row.evidence), *([] if row.tests else ["not tested"])])
    return row.number, row.service, engine, _azurite(row, known), evidence


def _azurite(row: Row, known: Mapping[str, Test]) -> str:
    """Return the behavior of Azurite: as the row states, otherwise from the marks of the row's tests."""
    named = [known[name] for name in row.tests if name in known]
    if row.azurite:
        return "" if row.azurite == "the same" else row.azurite
    if met := dict.fromkeys(deviation.name for test in named for deviation in test.deviations):
        return ", ".join(f"*{name}*" for name in met)
    return "" if any(test.on_azurite for test in named) else "?"


def _left_out(root: Path) -> Iterator[str]:
    yield "## Deviations of Azurite"
    yield "A conformance test that depends on one of these deviations does not run on Azurite, and names the deviation."
    marks = deviations(root).values()
    heads = ("Deviation", "What Azurite does")
    yield folded(f"{len(marks)} deviations", table(heads, sorted((mark.name, mark.reason) for mark in marks)))
    yield "The comparison of random operations ignores these differences, or does not send the operation to Azurite."
    for path, of_file in groupby(exclusions(root), key=lambda found: found[0]):
        rows = [(each.name, each.reason) for _, each in of_file]
        yield folded(f"{len(rows)} in <code>{path}</code>", table(heads, rows))
