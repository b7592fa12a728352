"""Containers: names, metadata, public access, policies, lists."""

from __future__ import annotations

import pytest

from support.blob_states import HOME, put
from support.table_states import Rejected
from tablepatterns_engine.blobs.service import Blobs
from tablepatterns_engine.blobs.state import PublicAccess
from tablepatterns_engine.resources import AccessPolicy, CorsRule, ServiceProperties

READERS = AccessPolicy("readers", permission="rl")


@pytest.mark.parametrize("name", ["abc", "a" * 63, "a-b-c", "2014-08-22", "$root", "$web", "$logs"])
def test_a_name_is_of_lower_case_letters_digits_and_single_hyphens(blobs: Blobs, name: str) -> None:
    assert blobs.containers.create(name).name == name


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("ab", "OutOfRangeInput"),
        ("a" * 64, "OutOfRangeInput"),
        ("Photos", "InvalidResourceName"),
        ("-photos", "InvalidResourceName"),
        ("photos-", "InvalidResourceName"),
        ("pho--tos", "InvalidResourceName"),
        ("pho_tos", "InvalidResourceName"),
        ("$other", "InvalidResourceName"),
        ("phötos", "InvalidResourceName"),
    ],
)
def test_no_container_has_another_name(blobs: Blobs, rejected: Rejected, name: str, code: str) -> None:
    with rejected(code):
        blobs.containers.create(name)
    with rejected(code):
        blobs.get(name, "b")


def test_a_container_is_made_once(blobs: Blobs, rejected: Rejected) -> None:
    with rejected("ContainerAlreadyExists", "The specified container already exists."):
        blobs.containers.create(HOME)


def test_a_deleted_container_takes_its_blobs_along(blobs: Blobs, rejected: Rejected) -> None:
    put(blobs, "b", "...")
    blobs.containers.delete(HOME)
    with rejected("ContainerNotFound", "The specified container does not exist."):
        blobs.get(HOME, "b")
    blobs.containers.create(HOME)
    with rejected("BlobNotFound"):
        blobs.get(HOME, "b")


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


@pytest.mark.parametrize(
    "policies", [[READERS, READERS], [AccessPolicy(str(n)) for n in range(6)], [AccessPolicy("p", permission="z")]]
)
def test_policies_that_cannot_be_are_rejected(blobs: Blobs, rejected: Rejected, policies: list[AccessPolicy]) -> None:
    with rejected("InvalidXmlDocument"):
        blobs.containers.set_access(HOME, PublicAccess.NONE, policies)


def test_every_permission_of_the_service_can_be_in_a_policy(blobs: Blobs) -> None:
    blobs.containers.set_access(HOME, PublicAccess.NONE, [AccessPolicy("all", permission="racwdxyltmeopif")])


def test_a_list_is_in_order_by_prefix_and_in_pages(blobs: Blobs) -> None:
    for name in ("logs-b", "logs-a", "other", "logs-c"):
        blobs.containers.create(name)
    page, start = blobs.containers.page("logs-", limit=2)
    assert ([each.name for each in page], start) == (["logs-a", "logs-b"], "logs-c")
    page, end = blobs.containers.page("logs-", start or "", limit=2)
    assert ([each.name for each in page], end) == (["logs-c"], None)
    assert [each.name for each in blobs.containers.page()[0]] == ["logs-a", "logs-b", "logs-c", "other", HOME]


def test_the_properties_of_the_service_are_kept_and_checked(blobs: Blobs, rejected: Rejected) -> None:
    rule = CorsRule(("GET",), ("*",))
    blobs.set_service_properties(ServiceProperties(cors=(rule,)))
    assert blobs.get_service_properties().cors == (rule,)
    with rejected("InvalidXmlDocument"):
        blobs.set_service_properties(ServiceProperties(cors=(rule,) * 6))
