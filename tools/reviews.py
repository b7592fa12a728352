"""Write the reports of the designs in docs/reviews, a sample in Markdown, and the page that compares them."""

from __future__ import annotations

import json
import sys
from collections import Counter
from functools import cache

from tablepatterns.filters import QueryClass
from tablepatterns_review import Reviewed, Severity, read_design, review
from tablepatterns_review.design_file.format import schema
from tablepatterns_review.report import as_json, html, markdown
from tools import DATA, DOCS, ROOT

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FOLDER = DOCS / "reviews"
RECALL = ROOT / "tests" / "review" / "recall"
EXAMPLE = "staff"
"""The page with the report of the design on the page on reviews."""
DESIGNS = ("employees_naive", "employees_improved", "flights", "log_prepend_append")
_SAYS = {
    "employees_naive": "The guide's employees as in a relational database.",
    "employees_improved": "The same queries, with the patterns that the first report recommends.",
    "flights": "The flights of `make tour`.",
    "log_prepend_append": "The guide's access log with the hour as the PartitionKey.",
}
_OPENING = """# Reviewed designs

[A report as Markdown](staff.md) is that of the design on the page [Reviewing a design](../review.md). These four
designs are declared in TOML and in Python, with the same result. `make reviews` writes their reports as JSON and as
HTML with plots; download an HTML file to open it.
"""


_RECALL = """## Recall

`tests/review/recall` has {designs} designs, {sound} of them without problems, and {findings} findings that a reviewer
would report for the others, at least one for every rule. A test checks that the review reports exactly these findings,
with the same subject and severity.

The rules were developed with these designs. Nine batches of 111 designs were written in advance, and reviewed once
before any rule was fixed: the review reported 191 of the 226 expected findings, and 71 others. Of these, 30 came from
one wrong regular expression, 18 were correct, and 7 were expected under another rule or severity.

The same author wrote the rules and the designs. Your design may have problems that no rule finds.
"""


@cache
def reviewed(name: str) -> Reviewed:
    """Return the review of a design in this folder."""
    return review(read_design(FOLDER / f"{name}.toml"))


def reports(name: str) -> dict[str, str]:
    """Return the texts of the reports of a design, by the names of their files."""
    found = reviewed(name)
    return {f"{name}.json": as_json(found), f"{name}.report.html": html(found)}


def example_report() -> str:
    """Return the report of the design on the page on reviews, as Markdown."""
    return markdown(review(read_design(DATA / "review_example.toml")))


def comparison() -> str:
    """Return the page that compares the designs."""
    rows = [_row(name) for name in DESIGNS]
    head = "| Design | Serious | Warnings | Notes | Scans | Busiest partition | USD a month |\n"
    table = f"{head}| --- | ---: | ---: | ---: | ---: | ---: | ---: |\n" + "\n".join(rows)
    designs = "\n".join(
        f"- [{reviewed(name).design.name}]({name}.report.html) (`{name}.toml`). {_SAYS[name]}" for name in DESIGNS
    )
    return f"{_OPENING}\n{designs}\n\n{table}\n\n{recall()}\n<!-- toctree:\n{EXAMPLE}\n-->\n"


def recall() -> str:
    """Return the section of the page on the designs in tests/review/recall."""
    expected = tomllib.loads((RECALL / "expected.toml").read_text(encoding="utf-8"))
    designs = list(RECALL.glob("*/*.toml"))
    faulty = [findings for kind in expected.values() for findings in kind.values()]
    findings = sum(map(len, faulty))
    return _RECALL.format(designs=len(designs), sound=len(designs) - len(faulty), findings=findings)


def _row(name: str) -> str:
    found = reviewed(name)
    severities = Counter(each.severity for each in found.findings)
    counts = [severities[each] for each in (Severity.SERIOUS, Severity.WARNING, Severity.NOTE)]
    scans = sum((each.query_class or QueryClass.POINT) > QueryClass.RANGE for each in found.measured)
    hottest = max((1 / heat.headroom for heat in found.heats), default=0.0)
    cells = [
        f"[{found.design.name}]({name}.report.html)",
        *map(str, counts),
        str(scans),
        f"{hottest:.0%} of its target",
        f"{found.bill.total:,.2f}",
    ]
    return f"| {' | '.join(cells)} |"


def design_schema() -> str:
    """Return the JSON Schema that the first line of each design names, for editors."""
    return json.dumps(schema(), indent=2) + "\n"


if __name__ == "__main__":
    (FOLDER / "design.schema.json").write_text(design_schema(), encoding="utf-8", newline="\n")
    for design in DESIGNS:
        for name, text in reports(design).items():
            (FOLDER / name).write_text(text, encoding="utf-8", newline="\n")
    (FOLDER / f"{EXAMPLE}.md").write_text(example_report(), encoding="utf-8", newline="\n")
    (FOLDER / "index.md").write_text(comparison(), encoding="utf-8", newline="\n")
