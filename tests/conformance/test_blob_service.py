"""The Blob service as a whole: the account's key and its secondary endpoint."""

from __future__ import annotations

from typing import Any

import pytest
from azure.core.credentials import AzureNamedKeyCredential
from azure.storage.blob import PublicAccess

from conformance.deviations import BLOB_LITE, SECONDARY
from conformance.queue_errors import READ_ONLY
from conformance.raw import Raw, http_date
from conformance.service_errors import ServiceError
from conformance.service_properties import geo_replicated
from support.backends import Backend

TEXT = "text"
WRONG_KEY = "d3Jvbmc="
BLOCK_BLOB = {"x-ms-blob-type": "BlockBlob"}


# ------------------------------------------------------------------ the account's key


async def test_a_request_with_another_key_is_rejected(
    backend: Backend, container: Any, key: AzureNamedKeyCredential, blob_rejected: Any
) -> None:
    stranger = backend.service(AzureNamedKeyCredential(key.named_key.name, WRONG_KEY), "blob")
    async with blob_rejected(ServiceError(403)):
        await stranger.get_container_client(container.container_name).upload_blob("b", b"...")


@BLOB_LITE
async def test_the_lite_signature_is_accepted(raw_blobs: Raw, container: Any) -> None:
    path = f"/{container.container_name}/b"
    headers = {**raw_blobs.headers, **BLOCK_BLOB, "x-ms-date": http_date()}
    headers["Authorization"] = raw_blobs.authorization("PUT", path, headers, lite=True)
    assert (await raw_blobs("PUT", path, headers, TEXT, signed=False)).status == 201


@pytest.mark.few_on_azurite
@pytest.mark.parametrize(
    ("method", "path", "changed"),
    [
        ("POST", "/{home}/b", {}),
        ("PUT", "/{home}/other", {}),
        ("PUT", "/{home}/b?comp=blocklist", {}),
        ("PUT", "/{home}/b", {"Content-Type": "text/plain"}),
        ("PUT", "/{home}/b", {"Content-Length": "1"}),
        ("PUT", "/{home}/b", {"If-Match": "*"}),
        ("PUT", "/{home}/b", {"x-ms-date": "Fri, 22 Aug 2014 00:50:32 GMT"}),
        ("PUT", "/{home}/b", {"x-ms-meta-colour": "red"}),
    ],
    ids=["verb", "path", "option", "content type", "length", "condition", "date", "header"],
)
async def test_the_signature_of_another_request_is_rejected(
    raw_blobs: Raw, container: Any, blob_rejected: Any, method: str, path: str, changed: dict[str, str]
) -> None:
    headers = {**raw_blobs.headers, **BLOCK_BLOB, "x-ms-date": http_date(), "Content-Length": str(len(TEXT))}
    home = container.container_name
    other = raw_blobs.authorization(method, path.format(home=home), {**headers, **changed})
    async with blob_rejected(ServiceError(403)):
        await raw_blobs("PUT", f"/{home}/b", {**headers, "Authorization": other}, TEXT, signed=False)


async def test_what_is_not_public_is_not_for_those_without_a_credential(
    raw_blobs: Raw, container: Any, blob_rejected: Any
) -> None:
    await container.upload_blob("b", b"...")
    for method, options in (("GET", ""), ("DELETE", ""), ("PUT", "?comp=metadata")):
        async with blob_rejected(ServiceError()):
            await raw_blobs(method, f"/{container.container_name}/b{options}", signed=False)


@pytest.mark.owns_account("an account may forbid that anything is public")
async def test_a_public_blob_can_be_read_without_credentials(
    raw_blobs: Raw, container: Any, blob_rejected: Any
) -> None:
    await container.upload_blob("b", b"text")
    path = f"/{container.container_name}"
    await container.set_container_access_policy({}, public_access=PublicAccess.BLOB)
    assert (await raw_blobs("GET", f"{path}/b", signed=False)).text == "text"
    for method, options in (("GET", "?restype=container&comp=list"), ("DELETE", "/b"), ("PUT", "/b?comp=metadata")):
        async with blob_rejected(ServiceError()):
            await raw_blobs(method, path + options, signed=False)
    await container.set_container_access_policy({}, public_access=PublicAccess.CONTAINER)
    listed = await raw_blobs("GET", f"{path}?restype=container&comp=list", signed=False)
    assert "<Name>b</Name>" in listed.text


async def test_the_account_says_what_it_is(blob_service: Any) -> None:
    info = await blob_service.get_account_information()
    assert info["sku_name"].startswith(("Standard", "Premium"))
    assert info["account_kind"].startswith(("Storage", "Blob"))


# ------------------------------------------------------------------ the secondary endpoint


@pytest.fixture
def raw_secondary(raw_blobs: Raw) -> Raw:
    """A function that sends requests to the secondary endpoint."""
    raw_blobs.base = raw_blobs.base.replace(raw_blobs.account, f"{raw_blobs.account}-secondary")
    return raw_blobs


@geo_replicated
async def test_the_secondary_endpoint_reads(raw_secondary: Raw, container: Any) -> None:
    await container.upload_blob("b", b"text")
    assert (await raw_secondary("GET", f"/{container.container_name}/b")).text == "text"


@SECONDARY
@geo_replicated
async def test_the_secondary_endpoint_does_not_write(raw_secondary: Raw, container: Any, blob_rejected: Any) -> None:
    async with blob_rejected(READ_ONLY):
        await raw_secondary("PUT", f"/{container.container_name}/b", BLOCK_BLOB, TEXT)
