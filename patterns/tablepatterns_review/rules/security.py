"""Find secret values that every reader of the table can read."""

from __future__ import annotations

from collections.abc import Iterator

from tablepatterns.figures import often

from ..model import Finding, Severity
from .context import MeasuredWrite, RuleContext
from .rule import RULES, listed


def find_problems(context: RuleContext) -> Iterator[Finding]:
    for declared_set in context.design.sets:
        secrets = [name for name, field in declared_set.shape.fields.items() if field.secret]
        in_keys = [name for name in secrets if any(name in key.fields for key in declared_set.keys)]
        hidden = {name for mapping in declared_set.mappings if mapping.keeps_secret for name in mapping.fields}
        plain = [name for name in secrets if name not in hidden and name not in in_keys]
        for rule, names in ((RULES["secret-in-key"], in_keys), (RULES["secret-in-plain-text"], plain)):
            if names:
                yield rule.finding(Severity.SERIOUS, declared_set, fields=names, names=listed(names))
    for write in context.writes():
        yield from _merged(write)


def _merged(done: MeasuredWrite) -> Iterator[Finding]:
    write = done.write
    refused = [name for mapping in done.of.mappings if not mapping.allows_merge for name in mapping.fields]
    is_whole = write.operation != "update" or not write.changes or not set(refused).isdisjoint(write.changes)
    if refused and not is_whole and RULES["merge-refused"].severity_of(write.busiest) is not None:
        words = {"changes": listed(write.changes, most=3), "rate": often(write.busiest)}
        yield RULES["merge-refused"].finding(Severity.NOTE, done, hidden=listed(refused, most=3), **words)
