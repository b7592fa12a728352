"""Types, keys and policies that two programs change at the same time."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

import pytest

from recipes import test_entity_types_schedules as changing
from recipes import test_key_rotation as rotating
from schedules.schedule import schedule
from tablepatterns import AccessPolicies
from tablepatterns.errors import EntityChanged, EntityNotFound
from tablepatterns_explore import World, explore

Actors = dict[str, Coroutine[Any, Any, Any]]


@schedule("entity_types")
def the_etag_of_what_is_there_now() -> object:
    """A value is written back with the ETag of a second read."""

    def make(world: World) -> Actors:
        return dict(zip(("ann", "bob"), changing.two_careless_writers(world), strict=True))

    def both_are_counted(world: World) -> None:
        heads = changing.stored(world)["Heads"]
        assert heads == len(world.returned), f"of {len(world.returned)} changes {heads} is there"

    return explore(make, invariant=both_are_counted, expected=EntityChanged)


@schedule("encrypted_properties")
def a_rotation_whatever_has_become_of_it() -> object:
    """An entity is encrypted with a new key, and written without its ETag."""
    expected = (EntityChanged, EntityNotFound)
    with pytest.MonkeyPatch.context() as patched:
        # The explorer compares states, so each run must generate the same keys
        rotating.no_chance(patched)
        return explore(rotating.rotating(rotating.careless), invariant=rotating.nothing_is_lost, expected=expected)


@schedule("grant")
def two_policies_at_once() -> object:
    """Two programs add a policy of a table at the same time: the service keeps the last list."""

    def make(world: World) -> Actors:
        policies = AccessPolicies(world.storage, "Notes")
        world.run(policies.put("phones", "r"))
        return {"ann": policies.put("browsers", "r"), "bob": policies.revoke("phones")}

    def is_revoked(world: World) -> None:
        names = world.run(AccessPolicies(world.storage, "Notes").names())
        assert "phones" not in names, "the policy that bob revoked is there again"

    return explore(make, invariant=is_revoked)
