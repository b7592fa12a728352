"""Number the findings, and link them to the set, derived data, access pattern, table or field that each is about."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .formatting import plain
from .markup import Markup, element, joined


class Pins:
    """The findings of a report by subject.

    :param document: the report as in JSON
    """

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._findings: Sequence[Mapping[str, Any]] = document["findings"]

    def _about(self) -> Iterator[tuple[int, Mapping[str, Any]]]:
        """Yield each finding with its number, and those that its change also resolves."""
        for number, finding in enumerate(self._findings, start=1):
            for each in (finding, *finding["resolves"]):
                yield number, each

    def on(self, *subjects: str) -> Markup:
        """Return links to the findings about one of these subjects, such as `Employees` or `Employees: hire`."""
        return self._links({number for number, each in self._about() if each["subject"] in subjects})

    def on_field(self, declared: str, name: str) -> Markup:
        """Return links to the findings about a set or its parts that name a field."""
        word = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
        return self._links(
            {
                number
                for number, each in self._about()
                if each["subject"].partition(": ")[0] == declared and word.search(each["says"])
            }
        )

    def _links(self, numbers: set[int]) -> Markup:
        return joined(*(self._link(number) for number in sorted(numbers)))

    def _link(self, number: int) -> Markup:
        finding = self._findings[number - 1]
        severity = plain(finding["severity"])
        label = f"Finding {number}, {severity}: {plain(finding['rule'])}"
        return element(
            "a", str(number), href=f"#finding-{number}", class_=f"pin {severity}", title=label, aria_label=label
        )
