"""Stored access policies of a table."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from azure.data.tables import TableAccessPolicy

from conformance.deviations import POLICIES, POLICY_NAMES, XML_ERRORS
from conformance.raw import XML, Raw
from conformance.service_errors import ServiceError
from conformance.table_errors import BAD_XML, NO_TABLE
from tablepatterns.limits import MAX_ACCESS_POLICIES

START = datetime(2030, 1, 1, tzinfo=timezone.utc)
READ = TableAccessPolicy(permission="r", start=START, expiry=START + timedelta(days=1))


async def policies(table: Any) -> dict[str, Any]:
    found = await table.get_table_access_policy()
    return {name: policy and (policy.permission, policy.start, policy.expiry) for name, policy in found.items()}


@pytest.fixture
def kept(table: Any, rejected: Any) -> Any:
    """A function that checks that a call is rejected so, and leaves the table's policies as they are."""

    async def check(call: Any, expected: ServiceError) -> None:
        await table.set_table_access_policy({"before": READ})
        before = await policies(table)
        async with rejected(expected):
            await call()
        assert await policies(table) == before

    return check


async def test_a_table_has_no_policies_at_first(table: Any) -> None:
    assert await policies(table) == {}


async def test_policies_come_back_as_they_were_set(table: Any) -> None:
    all_of_it = TableAccessPolicy(permission="raud", start=START, expiry=START + timedelta(hours=1))
    await table.set_table_access_policy({"readers": READ, "owners": all_of_it})
    assert await policies(table) == {
        "readers": ("r", START, START + timedelta(days=1)),
        "owners": ("raud", START, START + timedelta(hours=1)),
    }


async def test_setting_policies_replaces_those_before(table: Any) -> None:
    await table.set_table_access_policy({"readers": READ})
    await table.set_table_access_policy({"writers": READ})
    assert set(await policies(table)) == {"writers"}
    await table.set_table_access_policy({})
    assert await policies(table) == {}


async def test_each_table_has_policies_of_its_own(new_table: Any) -> None:
    first, second = [await new_table() for _ in range(2)]
    await first.set_table_access_policy({"readers": READ})
    assert await policies(second) == {}


@POLICIES
@pytest.mark.parametrize("policy", [None, TableAccessPolicy()], ids=["none", "empty"])
async def test_a_policy_may_be_a_name_only(table: Any, policy: TableAccessPolicy | None) -> None:
    await table.set_table_access_policy({"empty": policy})
    assert await policies(table) == {"empty": None}


@POLICIES
async def test_a_policy_may_leave_parts_to_the_signature(table: Any) -> None:
    await table.set_table_access_policy(
        {"permission": TableAccessPolicy(permission="r"), "expiry": TableAccessPolicy(expiry=START)}
    )
    assert await policies(table) == {"permission": ("r", None, None), "expiry": (None, None, START)}


async def test_five_policies_are_accepted(table: Any) -> None:
    names = [str(number) for number in range(MAX_ACCESS_POLICIES)]
    await table.set_table_access_policy(dict.fromkeys(names, READ))
    assert set(await policies(table)) == set(names)


async def test_six_policies_are_rejected(table: Any, kept: Any) -> None:
    names = [str(number) for number in range(MAX_ACCESS_POLICIES + 1)]
    await kept(lambda: table.set_table_access_policy(dict.fromkeys(names, READ)), BAD_XML)


async def test_the_sdk_takes_six_policies_for_a_bad_argument(table: Any, unchanged: Any) -> None:
    names = [str(number) for number in range(MAX_ACCESS_POLICIES + 1)]
    async with unchanged():
        with pytest.raises(ValueError, match="Too many access policies provided"):
            await table.set_table_access_policy(dict.fromkeys(names, READ))


async def test_a_name_of_64_characters_is_accepted(table: Any) -> None:
    await table.set_table_access_policy({"n" * 64: READ})
    assert set(await policies(table)) == {"n" * 64}


@POLICY_NAMES
async def test_a_name_of_65_characters_is_rejected(table: Any, kept: Any) -> None:
    await kept(lambda: table.set_table_access_policy({"n" * 65: READ}), ServiceError(400))


async def test_a_permission_that_tables_do_not_know_is_rejected(table: Any, kept: Any) -> None:
    policy = TableAccessPolicy(permission="rw", start=START, expiry=START + timedelta(days=1))
    await kept(lambda: table.set_table_access_policy({"writers": policy}), BAD_XML)


@POLICIES
@pytest.mark.parametrize("body", ["nonsense", "<Other />", "<SignedIdentifiers>"], ids=["no XML", "other root", "cut"])
async def test_what_is_no_list_of_policies_is_rejected(raw: Raw, table: Any, kept: Any, body: str) -> None:
    await kept(lambda: raw("PUT", f"/{table.table_name}?comp=acl", XML, body), BAD_XML)


async def test_a_missing_table_has_no_policies(service: Any, rejected: Any, table_name: str) -> None:
    table = service.get_table_client(table_name)
    async with rejected(NO_TABLE):
        await table.get_table_access_policy()
    async with rejected(NO_TABLE):
        await table.set_table_access_policy({"readers": READ})


@XML_ERRORS
async def test_policies_travel_as_xml_with_seven_digits_of_a_second(raw: Raw, table: Any) -> None:
    path = f"/{table.table_name}?comp=acl"
    assert (await raw("GET", path, XML)).text.lstrip("\ufeff").endswith("<SignedIdentifiers />")
    await table.set_table_access_policy({"readers": READ})
    answer = await raw("GET", path, XML)
    assert answer.headers["Content-Type"] == "application/xml"
    assert answer.text.lstrip("\ufeff") == (
        '<?xml version="1.0" encoding="utf-8"?><SignedIdentifiers><SignedIdentifier><Id>readers</Id><AccessPolicy>'
        "<Start>2030-01-01T00:00:00.0000000Z</Start><Expiry>2030-01-02T00:00:00.0000000Z</Expiry>"
        "<Permission>r</Permission></AccessPolicy></SignedIdentifier></SignedIdentifiers>"
    )
