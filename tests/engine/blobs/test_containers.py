"""Containers: names, metadata, public access, policies, lists."""

from __future__ import annotations

from datetime import datetime, timezone

import pytest

from support.blob_states import HOME, put
from support.table_states import Rejected
from tablepatterns.edm import Ticks
from tablepatterns_engine.blobs.conditions import Terms
from tablepatterns_engine.blobs.leases import Acquire
from tablepatterns_engine.blobs.service import Blobs
from tablepatterns_engine.blobs.state import PublicAccess
from tablepatterns_engine.resources import AccessPolicy, CorsRule, ServiceProperties

READERS = AccessPolicy("readers", permission="rl")


@pytest.mark.parametrize(
    "name", ["ab", "a" * 64, "Photos", "-photos", "photos-", "pho--tos", "pho_tos", "$other", "phötos"]
)
def test_a_name_that_no_container_has_is_rejected_by_every_call(blobs: Blobs, rejected: Rejected, name: str) -> None:
    code = "OutOfRangeInput" if len(name) in (2, 64) else "InvalidResourceName"
    with rejected(code):
        blobs.containers.create(name)
    with rejected(code):
        blobs.get(name, "b")


def test_a_container_is_changed_and_deleted_under_conditions_of_time(blobs: Blobs, rejected: Rejected) -> None:
    old, new = (Ticks.of(datetime(year, 1, 1, tzinfo=timezone.utc)) for year in (2001, 2100))
    for unmet in (Terms(modified_since=new), Terms(unmodified_since=old)):
        with rejected("ConditionNotMet"):
            blobs.containers.delete(HOME, unmet)
        with rejected("ConditionNotMet"):
            blobs.containers.set_metadata(HOME, {"a": "b"}, unmet)
        with rejected("ConditionNotMet"):
            blobs.containers.lease(HOME, Acquire(15), unmet)
    blobs.containers.set_metadata(HOME, {"a": "b"}, Terms(modified_since=old))
    blobs.containers.delete(HOME, Terms(unmodified_since=new))


def test_changes_make_versions_but_those_of_blobs_do_not(blobs: Blobs) -> None:
    etags = [
        blobs.containers.get(HOME).etag,
        blobs.containers.set_metadata(HOME, {"Owner": "Don"}).etag,
        blobs.containers.set_access(HOME, PublicAccess.BLOBS, [READERS]).etag,
    ]
    put(blobs, "b", "...")
    after = blobs.containers.get(HOME)
    assert after.etag == etags[-1]
    assert len(set(etags)) == 3
    assert (after.metadata, after.access, after.policies) == ({"Owner": "Don"}, PublicAccess.BLOBS, (READERS,))
    assert blobs.get_policies(HOME) == (READERS,)


def test_every_permission_of_the_service_can_be_in_a_policy(blobs: Blobs) -> None:
    blobs.containers.set_access(HOME, PublicAccess.NONE, [AccessPolicy("all", permission="racwdxyltmeopif")])


def test_the_properties_of_the_service_are_kept_and_checked(blobs: Blobs, rejected: Rejected) -> None:
    rule = CorsRule(("GET",), ("*",))
    blobs.set_service_properties(ServiceProperties(cors=(rule,)))
    assert blobs.get_service_properties().cors == (rule,)
    with rejected("InvalidXmlDocument"):
        blobs.set_service_properties(ServiceProperties(cors=(rule,) * 6))
