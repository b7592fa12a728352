"""The format of responses of the Blob service."""

from __future__ import annotations

import re
from typing import Any

import pytest
from azure.core.exceptions import HttpResponseError
from azure.storage.blob import ContentSettings

from conformance.deviations import BLOB_CODES, BLOB_FORMATS, VERSION
from conformance.raw import Raw
from support.backends import Backend

PROLOGUE = '<?xml version="1.0" encoding="utf-8"?>'
DATE = r"\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT"
ETAG = r"0x[0-9A-F]+"
WRITTEN = {"ETag": rf'"{ETAG}"', "Last-Modified": DATE, "x-ms-request-server-encrypted": "true"}
READ = {
    "ETag": rf'"{ETAG}"',
    "Last-Modified": DATE,
    "Content-Length": "4",
    "Content-Type": "text/plain",
    "Accept-Ranges": "bytes",
    "x-ms-blob-type": "BlockBlob",
    "x-ms-creation-time": DATE,
    "x-ms-lease-state": "available",
    "x-ms-lease-status": "unlocked",
    "x-ms-server-encrypted": "true",
    "x-ms-meta-Owner": "Don",
    "Content-MD5": re.escape("HLJR7A1WjeapKbUgxK7Y0Q=="),
}


@pytest.fixture
def path(backend: Backend, container: Any) -> str:
    """The path of a blob."""
    container_path = f"/{container.container_name}"

    async def write() -> None:
        settings = ContentSettings(content_type="text/plain")
        await container.upload_blob("b", b"text", metadata={"Owner": "Don"}, content_settings=settings)

    backend.run(write())
    return f"{container_path}/b"


def check(headers: Any, expected: dict[str, str]) -> None:
    """Assert that these headers are there, and look like this."""
    wrong = {name: headers.get(name) for name in expected if not re.fullmatch(expected[name], headers.get(name) or "")}
    assert wrong == {}


@pytest.mark.parametrize(
    ("options", "headers", "body"),
    [("", {"x-ms-blob-type": "BlockBlob"}, b"text"), ("?comp=blocklist", {}, b"<BlockList />")],
    ids=["put", "commit"],
)
async def test_a_write_returns_the_version(
    raw_blobs: Raw, path: str, options: str, headers: dict[str, str], body: bytes
) -> None:
    answer = await raw_blobs("PUT", path + options, headers, body)
    assert (answer.status, answer.text) == (201, "")
    check(answer.headers, WRITTEN)


@pytest.mark.parametrize("method", ["GET", "HEAD"])
async def test_a_read_returns_the_properties_of_the_blob(raw_blobs: Raw, path: str, method: str) -> None:
    answer = await raw_blobs(method, path)
    assert (answer.status, answer.text) == (200, "text" if method == "GET" else "")
    check(answer.headers, READ)


async def test_properties_tell_the_tier(raw_blobs: Raw, path: str) -> None:
    answer = await raw_blobs("HEAD", path)
    check(answer.headers, {"x-ms-access-tier": "Hot", "x-ms-access-tier-inferred": "true"})


@BLOB_FORMATS
async def test_a_list_repeats_the_request_and_has_the_next_marker(raw_blobs: Raw, container: Any, path: str) -> None:
    await container.upload_blob("c", b"...")
    home = container.container_name
    answer = await raw_blobs("GET", f"/{home}?restype=container&comp=list&maxresults=1&include=metadata")
    text = answer.text.lstrip("\ufeff")
    assert text.startswith(
        f'{PROLOGUE}<EnumerationResults ServiceEndpoint="{raw_blobs.base}/" ContainerName="{home}">'
        "<MaxResults>1</MaxResults><Blobs><Blob><Name>b</Name><Properties><Creation-Time>"
    )
    assert re.search(
        rf"<Last-Modified>{DATE}</Last-Modified><Etag>{ETAG}</Etag><Content-Length>4</Content-Length>"
        r"<Content-Type>text/plain</Content-Type><Content-Encoding />",
        text,
    )
    assert "<Metadata><Owner>Don</Owner></Metadata>" in text
    assert re.search(r"</Blobs><NextMarker>[^<]+</NextMarker></EnumerationResults>$", text)


async def test_committed_and_uncommitted_blocks_are_listed(raw_blobs: Raw, container: Any) -> None:
    blob = container.get_blob_client("blocks")
    await blob.stage_block("1", b"one")
    await blob.commit_block_list(["1"])
    await blob.stage_block("2", b"four")
    answer = await raw_blobs("GET", f"/{container.container_name}/blocks?comp=blocklist&blocklisttype=all")
    assert answer.text.partition("?>")[2] == (
        "<BlockList><CommittedBlocks><Block><Name>MQ==</Name><Size>3</Size></Block></CommittedBlocks>"
        "<UncommittedBlocks><Block><Name>Mg==</Name><Size>4</Size></Block></UncommittedBlocks></BlockList>"
    )


async def test_every_answer_names_request_and_client(raw_blobs: Raw, path: str) -> None:
    answer = await raw_blobs("GET", path, {"x-ms-client-request-id": "mine"})
    assert answer.headers["x-ms-client-request-id"] == "mine"
    assert answer.headers["x-ms-request-id"]
    check(answer.headers, {"Date": DATE})


@VERSION
async def test_the_version_is_the_one_that_was_asked_for(raw_blobs: Raw, path: str) -> None:
    answer = await raw_blobs("GET", path, {"x-ms-version": "2020-12-06"})
    assert answer.headers["x-ms-version"] == "2020-12-06"


async def service_error_of(raw: Raw, *request: Any) -> Any:
    """Return the answer that rejects a request."""
    with pytest.raises(HttpResponseError) as caught:
        await raw(*request)
    return caught.value.response


async def test_an_error_is_this_document(raw_blobs: Raw, container: Any) -> None:
    response = await service_error_of(raw_blobs, "GET", f"/{container.container_name}/missing")
    assert response.headers["x-ms-error-code"] == "BlobNotFound"
    assert response.reason == "The specified blob does not exist."
    assert re.search(
        rf"<Error>\s*<Code>BlobNotFound</Code>\s*<Message>{re.escape(response.reason)}\n"
        rf"RequestId:{response.headers['x-ms-request-id']}\nTime:[0-9T:.-]+Z</Message>\s*</Error>",
        response.text(),
    )


async def test_an_error_to_head_is_in_the_headers_alone(raw_blobs: Raw, container: Any) -> None:
    response = await service_error_of(raw_blobs, "HEAD", f"/{container.container_name}/missing")
    assert (response.status_code, response.headers["x-ms-error-code"]) == (404, "BlobNotFound")
    assert response.text() == ""


@BLOB_CODES
async def test_an_error_names_the_header_that_is_wrong(raw_blobs: Raw, path: str) -> None:
    response = await service_error_of(raw_blobs, "PUT", path, {"x-ms-blob-type": "Blob"}, b"...")
    assert response.headers["x-ms-error-code"] == "InvalidHeaderValue"
    assert "<HeaderName>x-ms-blob-type</HeaderName><HeaderValue>Blob</HeaderValue>" in response.text()
