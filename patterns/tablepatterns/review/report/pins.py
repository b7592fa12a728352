"""Number the findings, and link them to the set, derived data, access pattern, table or field that each is about."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Final

from ..model import Finding
from .formatting import SEVERITIES, plain
from .markup import Markup, element, joined

DERIVED: Final = ("index", "list", "summary", "copies")
"""What a finding about derived data is about."""


class Pins:
    """The findings of a report by subject.

    :param findings: the findings of the report, in its order
    """

    def __init__(self, findings: Sequence[Finding]) -> None:
        self._findings = findings

    def _about(self) -> Iterator[tuple[int, Finding]]:
        """Yield each finding with its number, and those that its change also resolves."""
        for number, finding in enumerate(self._findings, start=1):
            for each in (finding, *finding.resolves):
                yield number, each

    def on(self, *subjects: str, kinds: Collection[str]) -> Markup:
        """Return links to the findings about one of these subjects, such as `Employees` or `Employees: hire`.

        :param kinds: what the subjects are; an index and a query may have the same name
        """
        return self._links(
            {number for number, each in self._about() if each.subject in subjects and each.about in kinds}
        )

    def on_field(self, declared: str, name: str) -> Markup:
        """Return links to the findings about a field of a set."""
        return self._links(
            {
                number
                for number, each in self._about()
                if each.subject.partition(": ")[0] == declared and name in each.fields
            }
        )

    def _links(self, numbers: set[int]) -> Markup:
        return joined(*(self._link(number) for number in sorted(numbers)))

    def _link(self, number: int) -> Markup:
        finding = self._findings[number - 1]
        severity = SEVERITIES[finding.severity]
        label = f"Finding {number}, {severity}: {plain(finding.rule)}"
        return element(
            "a", str(number), href=f"#finding-{number}", class_=f"pin {severity}", title=label, aria_label=label
        )
