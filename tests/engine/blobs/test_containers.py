"""Containers: names, metadata, public access, policies, lists."""

from __future__ import annotations

from support.blob_states import HOME, put
from support.table_states import Rejected
from tablepatterns_engine.blobs.service import Blobs
from tablepatterns_engine.blobs.state import PublicAccess
from tablepatterns_engine.resources import AccessPolicy, CorsRule, ServiceProperties

READERS = AccessPolicy("readers", permission="rl")


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
