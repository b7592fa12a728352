"""Recordings are read in all forms: YAML of Python's SDKs, and JSON of Java, of browsers and of the shared proxy."""

from __future__ import annotations

import json
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest

from recordings.backends import EngineBackend
from recordings.exchange import find_recordings, read_recording
from recordings.replay import replay
from recordings.scope import NO_REQUEST

URL = "https://contoso.table.core.windows.net/Employees"


def entry(content_type: str, body: Any) -> dict[str, Any]:
    return {
        "RequestUri": URL,
        "RequestMethod": "POST",
        "RequestHeaders": {":method": "POST", "Content-Type": "application/json", "x-ms-version": "2019-02-02"},
        "RequestBody": {"PartitionKey": "Sales", "Name": "J\u00f6nes"},
        "StatusCode": 201,
        "ResponseHeaders": {
            "Content-Type": content_type,
            "Server": ["Windows-Azure-Table/1.0", "Microsoft-HTTPAPI/2.0"],
        },
        "ResponseBody": body,
    }


@pytest.mark.parametrize(
    ("content_type", "body", "content"),
    [
        ("application/json; charset=utf-8", {"a": ["\u00f6", 1]}, '{"a":["\u00f6",1]}'.encode()),
        ("application/xml", ["\ufeff<Error>one\n", "two</Error>"], "\ufeff<Error>one\ntwo</Error>".encode()),
        ("application/xml", "<Error />", b"<Error />"),
        ("multipart/mixed; boundary=b", b64encode(b"--b--\r\n").decode(), b"--b--\r\n"),
        ("application/json", None, b""),
    ],
)
def test_an_entry_of_the_proxy_is_read(tmp_path: Path, content_type: str, body: Any, content: bytes) -> None:
    path = tmp_path / "test.json"
    path.write_text("\ufeff" + json.dumps({"Entries": [entry(content_type, body)]}), "utf-8")
    (exchange,) = read_recording(path)
    assert (exchange.method, exchange.url, exchange.service, exchange.version) == ("POST", URL, "table", "2019-02-02")
    assert exchange.headers == {"Content-Type": "application/json", "x-ms-version": "2019-02-02"}
    assert exchange.body == '{"PartitionKey":"Sales","Name":"J\u00f6nes"}'.encode()
    assert (exchange.answer.status, exchange.answer.body) == (201, content)
    assert exchange.answer.headers == {
        "content-type": content_type.replace("; ", ";"),
        "server": "Windows-Azure-Table/1.0",
    }


def test_what_asynchronous_clients_recorded_is_read(tmp_path: Path) -> None:
    path = tmp_path / "test.yaml"
    path.write_text(
        """
interactions:
- request:
    body: !!python/object/new:_io.BytesIO
      state: !!python/tuple
      - !!binary |
        RG9u
    headers: {x-ms-copy-source: 'https://hidden.blob.core.windows.net/a/b'}
    method: PUT
    uri: https://contoso-secondary.blob.core.windows.net/photos/b
  response:
    body: {string: '<a href="https://hidden.blob.preprod.core.windows.net/" />'}
    headers: {location: 'https://hidden-secondary.table.core.windows.net/'}
    status: {code: 201}
    url: !!python/object/new:yarl.URL
      state: !!python/tuple
      - !!python/object/new:urllib.parse.SplitResult [https, contoso.blob.core.windows.net, /photos/b, '', '']
""",
        "utf-8",
    )
    (exchange,) = read_recording(path)
    assert (exchange.body, exchange.account, exchange.answer.status) == (b"Don", "contoso", 201)
    # Names of the account that a recording hides in some places are the same everywhere
    assert exchange.source == "https://contoso.blob.core.windows.net/a/b"
    assert exchange.answer.body == b'<a href="https://contoso.blob.core.windows.net/" />'
    assert exchange.answer.headers == {"location": "https://contoso-secondary.table.core.windows.net/"}


def test_recordings_of_java_and_of_browsers_have_answers_only(tmp_path: Path) -> None:
    told = {"x-ms-version": "2019-12-12", "x-ms-error-code": "QueueNotFound"}
    records = {
        "networkCallRecords": {
            "Method": "DELETE",
            "Uri": "https://hidden.queue.core.windows.net/orders",
            "Headers": {"x-ms-version": "2019-12-12"},
            "Response": {**told, "StatusCode": "404", "Body": "<Error />", "retry-after": "0"},
        },
        "recordings": {
            "method": "DELETE",
            "url": "https://hidden.queue.core.windows.net/orders",
            "query": {"timeout": "30"},
            "requestBody": None,
            "status": 404,
            "response": "<Error />",
            "responseHeaders": told,
        },
    }
    for form, record in records.items():
        path = tmp_path / "test.json"
        path.write_text(json.dumps({form: [record]}), "utf-8")
        (exchange,) = read_recording(path)
        assert (exchange.method, exchange.path, exchange.version) == ("DELETE", ["orders"], "2019-12-12")
        assert (str(exchange.answer), exchange.answer.headers) == ("404 QueueNotFound", told)
        assert exchange.sdk == ("Java" if form == "networkCallRecords" else "JavaScript")
        (result,) = replay(path, EngineBackend())
        assert result.set_aside == NO_REQUEST


@pytest.mark.parametrize(
    ("agent", "address", "sdk", "has_sas"),
    [
        ("azsdk-js-data-tables/13.0.2", URL, "JavaScript", True),
        ("azsdk-go-aztables/v1.0.1", URL, "Go", False),
        ("azsdk-python-data-tables/12.0.0", f"{URL}?sig=x", "Python", True),
    ],
)
def test_what_signed_a_request_is_known_by_its_sdk(
    tmp_path: Path, agent: str, address: str, sdk: str, has_sas: bool
) -> None:
    sent = entry("application/json", {})
    sent["RequestHeaders"] |= {"User-Agent": agent}
    path = tmp_path / "test.json"
    path.write_text(json.dumps({"Entries": [sent | {"RequestUri": address}]}), "utf-8")
    (exchange,) = read_recording(path)
    assert (exchange.sdk, exchange.has_sas, exchange.is_signed) == (sdk, has_sas, has_sas)


def test_recordings_of_other_services_are_left_out(tmp_path: Path) -> None:
    names = [
        *("py/test_table.yaml", "py/test_file.yaml", "go/recordings/TestAdd/TestAdd_storage.json"),
        *("go/recordings/TestAdd/TestAdd_cosmos.json", "go/package.json", "java/session-records/test.json"),
    ]
    for name in names:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    found = [path.relative_to(tmp_path).as_posix() for path in find_recordings(tmp_path)]
    go, java = "go/recordings/TestAdd/TestAdd_storage.json", "java/session-records/test.json"
    assert found == [go, java, "py/test_table.yaml"]
