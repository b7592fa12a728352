"""Batches: deletions and changes of tiers, through the SDK and as raw requests."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta, timezone

import pytest
from azure.core.credentials import AzureSasCredential
from azure.core.exceptions import ClientAuthenticationError
from azure.storage.blob import ContainerClient, PartialBatchErrorException, generate_container_sas

from support.batch_responses import read_responses
from support.blob_requests import BLOCK_BLOB, BlobWire
from support.blob_states import all_names
from support.queue_requests import DATE, full_text
from support.table_requests import sign
from tablepatterns_engine.account import Engine
from tablepatterns_engine.blobs.blob import Tier
from tablepatterns_engine.http.message import Response
from tablepatterns_engine.transport import EngineTransport

NAMES = ["a", "b c", "d/é", "e%2F"]


@pytest.fixture(autouse=True)
def blobs(container: ContainerClient, engine: Engine) -> None:
    for name in NAMES:
        container.upload_blob(name, b"...")
    engine.ledger.clear()


def test_the_sdk_deletes_many_blobs_with_one_request(container: ContainerClient, engine: Engine) -> None:
    answers = list(container.delete_blobs(*NAMES[1:]))
    assert [answer.status_code for answer in answers] == [202] * 3
    assert all_names(engine.blobs) == ["a"]
    (record,) = engine.ledger.records
    assert (record.operation, record.written, record.partition) == ("BlobBatch", 3, None)


def test_what_is_rejected_leaves_the_others_alone(container: ContainerClient, engine: Engine) -> None:
    with pytest.raises(PartialBatchErrorException) as caught:
        container.delete_blobs("a", "missing", "b c")
    assert [part.status_code for part in caught.value.parts] == [202, 404, 202]
    assert [part.headers.get("x-ms-error-code") for part in caught.value.parts] == [None, "BlobNotFound", None]
    assert all_names(engine.blobs) == ["d/é", "e%2F"]


def test_the_sdk_moves_many_blobs_to_another_tier(container: ContainerClient, engine: Engine) -> None:
    answers = list(container.set_standard_blob_tier_blobs("Cool", "a", "b c"))
    assert [answer.status_code for answer in answers] == [200, 200]
    assert [engine.blobs.get("photos", name).tier for name in NAMES] == [Tier.COOL, Tier.COOL, None, None]


def test_a_signature_is_enough_if_it_is_for_all(engine: Engine) -> None:
    later = datetime(2014, 8, 23, tzinfo=timezone.utc)

    def client(permission: str) -> ContainerClient:
        sas = generate_container_sas("contoso", "photos", engine.account_key, permission=permission, expiry=later)
        url = "https://contoso.blob.core.windows.net"
        return ContainerClient(url, "photos", credential=AzureSasCredential(sas), transport=EngineTransport(engine))

    with pytest.raises(PartialBatchErrorException) as caught:
        client("r").delete_blobs("a")
    assert caught.value.parts[0].headers["x-ms-error-code"] == "AuthorizationPermissionMismatch"
    assert [answer.status_code for answer in client("d").delete_blobs("a")] == [202]


# ------------------------------------------------------------------ raw requests


def part(wire: BlobWire, method: str, path: str, *, signed: bool = True, number: int = 0, **headers: str) -> str:
    asked = {"x-ms-date": DATE, **{name.replace("_", "-"): value for name, value in headers.items()}}
    if signed:
        asked["Authorization"] = "SharedKey contoso:" + sign(
            wire.engine, full_text("contoso", method, wire.base + path, {k.lower(): v for k, v in asked.items()})
        )
    fields = "".join(f"{name}: {value}\r\n" for name, value in asked.items())
    head = f"Content-Type: application/http\r\nContent-ID: {number}\r\n\r\n"
    return f"--b\r\n{head}{method} {path} HTTP/1.1\r\n{fields}\r\n\r\n"


def send(wire: BlobWire, *parts: str, path: str = "/?comp=batch") -> Response:
    body = "".join(parts) + "--b--\r\n"
    return wire.send("POST", path, {"Content-Type": "multipart/mixed; boundary=b"}, body)


def answers(response: Response) -> Iterator[Response]:
    assert response.status == 202
    return read_responses(response.body, response.headers["Content-Type"])


@pytest.mark.parametrize("path", ["/?comp=batch", "/photos?restype=container&comp=batch"])
def test_every_answer_has_the_number_of_its_request(wire: BlobWire, path: str) -> None:
    response = send(
        wire, part(wire, "DELETE", "/photos/a", number=7), part(wire, "DELETE", "/photos/a", number=8), path=path
    )
    assert response.body.count(b"Content-ID: 7\r\n\r\nHTTP/1.1 202 Accepted\r\n") == 1
    assert response.body.count(b"Content-ID: 8\r\n\r\nHTTP/1.1 404 The specified blob does not exist.\r\n") == 1


def test_every_answer_has_the_headers_of_the_service(wire: BlobWire) -> None:
    response = send(wire, part(wire, "DELETE", "/photos/a"), part(wire, "DELETE", "/photos/a"))
    deleted, missing = answers(response)
    for answer in (deleted, missing):
        for name in ("x-ms-request-id", "x-ms-version"):
            assert answer.headers[name] == response.headers[name]
        assert answer.headers["server"] == "Windows-Azure-Blob/1.0"
    assert deleted.headers["x-ms-delete-type-permanent"] == "true"
    assert missing.headers["content-length"] == str(len(missing.body))


def test_every_request_needs_a_credential_of_its_own(wire: BlobWire) -> None:
    (answer,) = answers(send(wire, part(wire, "DELETE", "/photos/a", signed=False)))
    assert (answer.status, answer.headers["x-ms-error-code"]) == (401, "NoAuthenticationInformation")


@pytest.mark.parametrize(
    ("method", "path"), [("GET", "/photos/a"), ("PUT", "/photos/a"), ("DELETE", "/photos?restype=container")]
)
def test_nothing_but_deletions_and_tiers_is_carried_out(wire: BlobWire, method: str, path: str) -> None:
    (answer,) = answers(send(wire, part(wire, method, path)))
    assert (answer.status, answer.headers["x-ms-error-code"]) == (400, "InvalidInput")


def test_a_batch_has_1_to_256_requests(wire: BlobWire, engine: Engine) -> None:
    for count, status in ((0, 400), (256, 202), (257, 400)):
        for number in range(count):
            wire.send("PUT", f"/photos/n{number}", BLOCK_BLOB)
        response = send(wire, *(part(wire, "DELETE", f"/photos/n{number}") for number in range(count)))
        assert response.status == status
    assert len(all_names(engine.blobs)) == len(NAMES) + 257


@pytest.mark.parametrize("body", [b"", b"x", b"--b\r\nx\r\n--b--\r\n", b"--b\r\n\r\nDELETE /photos/a HTTP/1.1\r\n\r\n"])
def test_what_is_no_batch_is_rejected(wire: BlobWire, body: bytes) -> None:
    headers = {"Content-Type": "multipart/mixed; boundary=b"}
    assert wire.error("POST", "/?comp=batch", headers, body)[:2] == (400, "InvalidInput")


def test_an_option_of_a_part_is_given_once(wire: BlobWire, engine: Engine) -> None:
    (answer,) = answers(send(wire, part(wire, "DELETE", "/photos/a?timeout=1&timeout=1")))
    assert (answer.status, answer.headers["x-ms-error-code"]) == (400, "InvalidQueryParameterValue")
    assert len(all_names(engine.blobs)) == len(NAMES)


def test_conditions_and_leases_are_looked_at(wire: BlobWire) -> None:
    (answer,) = answers(send(wire, part(wire, "DELETE", "/photos/a", If_Match='"0x1"')))
    assert (answer.status, answer.headers["x-ms-error-code"]) == (412, "ConditionNotMet")


def test_the_clock_says_when_a_signature_ends(engine: Engine) -> None:
    soon = engine.clock.now().datetime() + timedelta(minutes=1)
    sas = generate_container_sas("contoso", "photos", engine.account_key, permission="d", expiry=soon)
    url = "https://contoso.blob.core.windows.net"
    client = ContainerClient(url, "photos", credential=AzureSasCredential(sas), transport=EngineTransport(engine))
    client.delete_blobs("a")
    engine.clock.advance(60)
    with pytest.raises(ClientAuthenticationError):
        client.delete_blobs("b c")
