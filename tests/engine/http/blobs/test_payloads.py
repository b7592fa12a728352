"""Bodies and their checksums: what is checked, returned and rejected."""

from __future__ import annotations

import hashlib
from base64 import b64encode

import pytest

from support.blob_requests import APPEND_BLOB, BLOCK_BLOB, STRUCTURED, BlobWire, checksum, structured
from support.queue_requests import said_by
from tablepatterns_engine.account import Engine
from tablepatterns_engine.blobs.listing import Item, ListBlobsQuery

TEXT = b"Don Hall"
MD5 = b64encode(hashlib.md5(TEXT, usedforsecurity=False).digest()).decode()
CRC64 = b64encode(checksum([TEXT])).decode()
BLOCK_LIST = b"<BlockList />"

# method, path, headers: every request whose body can have a checksum
WRITES = {
    "put blob": ("/photos/b", BLOCK_BLOB),
    "put block": ("/photos/b?comp=block&blockid=YQ==", {}),
    "append block": ("/photos/log?comp=appendblock", {}),
}
every_write = pytest.mark.parametrize("write", WRITES)


@pytest.fixture(autouse=True)
def log(engine: Engine, wire: BlobWire) -> None:
    assert wire.send("PUT", "/photos/log", APPEND_BLOB).status == 201


@every_write
def test_a_correct_md5_is_returned(write: str, wire: BlobWire) -> None:
    path, headers = WRITES[write]
    response = wire.send("PUT", path, {**headers, "Content-MD5": MD5}, TEXT)
    assert (response.status, response.headers["Content-MD5"]) == (201, MD5)


@every_write
def test_a_wrong_md5_is_rejected_with_both(write: str, wire: BlobWire, engine: Engine) -> None:
    path, headers = WRITES[write]
    said = wire.error("PUT", path, {**headers, "Content-MD5": MD5}, b"other")
    assert said[:3] == (
        400,
        "Md5Mismatch",
        "The MD5 value specified in the request did not match with the MD5 value calculated by the server.",
    )
    other = b64encode(hashlib.md5(b"other", usedforsecurity=False).digest()).decode()
    assert said.details == {"UserSpecifiedMd5": MD5, "ServerCalculatedMd5": other}
    assert [getattr(blob, "name", blob) for blob in blobs_of(engine)] == ["log"]


@every_write
@pytest.mark.parametrize("md5", ["x", "YQ==", MD5[:-2]])
def test_what_is_no_md5_is_rejected(write: str, md5: str, wire: BlobWire) -> None:
    path, headers = WRITES[write]
    assert wire.error("PUT", path, {**headers, "Content-MD5": md5}, TEXT)[:2] == (400, "InvalidMd5")


@every_write
def test_a_correct_crc64_is_returned(write: str, wire: BlobWire) -> None:
    path, headers = WRITES[write]
    response = wire.send("PUT", path, {**headers, "x-ms-content-crc64": CRC64}, TEXT)
    assert (response.status, response.headers["x-ms-content-crc64"]) == (201, CRC64)


@every_write
def test_a_wrong_crc64_is_rejected_with_both(write: str, wire: BlobWire) -> None:
    path, headers = WRITES[write]
    said = wire.error("PUT", path, {**headers, "x-ms-content-crc64": CRC64}, b"other")
    assert said[:2] == (400, "Crc64Mismatch")
    assert said.details == {
        "UserSpecifiedCrc": CRC64,
        "ServerCalculatedCrc": b64encode(checksum([b"other"])).decode(),
    }
    assert wire.error("PUT", path, {**headers, "x-ms-content-crc64": "YQ=="}, TEXT)[:2] == (400, "InvalidCrc64")


@every_write
@pytest.mark.parametrize(("version", "has_both"), [("2024-11-04", False), ("2026-10-06", True)])
def test_newer_versions_return_a_crc64_beside_an_md5(write: str, wire: BlobWire, version: str, has_both: bool) -> None:
    path, headers = WRITES[write]
    told = wire.send("PUT", path, {**headers, "x-ms-version": version, "Content-MD5": MD5}, TEXT).headers
    assert told["Content-MD5"] == MD5
    assert (told.get("x-ms-content-crc64") == CRC64) is (has_both or write == "put blob")


@every_write
def test_two_checksums_are_one_too_many(write: str, wire: BlobWire) -> None:
    path, headers = WRITES[write]
    both = {**headers, "Content-MD5": MD5, "x-ms-content-crc64": CRC64}
    assert wire.error("PUT", path, both, TEXT)[:2] == (400, "BothCrc64AndMd5HeaderPresent")


@every_write
@pytest.mark.parametrize("flags", [1, 0], ids=["with checksums", "without"])
def test_a_structured_body_is_taken_apart(write: str, flags: int, wire: BlobWire, engine: Engine) -> None:
    path, headers = WRITES[write]
    response = wire.send("PUT", path, {**headers, **STRUCTURED}, structured([b"Don ", b"", b"Hall"], flags=flags))
    assert (response.status, response.headers["x-ms-structured-body"]) == (201, STRUCTURED["x-ms-structured-body"])
    if write != "put block":
        assert bytes(engine.blobs.get("photos", "log" if "append" in write else "b").content) == TEXT


@pytest.mark.parametrize("position", [0, 1, 9, 11, 13, 15, 23, 28, 40])
def test_a_structured_body_with_a_changed_byte_is_rejected(position: int, wire: BlobWire) -> None:
    body = bytearray(structured([TEXT]))
    body[position] ^= 0xFF
    said = wire.error("PUT", "/photos/b", {**BLOCK_BLOB, **STRUCTURED}, bytes(body))
    assert said[:2] in ((400, "InvalidInput"), (400, "Crc64Mismatch"))


@pytest.mark.parametrize("size", range(len(structured([TEXT]))))
def test_a_structured_body_that_was_cut_off_is_rejected(size: int, wire: BlobWire) -> None:
    said = wire.error("PUT", "/photos/b", {**BLOCK_BLOB, **STRUCTURED}, structured([TEXT])[:size])
    assert said[:2] == (400, "InvalidInput")


def test_another_structure_is_not_known(wire: BlobWire) -> None:
    said = wire.error("PUT", "/photos/b", {**BLOCK_BLOB, "x-ms-structured-body": "XSM/2.0"}, structured([TEXT]))
    assert said[:2] == (400, "InvalidHeaderValue")


@pytest.mark.parametrize("size", [0, 8, 4 * 1024 * 1024 + 1], ids=["empty", "one segment", "two segments"])
def test_a_read_is_structured_if_it_asks_for_it(size: int, wire: BlobWire) -> None:
    content = b"x" * size
    wire.send("PUT", "/photos/b", BLOCK_BLOB, content)
    response = wire.send("GET", "/photos/b", STRUCTURED)
    parts = [content[start : start + 4 * 1024 * 1024] for start in range(0, max(1, size), 4 * 1024 * 1024)]
    assert response.body == structured(parts)
    assert response.headers["Content-Length"] == str(len(response.body))
    assert response.headers["x-ms-structured-content-length"] == str(size)


def test_so_is_a_range(wire: BlobWire) -> None:
    wire.send("PUT", "/photos/b", BLOCK_BLOB, TEXT)
    response = wire.send("GET", "/photos/b", {**STRUCTURED, "x-ms-range": "bytes=4-7"})
    assert (response.status, response.body) == (206, structured([b"Hall"]))
    assert response.headers["Content-Range"] == "bytes 4-7/8"


def test_the_md5_of_a_complete_blob_is_stored_and_returned(wire: BlobWire) -> None:
    response = wire.send("PUT", "/photos/b", BLOCK_BLOB, TEXT)
    assert response.headers["Content-MD5"] == MD5
    assert wire.send("HEAD", "/photos/b").headers["Content-MD5"] == MD5
    assert wire.send("GET", "/photos/b").headers["Content-MD5"] == MD5
    ranged = wire.send("GET", "/photos/b", {"x-ms-range": "bytes=0-2"}).headers
    assert (ranged["x-ms-blob-content-md5"], "Content-MD5" in ranged) == (MD5, False)


def test_a_digest_of_the_blob_is_checked_where_the_body_is_the_blob(wire: BlobWire) -> None:
    assert wire.send("PUT", "/photos/b", {**BLOCK_BLOB, "x-ms-blob-content-md5": MD5}, TEXT).status == 201
    said = wire.error("PUT", "/photos/b", {**BLOCK_BLOB, "x-ms-blob-content-md5": MD5}, b"other")
    assert said[:2] == (400, "Md5Mismatch")
    wire.send("PUT", "/photos/b?comp=blocklist", {"x-ms-blob-content-md5": MD5}, BLOCK_LIST)
    assert wire.send("HEAD", "/photos/b").headers["Content-MD5"] == MD5


def test_a_block_list_has_a_checksum_too(wire: BlobWire) -> None:
    digest = b64encode(hashlib.md5(BLOCK_LIST, usedforsecurity=False).digest()).decode()
    response = wire.send("PUT", "/photos/b?comp=blocklist", {"Content-MD5": digest}, BLOCK_LIST)
    crc64 = b64encode(checksum([BLOCK_LIST])).decode()
    assert (response.status, response.headers["x-ms-content-crc64"]) == (201, crc64)
    assert "Content-MD5" not in response.headers
    assert said_by(wire.send("PUT", "/photos/b?comp=blocklist", {"Content-MD5": MD5}, BLOCK_LIST))[:2] == (
        400,
        "Md5Mismatch",
    )


@pytest.mark.parametrize(("name", "returned"), [("md5", "Content-MD5"), ("crc64", "x-ms-content-crc64")])
def test_the_checksum_of_a_range_is_calculated_for_who_asks(name: str, returned: str, wire: BlobWire) -> None:
    wire.send("PUT", "/photos/b", BLOCK_BLOB, b"--" + TEXT + b"--")
    asked = {"x-ms-range": "bytes=2-9", f"x-ms-range-get-content-{name}": "true"}
    assert wire.send("GET", "/photos/b", asked).headers[returned] == (MD5 if name == "md5" else CRC64)
    for wrong in ("", f"bytes=0-{4 * 1024 * 1024}"):
        said = wire.error("GET", "/photos/b", {**asked, "x-ms-range": wrong})
        assert said[:2] == (400, "InvalidHeaderValue")
    longest = {**asked, "x-ms-range": f"bytes=0-{4 * 1024 * 1024 - 1}"}
    assert wire.send("GET", "/photos/b", longest).status == 206


def blobs_of(engine: Engine) -> list[Item]:
    return list(engine.blobs.page("photos", ListBlobsQuery()).items)
