"""Check and name the two sets of a move to new keys."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

from ...entity_set.entity_set import EntitySet
from ...entity_set.internals import adapter_or_none
from ...errors import BadDesign
from ...recipe import identity_of, is_sync


def is_same_table(old_set: EntitySet[Any, Any], new_set: EntitySet[Any, Any]) -> bool:
    """Whether both sets are in one table of one account."""
    is_same_name = old_set.table.name.lower() == new_set.table.name.lower()
    return is_same_name and identity_of(old_set.account) == identity_of(new_set.account)


def check_sets(old_set: EntitySet[Any, Any], new_set: EntitySet[Any, Any]) -> None:
    """Reject two sets between which entities cannot be moved.

    :raises BadDesign: they cannot
    """
    if is_sync(old_set.account) != is_sync(new_set.account):
        raise BadDesign("new_set", new_set, "one of the sets is sync and one async", "connect both in the same way")
    if is_same_table(old_set, new_set) and old_set.key.overlaps(new_set.key):
        rule = "in one table, a row could belong to both sets"
        raise BadDesign("new_set", new_set.key, rule, "move to another table, or begin the keys with different text")
    old, new = (adapter_or_none(entity_set) for entity_set in (old_set, new_set))
    if (old and old.model.model_class) is not (new and new.model.model_class):
        raise BadDesign("new_set", new_set, "the sets have different models", "give both the same model, or none")
    if old is not None and new is not None:
        old.model.check_days("of the new keys", new_set.key)
        new.model.check_days("of the old keys", old_set.key)


def name_of(old_set: EntitySet[Any, Any], new_set: EntitySet[Any, Any]) -> str:
    """Return a name that no other move between these tables has."""
    keys = [f"{key.partition_template}\n{key.row_template}" for key in (old_set.key, new_set.key)]
    digest = blake2b("\n".join(keys).encode(), digest_size=4).hexdigest()
    names = (entity_set.table.name.lower()[:20] for entity_set in (old_set, new_set))
    return f"{'-'.join(names)}-{digest}"
