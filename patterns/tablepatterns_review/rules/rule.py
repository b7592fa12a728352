"""The rules of a review as data: the name, severity, reason and sentences of each kind of finding."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from math import inf
from typing import Any, Final, TypeAlias

from tablepatterns.figures import listed, number, plural

from ..design.model import DeclaredSet, Query, part_of
from ..result import About, Finding, Measured, Severity

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["RULES", "Rule", "Subject", "entities", "listed", "part_of", "severity_of", "words_of"]

Subject: TypeAlias = str | DeclaredSet | Measured
"""What a finding is about: a set, an access pattern, or the name of anything else."""


_SEVERITIES: Final = ("serious", "warning", "note")


@dataclass(frozen=True)
class Rule:
    """One kind of finding, from `rules.toml`.

    Its sentences may use the words that `words_of` defines for each subject, and those that `finding` is called with.

    :param name: its name, which stays the same between versions
    :param finds: what it finds, in a few words, for the list of rules
    :param severity: when it is a note, a warning or serious, in words
    :param figures: the figures in `severity`: the least figure of each severity, and others
    :param says: the sentence with the figures, unless a finding has its own
    :param better: what to do instead, unless a finding has its own
    :param pattern: the pattern that is usually better, by its name in the catalog
    :param about: what its subject is, unless that is an access pattern; `index` for derived data of any kind
    :param why_not_automatic: why no change of the design can be derived from the finding; None if one is tested
    """

    name: str
    finds: str
    severity: str
    why: str
    guide: str
    says: str = ""
    better: str = ""
    pattern: str | None = None
    why_not_automatic: str | None = None
    about: About = "set"
    figures: Mapping[str, float] = field(default_factory=dict[str, float])

    def severity_of(self, figure: float) -> Severity | None:
        """Return the severity of a figure; None if it is below the least figure of each."""
        return severity_of(figure, **{name: self.figures.get(name, inf) for name in _SEVERITIES})

    def finding(
        self,
        severity: Severity,
        subject: Subject,
        says: str | None = None,
        better: str | None = None,
        *,
        pattern: str | None = None,
        fields: Sequence[str] = (),
        **words: str,
    ) -> Finding:
        """Return a finding of this kind; sentences and pattern default to those of the rule.

        :param fields: the fields of the set that it is about
        :param words: the words that the sentences of the rule use, besides those of the subject
        """
        about, known_words = words_of(subject)
        words = {**known_words, **words}
        return Finding(
            self.name,
            severity,
            words["subject"],
            self.says.format_map(words) if says is None else says,
            self.why,
            self.better.format_map(words) if better is None else better,
            self.guide,
            pattern or self.pattern,
            about=about or self.about,
            fields=tuple(fields),
        )


def words_of(subject: Subject) -> tuple[About | None, Mapping[str, str]]:
    """Return what a subject is, if that is certain, and its words that sentences may use."""
    if isinstance(subject, str):
        return None, {"subject": subject}
    if isinstance(subject, DeclaredSet):
        return None, {"subject": subject.name, "set": subject.name}
    words = {"subject": subject.subject, "set": subject.of.name, "access": repr(subject.access.name)}
    return "query" if isinstance(subject.access, Query) else "write", words


def severity_of(figure: float, *, serious: float = inf, warning: float = inf, note: float = inf) -> Severity | None:
    """Return the severity of a figure, by the least figure of each; None if it is below all of them."""
    levels = ((serious, Severity.SERIOUS), (warning, Severity.WARNING), (note, Severity.NOTE))
    return next((severity for least, severity in levels if figure >= least), None)


def _read(file: str) -> Mapping[str, Rule]:
    tables: dict[str, Any] = tomllib.loads(
        files("tablepatterns_review.rules").joinpath(file).read_text(encoding="utf-8")
    )
    levels: Mapping[str, str] = tables.pop("levels")
    for table in tables.values():
        figures = {name: number(figure) for name, figure in table.get("figures", {}).items()}
        table["severity"] = table["severity"].format_map({**levels, **figures})
    return {name: Rule(name, **table) for name, table in tables.items()}


RULES: Final = _read("rules.toml")
"""The rules by their names, in the order of the documentation."""


def entities(count: float) -> str:
    """Return a number of entities as text.

    >>> entities(1), entities(5000)
    ('1 entity', '5,000 entities')
    """
    return plural(count, "entity")
