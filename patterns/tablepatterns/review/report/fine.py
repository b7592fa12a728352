"""List what a review found to be in order."""

from __future__ import annotations

from collections.abc import Iterator

from ...figures import number, plural, share
from ...filters import QueryClass
from ..design.model import DeclaredLog, Query
from ..model import Finding, Measured, Reviewed
from ..rules import RULES
from .formatting import name_of, peak_of, plain
from .markup import Markup, element


def fine(reviewed: Reviewed) -> Iterator[Markup]:
    """Yield what needs no change: queries, writes, partitions, limits, and the rules without findings."""
    facts = list(_facts(reviewed))
    if facts:
        yield element("ul", *(element("li", each) for each in facts), class_="fine")
    found = {each.rule for each in _every(reviewed.findings)}
    silent = [rule for rule in RULES if rule.name not in found]
    summary = f"{number(len(silent))} of {plural(len(RULES), 'rule')} found nothing"
    rules = [element("li", element("code", rule.name), f" {rule.finds}") for rule in silent]
    yield element("details", element("summary", summary), element("ul", *rules))


def _every(findings: tuple[Finding, ...]) -> Iterator[Finding]:
    for each in findings:
        yield each
        yield from each.resolves


def _facts(reviewed: Reviewed) -> Iterator[str]:
    about = {each.subject for each in _every(reviewed.findings)}
    sound = [each for each in reviewed.measured if name_of(each) not in {plain(subject) for subject in about}]
    for query_class in (QueryClass.POINT, QueryClass.RANGE):
        names = [name_of(each) for each in sound if each.query_class is query_class]
        if names:
            yield f"{query_class.label.capitalize()}: {'; '.join(names)}."
    logged = [name_of(each) for each in sound if _is_cheap(each)]
    if logged:
        yield f"A log entry costs no more than an insert into a table: {'; '.join(logged)}."
    atomic = list(_atomic(reviewed, sound))
    if atomic:
        yield f"A crash leaves no partial change: {'; '.join(atomic)}."
    cool = [each for each in reviewed.heats if peak_of(each) <= each.target / 2]
    if cool:
        most = max(peak_of(each) / each.target for each in cool)
        tables = ", ".join(plain(each.table) for each in cool)
        yield f"No partition takes more than {share(most)} of its target: {tables}."
    if reviewed.account.peak <= reviewed.account.target / 2:
        yield f"The account takes {share(reviewed.account.peak / reviewed.account.target)} of its target."
    if not any(each.reached is not None for each in reviewed.in_sight):
        yield f"No limit is reached within {plural(reviewed.design.years, 'year')}."


def _is_cheap(measured: Measured) -> bool:
    is_write = isinstance(measured.of, DeclaredLog) and measured.kind == "insert"
    return is_write and measured.rate > 0 and measured.rejected is None and measured.cost.table_operations() <= 1


def _atomic(reviewed: Reviewed, sound: list[Measured]) -> Iterator[str]:
    """Yield the writes that the sample carried out with a single change."""
    if reviewed.simulation is None:
        return
    names = {name_of(each) for each in sound}
    for walk in reviewed.simulation.walkthroughs:
        name = f"{plain(walk.of.name)}: {plain(walk.access.name)}"
        partial = any(step.crash for step in walk.steps)
        if not isinstance(walk.access, Query) and name in names and walk.rejected is None and not partial:
            yield name
