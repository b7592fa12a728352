"""Write the page of evidence and its files, with a row for each behavior, from the rows and the tests."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from tools import ROOT
from tools.pages.data_file import DataFile
from tools.pages.fidelity import recordings, suite
from tools.pages.fidelity.evidence import in_words
from tools.pages.fidelity.rows import Row, Section, sections
from tools.pages.fidelity.suite import Test, tests
from tools.pages.markdown import introduction, page

PAGE = "docs/fidelity-evidence.md"


def render(root: Path = ROOT) -> str:
    """Return the page for this repository."""
    found = sections()
    return page(
        introduction(
            "fidelity-evidence",
            azurite=azurite_version(root),
            all=len(list(all_rows(found))),
            exchanges=f"{recordings.FIGURES['exchanges']:,}",
            compared=f"{recordings.compared():,}",
            differing=sum(entry["exchanges"] for entry in recordings.FIGURES["differences"]),
            deviations=len(suite.deviations(root)),
            exclusions=len(suite.exclusions(root)),
        )
    )


def behaviors(root: Path = ROOT) -> Iterator[tuple[str, ...]]:
    """Yield the rows of all behaviors."""
    found = sections()
    known = _named(root, found)
    for section in found:
        for row in section.rows:
            yield row.number, section.part, section.title, *_cells(row, known)


def deviations(root: Path = ROOT) -> Iterator[tuple[str, ...]]:
    """Yield the deviations of Azurite that exclude tests, and those that the comparison ignores."""
    for mark in sorted(suite.deviations(root).values()):
        yield "tests/conformance", mark.name, mark.reason
    for path, exclusion in suite.exclusions(root):
        yield path, exclusion.name, exclusion.reason


def differences() -> Iterator[tuple[str, ...]]:
    """Yield the behaviors that the engine does not reproduce."""
    for section in sections():
        for row in section.rows:
            if not row.is_same:
                yield row.number, section.title, row.service, row.engine, "missing" if row.lacks else "different"


BEHAVIORS = DataFile(
    "docs/data/fidelity-behaviors.tsv",
    ("Number", "Part", "Subject", "The service", "Engine", "Azurite", "Known from"),
    behaviors,
)
DIFFERENCES = DataFile(
    "docs/data/fidelity-differences.tsv",
    ("Number", "Subject", "The service", "The in-memory engine", "Kind"),
    differences,
)
DEVIATIONS = DataFile("docs/data/azurite-deviations.tsv", ("Tests", "Deviation", "What Azurite does"), deviations)


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


def _cells(row: Row, known: Mapping[str, Test]) -> tuple[str, ...]:
    engine = "the same" if row.is_same else f"lacks it: {row.engine}" if row.lacks else f"differs: {row.engine}"
    evidence = ", ".join([*map(in_words, row.evidence), *([] if row.tests else ["not tested"])])
    return row.service, engine, _azurite(row, known), evidence


def _azurite(row: Row, known: Mapping[str, Test]) -> str:
    """Return the behavior of Azurite: as the row states, otherwise from the marks of the row's tests."""
    named = [known[name] for name in row.tests if name in known]
    if row.azurite:
        return row.azurite
    if met := dict.fromkeys(deviation.name for test in named for deviation in test.deviations):
        return f"deviates: {', '.join(met)}"
    return "the same" if any(test.on_azurite for test in named) else "no test"
