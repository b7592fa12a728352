"""Find secret values that every reader of the table can read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tablepatterns.figures import number, often

from ..design.model import DeclaredSet
from ..model import Finding, Severity
from .context import MeasuredWrite, RuleContext
from .rule import Rule, listed, part_of

PLAIN: Final = Rule(
    name="secret-in-plain-text",
    finds="a secret property is stored in plain text",
    severity="serious",
    why=(
        "The client library can encrypt properties before they are sent, so the service and readers "
        "of the table never see them."
    ),
    guide="Encrypting table data",
    pattern="encrypted_properties",
)
IN_KEY: Final = Rule(
    name="secret-in-key",
    finds="a secret property is part of a key",
    severity="serious",
    why="Only properties can be encrypted: keys are sent in plain text, and appear in URLs and logs.",
    guide="Encrypting table data",
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
    pattern="one_to_one",
    why_not_automatic="which properties are stored apart must be chosen",
    about="write",
)
RULES: Final = (PLAIN, IN_KEY, MERGE_REFUSED)


def find_problems(context: RuleContext) -> Iterator[Finding]:
    """Yield the sets whose secret values are not encrypted."""
    for declared_set in context.design.sets:
        secrets = [name for name, field in declared_set.shape.fields.items() if field.secret]
        in_keys = [name for name in secrets if name in _in_keys(declared_set)]
        hidden = {name for mapping in declared_set.mappings if mapping.keeps_secret for name in mapping.fields}
        if in_keys:
            says = f"{listed(in_keys)} of {declared_set.name} must be secret, but can be read in a key."
            better = "Use another property as the key, encrypt this one, and look it up by its blind index if needed."
            yield IN_KEY.finding(Severity.SERIOUS, declared_set.name, says, better, fields=in_keys)
        if plain := [name for name in secrets if name not in hidden and name not in in_keys]:
            says = (
                f"{listed(plain)} of {declared_set.name} must be secret, but can be read by everyone with read "
                "access to "
                "the table."
            )
            better = (
                f"Encrypt {listed(plain)} (EncryptedProperties). Merges are then rejected, and filters cannot use it."
            )
            yield PLAIN.finding(Severity.SERIOUS, declared_set.name, says, better, fields=plain)

    for write in context.writes():
        yield from _merged(write)


def _merged(write: MeasuredWrite) -> Iterator[Finding]:
    refused = [name for mapping in write.of.mappings if not mapping.allows_merge for name in mapping.fields]
    changes = list(write.write.changes)
    is_whole = write.write.operation != "update" or not changes or bool(set(refused) & set(changes))
    if not refused or is_whole or write.write.busiest < _OFTEN:
        return
    hidden = listed(refused, most=3)
    says = (
        f"{write.write.name!r} changes {listed(changes, most=3)} {often(write.write.busiest)}, and rewrites the "
        f"whole entity each time, including {hidden}."
    )
    better = f"Store {hidden} in an entity of its own, in the same partition."
    yield MERGE_REFUSED.finding(Severity.NOTE, part_of(write.of.name, write.write.name), says, better)


def _in_keys(declared_set: DeclaredSet) -> set[str]:
    keys = [
        declared_set.key,
        *(profile.key for _, profile in declared_set.profiles() if profile.key and profile.finder),
    ]
    return {name for key in keys for name in key.fields}
