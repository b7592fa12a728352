"""Find secret values that every reader of the table can read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tablepatterns.figures import number, often

from ..model import Finding, Severity
from .context import MeasuredWrite, RuleContext
from .rule import Rule, listed

PLAIN: Final = Rule(
    name="secret-in-plain-text",
    finds="a secret property is stored in plain text",
    severity="serious",
    why=(
        "The client library can encrypt properties before they are sent, so the service and readers "
        "of the table never see them."
    ),
    guide="Encrypting table data",
    says="{names} of {set} must be secret, but can be read by everyone with read access to the table.",
    better="Encrypt {names} (EncryptedProperties). Merges are then rejected, and filters cannot use it.",
    pattern="encrypted_properties",
)
IN_KEY: Final = Rule(
    name="secret-in-key",
    finds="a secret property is part of a key",
    severity="serious",
    why="Only properties can be encrypted: keys are sent in plain text, and appear in URLs and logs.",
    guide="Encrypting table data",
    says="{names} of {set} must be secret, but can be read in a key.",
    better="Use another property as the key, encrypt this one, and look it up by its blind index if needed.",
    pattern="encrypted_properties",
    why_not_automatic="the value that replaces the secret in the key must be chosen",
)
_OFTEN: Final = 10.0
MERGE_REFUSED: Final = Rule(
    name="merge-refused",
    finds="an entity with encrypted properties changes often, and each change rewrites all of it",
    severity=f"a note from {number(_OFTEN)} changes a second",
    why="Merge is not supported with encryption: properties encrypted with an earlier key would be lost.",
    guide="Encrypting table data",
    says="{access} changes {changes} {rate}, and rewrites the whole entity each time, including {hidden}.",
    better="Store {hidden} in an entity of its own, in the same partition.",
    pattern="one_to_one",
    why_not_automatic="which properties are stored apart must be chosen",
    about="write",
)


def find_problems(context: RuleContext) -> Iterator[Finding]:
    for declared_set in context.design.sets:
        secrets = [name for name, field in declared_set.shape.fields.items() if field.secret]
        in_keys = [name for name in secrets if any(name in key.fields for key in declared_set.keys)]
        hidden = {name for mapping in declared_set.mappings if mapping.keeps_secret for name in mapping.fields}
        plain = [name for name in secrets if name not in hidden and name not in in_keys]
        for rule, names in ((IN_KEY, in_keys), (PLAIN, plain)):
            if names:
                yield rule.finding(Severity.SERIOUS, declared_set, fields=names, names=listed(names))
    for write in context.writes():
        yield from _merged(write)


def _merged(done: MeasuredWrite) -> Iterator[Finding]:
    write = done.write
    refused = [name for mapping in done.of.mappings if not mapping.allows_merge for name in mapping.fields]
    is_whole = write.operation != "update" or not write.changes or not set(refused).isdisjoint(write.changes)
    if refused and not is_whole and write.busiest >= _OFTEN:
        words = {"changes": listed(write.changes, most=3), "rate": often(write.busiest)}
        yield MERGE_REFUSED.finding(Severity.NOTE, done, hidden=listed(refused, most=3), **words)
