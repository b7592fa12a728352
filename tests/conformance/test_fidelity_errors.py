"""The in-memory account rejects what it does not support, so that no caller relies on it."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

import pytest
from azure.core.exceptions import HttpResponseError
from azure.storage.blob import (
    BlobImmutabilityPolicyMode,
    ContainerEncryptionScope,
    CustomerProvidedEncryptionKey,
    ImmutabilityPolicy,
)

from conformance.service_errors import ServiceError, service_error_in

LACKED = ServiceError(501, "NotImplemented", "The requested operation is not implemented on the specified resource.")
FOREVER = ImmutabilityPolicy(
    expiry_time=datetime(2050, 1, 1, tzinfo=timezone.utc), policy_mode=BlobImmutabilityPolicyMode.UNLOCKED
)
BEYOND = {
    "a key of one's own": lambda blob: blob.upload_blob(
        b"new", overwrite=True, cpk=CustomerProvidedEncryptionKey("a2V5", "aGFzaA==")
    ),
    "a scope of encryption": lambda blob: blob.upload_blob(b"new", overwrite=True, encryption_scope="mine"),
    "immutability": lambda blob: blob.upload_blob(b"new", overwrite=True, immutability_policy=FOREVER),
    "a legal hold": lambda blob: blob.upload_blob(b"new", overwrite=True, legal_hold=True),
    "a condition on tags with parentheses": lambda blob: blob.upload_blob(
        b"new", overwrite=True, if_tags_match_condition="(a = 'b')"
    ),
}

# Azurite is not asked: it does some of this
pytestmark = pytest.mark.usefixtures("engine")


@pytest.mark.parametrize("ask", BEYOND.values(), ids=BEYOND)
async def test_what_blobs_lack_is_rejected(container: Any, blobs_unchanged: Any, ask: Any) -> None:
    await container.upload_blob("b", b"old")
    async with blobs_unchanged():
        with pytest.raises(HttpResponseError) as caught:
            await ask(container.get_blob_client("b"))
    assert service_error_in(caught.value) == LACKED


async def test_a_container_has_no_scope_of_encryption(blob_service: Any, container_name: str) -> None:
    scope = ContainerEncryptionScope("mine")
    with pytest.raises(HttpResponseError) as caught:
        await blob_service.create_container(container_name, container_encryption_scope=scope)
    assert service_error_in(caught.value) == LACKED


async def test_what_is_asked_not_to_be_done_is_not_done(container: Any) -> None:
    await container.upload_blob("b", b"old", legal_hold=False)
    assert await (await container.download_blob("b")).readall() == b"old"


async def test_no_user_delegation_key_is_issued(blob_service: Any) -> None:
    now = datetime.now(timezone.utc)
    with pytest.raises(HttpResponseError) as caught:
        await blob_service.get_user_delegation_key(now, now)
    assert service_error_in(caught.value) == LACKED
