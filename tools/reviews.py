"""Write the reports of the designs in docs/reviews (Markdown, JSON, HTML), and the page that compares them."""

from __future__ import annotations

import sys
from collections import Counter
from functools import cache

from tablepatterns.filters import QueryClass
from tablepatterns.review import Reviewed, Severity, read_design, review
from tablepatterns.review.report import as_json, html, markdown
from tools import DOCS, ROOT

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FOLDER = DOCS / "reviews"
RECALL = ROOT / "tests" / "review" / "recall"
DESIGNS = ("employees_naive", "employees_improved", "flights", "log_prepend_append")
_SAYS = {
    "employees_naive": "The guide's employees as one would design them for a relational database: a table for each "
    "type, and nothing kept twice.",
    "employees_improved": "The same questions and rates, with the patterns that the first report asks for: an index "
    "and lists in the partition, photographs in blobs, a log tail, a table for each day, a series in one entity.",
    "flights": "The flights of `make tour`: a log of departures beside them that no transaction reaches, which is told "
    "as a note.",
    "log_prepend_append": "The guide's access log with the hour as the PartitionKey: the partition of the hour is too "
    "much for one node.",
}
_OPENING = """# Reviewed designs

Four designs with the reports that `tablepatterns review` writes of them. Each is declared twice, in TOML and in Python,
which give the same report. The reports are kept as Markdown, as JSON and as a page with plots (`.report.html`);
`make reviews` writes them, and a test holds that they are current.

How to declare a design, and how to read a report, is in [review a design](../review.md).
"""


_RECALL = """## How well it finds what is wrong

`tests/review/recall` has {designs} designs, {sound} of them without a fault, and {findings} findings that a reviewer
makes of the others; every rule is among them. A test holds that the review says of each design just that: the same
rule, about the same thing, with the same severity, and nothing else.

That is what the rules were made for, and so it says little of a design that is new to them. Four batches were
therefore written before they were reviewed, and run once before anything was mended:

| Batch | Designs | Expected | Found | Besides |
| --- | ---: | ---: | ---: | --- |
| first | 13 | 10 | 10 | nothing |
| second, harder | 12 | 9 | 7 | 4: 2 are right, 1 is a missed one by another name, 1 hid the other |
| third, of several sets each | 6 | 8 | 8 | nothing; one was a warning that should have been serious |
| fourth, for rules still to come | 16 | 43 | 35 | 33: 30 by one wrong regular expression, 1 is right |

One author wrote the rules and the designs. Your design may have faults that no rule knows.
"""


@cache
def reviewed(name: str) -> Reviewed:
    """Return the review of a design of this folder."""
    return review(read_design(FOLDER / f"{name}.toml"))


def reports(name: str) -> dict[str, str]:
    """Return the texts of the reports of a design, by the names of their files."""
    found = reviewed(name)
    return {f"{name}.md": markdown(found), f"{name}.json": as_json(found), f"{name}.report.html": html(found)}


def comparison() -> str:
    """Return the page that compares the designs."""
    rows = [_row(name) for name in DESIGNS]
    head = "| Design | Serious | Warnings | Notes | Scans | Busiest partition | USD a month |\n"
    table = f"{head}| --- | ---: | ---: | ---: | ---: | ---: | ---: |\n" + "\n".join(rows)
    told = "\n".join(f"- [{reviewed(name).design.name}]({name}.md) (`{name}.toml`). {_SAYS[name]}" for name in DESIGNS)
    tree = "\n".join(["```{toctree}", ":hidden:", *DESIGNS, "```"])
    return f"{_OPENING}\n{told}\n\n{table}\n\n{_recall()}\n{tree}\n"


def _recall() -> str:
    expected = tomllib.loads((RECALL / "expected.toml").read_text(encoding="utf-8"))
    designs = list(RECALL.glob("*/*.toml"))
    faulty = [told for kind in expected.values() for told in kind.values()]
    findings = sum(map(len, faulty))
    return _RECALL.format(designs=len(designs), sound=len(designs) - len(faulty), findings=findings)


def _row(name: str) -> str:
    found = reviewed(name)
    severities = Counter(each.severity for each in found.findings)
    counts = [severities[each] for each in (Severity.SERIOUS, Severity.WARNING, Severity.NOTE)]
    scans = sum((each.query_class or QueryClass.POINT) > QueryClass.RANGE for each in found.measured)
    hottest = max((1 / heat.headroom for heat in found.heats), default=0.0)
    cells = [
        f"[{found.design.name}]({name}.md)",
        *map(str, counts),
        str(scans),
        f"{hottest:.0%} of its target",
        f"{found.bill.total:,.2f}",
    ]
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    for design in DESIGNS:
        for name, text in reports(design).items():
            (FOLDER / name).write_text(text, encoding="utf-8", newline="\n")
    (FOLDER / "index.md").write_text(comparison(), encoding="utf-8", newline="\n")
