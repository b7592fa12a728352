"""Shared access signatures and stored access policies of queues."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import Any
from urllib.parse import parse_qsl, urlencode

import pytest
from azure.core.credentials import AzureNamedKeyCredential, AzureSasCredential
from azure.storage.queue import (
    AccessPolicy,
    AccountSasPermissions,
    ResourceTypes,
    Services,
    generate_account_sas,
    generate_queue_sas,
)

from conformance.deviations import POLICIES, POLICY_NAMES, QUEUE_SAS_LEVELS, SAS_ADDRESSES
from conformance.queue_errors import BAD_XML, NOT_AUTHENTIC, NOT_PERMITTED, WRONG_LEVEL
from conformance.service_errors import ServiceError
from conformance.signatures import HOUR, now
from support.backends import Backend
from tablepatterns.limits import MAX_ACCESS_POLICIES

policies_take_effect = pytest.mark.owns_account("a stored policy takes up to 30 seconds until it is known everywhere")
START = datetime(2030, 1, 1, tzinfo=timezone.utc)
OPERATIONS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "put": ("a", lambda queue: queue.send_message("text")),
    "get": ("p", lambda queue: queue.receive_message()),
    "peek": ("r", lambda queue: queue.peek_messages()),
    "read metadata": ("r", lambda queue: queue.get_queue_properties()),
}
"""The permission that an operation needs, and how it is asked for."""
BEYOND: dict[str, Callable[[Any], Any]] = {
    "clear": lambda queue: queue.clear_messages(),
    "write metadata": lambda queue: queue.set_queue_metadata({"colour": "red"}),
    "delete": lambda queue: queue.delete_queue(),
    "read policies": lambda queue: queue.get_queue_access_policy(),
}
"""What no signature of a queue allows."""


@pytest.fixture
def holder(backend: Backend, queue: Any, key: AzureNamedKeyCredential) -> Callable[..., Any]:
    """A function that returns the queue's client of someone who has a signature with these terms."""

    def client(permission: str | None = "raup", change: Callable[[str], str] = str, **terms: Any) -> Any:
        if "policy_id" not in terms:
            terms = {"expiry": now() + HOUR, **terms}
        name, secret = key.named_key
        token = generate_queue_sas(name, queue.queue_name, secret, permission=permission, **terms)
        return backend.service(AzureSasCredential(change(token)), "queue").get_queue_client(queue.queue_name)

    return client


@pytest.fixture
def visitor(backend: Backend, queue: Any, key: AzureNamedKeyCredential) -> Callable[..., Any]:
    """A function that returns the queue's client of someone who has a signature of the account."""

    def client(levels: str = "sco", permission: str = "rwdlacup", **terms: Any) -> Any:
        terms = {"expiry": now() + HOUR, "services": Services(queue=True), **terms}
        letters = AccountSasPermissions.from_string(permission)
        token = generate_account_sas(*key.named_key, ResourceTypes.from_string(levels), letters, **terms)
        return backend.service(AzureSasCredential(token), "queue").get_queue_client(queue.queue_name)

    return client


# ------------------------------------------------------------------ permissions


@pytest.mark.parametrize("name", OPERATIONS)
async def test_a_signature_allows_what_its_permissions_say_and_nothing_else(
    holder: Any, queue_rejected: Any, name: str
) -> None:
    letter, call = OPERATIONS[name]
    await call(holder(letter))
    async with queue_rejected(NOT_PERMITTED):
        await call(holder("raup".replace(letter, "")))


async def test_a_worker_needs_to_process_and_to_update(queue: Any, holder: Any, queue_rejected: Any) -> None:
    await queue.send_message("text")
    worker, updater = holder("p"), holder("u")
    message = await worker.receive_message()
    async with queue_rejected(NOT_PERMITTED):
        await worker.update_message(message, visibility_timeout=60)
    message = await updater.update_message(message, visibility_timeout=60)
    async with queue_rejected(NOT_PERMITTED):
        await updater.delete_message(message)
    await worker.delete_message(message)


@pytest.mark.parametrize("name", BEYOND)
async def test_a_signature_of_a_queue_reaches_no_further(holder: Any, queue_rejected: Any, name: str) -> None:
    async with queue_rejected(ServiceError(403)):
        await BEYOND[name](holder())


async def test_a_signature_of_the_account_reaches_what_its_levels_and_letters_say(
    queue: Any, visitor: Any, queue_rejected: Any
) -> None:
    await visitor("o", "a").send_message("text")
    await visitor("o", "p").receive_message()
    await visitor("c", "w").set_queue_metadata({"colour": "red"})
    assert (await visitor("c", "r").get_queue_properties()).metadata == {"colour": "red"}
    for client, error in [(visitor("o", "rwdlcup"), NOT_PERMITTED), (visitor("sc", "a"), WRONG_LEVEL)]:
        async with queue_rejected(error):
            await client.send_message("text")


@QUEUE_SAS_LEVELS
async def test_messages_are_objects_to_the_account_s_signature(queue: Any, visitor: Any) -> None:
    message = await queue.send_message("text")
    message = await visitor("o", "u").update_message(message, visibility_timeout=0)
    await visitor("o", "p").delete_message(message)
    await visitor("o", "d").clear_messages()


async def test_no_signature_of_the_account_reaches_policies(visitor: Any, queue_rejected: Any) -> None:
    async with queue_rejected(ServiceError(403)):
        await visitor().get_queue_access_policy()


# ------------------------------------------------------------------ terms


async def test_a_changed_term_breaks_the_signature(queue: Any, holder: Any, queue_rejected: Any) -> None:
    def widened(token: str) -> str:
        return urlencode([(name, "raup" if name == "sp" else value) for name, value in parse_qsl(token)])

    async with queue_rejected(NOT_AUTHENTIC):
        await holder("r", change=widened).send_message("text")


async def test_a_signature_is_of_one_queue(
    backend: Backend, queue: Any, key: AzureNamedKeyCredential, queue_service: Any, queue_name: str, queue_rejected: Any
) -> None:
    await queue_service.create_queue(queue_name)
    name, secret = key.named_key
    token = generate_queue_sas(name, queue_name, secret, permission="raup", expiry=now() + HOUR)
    client = backend.service(AzureSasCredential(token), "queue").get_queue_client(queue.queue_name)
    async with queue_rejected(NOT_AUTHENTIC):
        await client.send_message("text")


@pytest.mark.parametrize(
    "terms", [{"expiry": now() - HOUR}, {"start": now() + HOUR, "expiry": now() + 2 * HOUR}], ids=["over", "early"]
)
async def test_a_signature_counts_in_its_time_only(holder: Any, queue_rejected: Any, terms: dict[str, Any]) -> None:
    async with queue_rejected(NOT_AUTHENTIC):
        await holder(**terms).send_message("text")


@SAS_ADDRESSES
async def test_a_signature_may_ask_for_an_address(holder: Any, queue_rejected: Any) -> None:
    async with queue_rejected(ServiceError(403, "AuthorizationSourceIPMismatch")):
        await holder(ip="10.0.0.1").send_message("text")


# ------------------------------------------------------------------ policies


async def policies(queue: Any) -> dict[str, Any]:
    found = (await queue.get_queue_access_policy()).items()
    return {name: policy and (policy.permission, policy.start, policy.expiry) for name, policy in found}


READ = AccessPolicy(permission="r", start=START.isoformat(), expiry=(START + timedelta(days=1)).isoformat())


async def test_policies_are_replaced_as_a_whole(queue: Any) -> None:
    assert await policies(queue) == {}
    both = AccessPolicy(permission="raup", start=START, expiry=START + HOUR)
    await queue.set_queue_access_policy({"workers": both, "others": both})
    assert set(await policies(queue)) == {"workers", "others"}
    assert (await policies(queue))["workers"][0] == "raup"
    await queue.set_queue_access_policy({})
    assert await policies(queue) == {}


@POLICIES
async def test_a_policy_may_be_a_name_only(queue: Any) -> None:
    await queue.set_queue_access_policy({"nothing": None})
    assert set(await policies(queue)) == {"nothing"}


async def test_five_policies_are_accepted_and_six_rejected(queue: Any, queue_rejected: Any) -> None:
    policy = AccessPolicy(permission="r", start=START, expiry=START + HOUR)
    names = [str(number) for number in range(MAX_ACCESS_POLICIES)]
    await queue.set_queue_access_policy(dict.fromkeys(names, policy))
    async with queue_rejected(BAD_XML):
        await queue.set_queue_access_policy(dict.fromkeys([*names, "more"], policy))
    assert set(await policies(queue)) == set(names)


@POLICY_NAMES
async def test_a_name_of_65_characters_is_rejected(queue: Any, queue_rejected: Any) -> None:
    policy = AccessPolicy(permission="r", start=START, expiry=START + HOUR)
    await queue.set_queue_access_policy({"n" * 64: policy})
    async with queue_rejected(BAD_XML):
        await queue.set_queue_access_policy({"n" * 65: policy})


async def test_a_permission_that_queues_do_not_know_is_rejected(queue: Any, queue_rejected: Any) -> None:
    async with queue_rejected(BAD_XML):
        await queue.set_queue_access_policy({"d": AccessPolicy(permission="rd", start=START, expiry=START + HOUR)})


@policies_take_effect
async def test_a_policy_gives_what_the_signature_leaves_out_until_it_is_changed(
    queue: Any, holder: Any, queue_rejected: Any
) -> None:
    await queue.set_queue_access_policy(
        {"sender": AccessPolicy(permission="a", start=now() - HOUR, expiry=now() + HOUR)}
    )
    client = holder(None, policy_id="sender")
    await client.send_message("text")
    async with queue_rejected(NOT_PERMITTED):
        await client.receive_message()
    await queue.set_queue_access_policy({})
    async with queue_rejected(NOT_AUTHENTIC):
        await client.send_message("text")
