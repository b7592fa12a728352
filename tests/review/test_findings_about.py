"""What each finding is about: it is there, is named in every report, and is where the page shows the finding."""

from __future__ import annotations

from pathlib import Path

from review.recall.recalled import each_design, reviewed
from tablepatterns_review import Finding, read_design
from tablepatterns_review.design.model import DeclaredSet, Design
from tablepatterns_review.measure.measure import with_implied_writes
from tablepatterns_review.report.formatting import subject_of
from tablepatterns_review.report.json import document
from tablepatterns_review.result import Reviewed


def every(found: Reviewed) -> list[Finding]:
    return [each for first in found.findings for each in (first, *first.resolves)]


def parts(declared: DeclaredSet, about: str) -> set[str]:
    """Return the names of what a set has of a kind."""
    match about:
        case "query":
            return {each.name for each in declared.queries}
        case "write":
            return {each.name for each in declared.writes}
        case "reader":
            return {each.name for each in declared.access}
        case _:
            called = {"index": "copies", "copies": "copies", "list": "lists", "summary": "totals"}[about]
            return {each.name for each, profile in declared.profiles() if profile.called == called}


def check(design: Design, finding: Finding) -> None:
    name, _, part = finding.subject.partition(": ")
    sets = {each.name: each for each in design.sets}
    if finding.about == "account":
        assert finding.subject in ("account", design.name)
    elif finding.about == "table":
        derived = (each for declared in design.sets for each in declared.derived)
        assert finding.subject in {each.table for each in design.sets} | {each.table("") for each in derived}
    elif finding.about == "log":
        assert finding.subject in {each.name for each in design.logs}
    elif finding.about == "set":
        assert finding.subject in sets
        assert not part
    elif name in sets:
        assert part in parts(sets[name], finding.about)
    else:
        assert part in {each.name for log in design.logs if log.name == name for each in log.calls}
    if finding.fields:
        assert set(finding.fields) <= set(sets[name].shape.fields)


@each_design
def test_a_finding_is_about_something_that_is_there(design_path: Path) -> None:
    design = read_design(design_path)
    found, _ = reviewed(design_path)
    for each in every(found):
        check(with_implied_writes(design), each)
        name = each.subject.partition(": ")[2]
        subject = subject_of(each)
        assert not name or each.about in subject
        assert all(field in subject for field in each.fields[:1]) or name
    in_json = document(found)["findings"]
    for number, first in enumerate(found.findings, start=1):
        assert (in_json[number - 1]["about"], in_json[number - 1]["fields"]) == (first.about, list(first.fields))
