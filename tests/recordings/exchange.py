"""Recorded exchanges: requests to Azure Storage and the answers of the service."""

from __future__ import annotations

import json
import re
from base64 import b64decode
from collections.abc import Callable, Mapping
from datetime import datetime
from email.utils import parsedate_to_datetime
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

SERVICES = ("table", "queue", "blob")


class Answer(NamedTuple):
    """A response; the names of its headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def code(self) -> str | None:
        """The code of an error, from its header or else from its body."""
        if "x-ms-error-code" in self.headers:
            return self.headers["x-ms-error-code"]
        found = re.search(rb'<Code>([^<]*)|"code":"([^"]*)"|<(?:m:)?code>([^<]*)', self.body)
        return next(filter(None, found.groups()), b"").decode() if found and self.status >= 300 else None

    def __str__(self) -> str:
        return f"{self.status} {self.code or ''}".strip()


class Exchange(NamedTuple):
    """A request, with the names of its headers as sent, and the service's answer.

    :param sdk: the language of the SDK that sent it
    :param is_complete: whether all of its headers and its body are recorded, so that it can be sent again
    """

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes
    answer: Answer
    sdk: str = "Python"
    is_complete: bool = True

    @property
    def service(self) -> str | None:
        """The service of the request, None for another host."""
        return next((service for service in SERVICES if f".{service}.core." in urlsplit(self.url).netloc), None)

    @property
    def account(self) -> str:
        return urlsplit(self.url).netloc.partition(".")[0].removesuffix("-secondary")

    @property
    def path(self) -> list[str]:
        return [unquote(segment) for segment in urlsplit(self.url).path.split("/") if segment]

    @property
    def query(self) -> dict[str, str]:
        return dict(parse_qsl(urlsplit(self.url).query, keep_blank_values=True))

    @property
    def version(self) -> str:
        return self.headers.get("x-ms-version", "")

    @property
    def date(self) -> datetime | None:
        """When the service answered."""
        return read_date(self.answer.headers.get("date", ""))

    @property
    def has_date(self) -> bool:
        return any(name.lower() in ("x-ms-date", "date") for name in self.headers)

    @property
    def has_sas(self) -> bool:
        """Whether it was sent with a SAS, or a token of JavaScript's SDK."""
        return "sig" in self.query or (self.sdk == "JavaScript" and not self.has_date)

    @property
    def is_signed(self) -> bool:
        return self.has_sas or self.has_date

    @property
    def is_list(self) -> bool:
        """Whether it lists the resources of the account."""
        is_of_account = self.path == ["Tables"] if self.service == "table" else not self.path
        return self.method == "GET" and is_of_account and (self.service == "table" or self.query.get("comp") == "list")

    @property
    def source(self) -> str:
        """The URL of the blob to copy, in the account of the request; "" if there is none."""
        return next((value for name, value in self.headers.items() if name.lower() == "x-ms-copy-source"), "")

    @property
    def source_place(self) -> tuple[str, ...]:
        """The account and the path of the blob to copy; empty if there is none."""
        path = urlsplit(self.source).path
        return (self.account, *(unquote(segment) for segment in path.split("/")[1:])) if path else ()

    @property
    def resource(self) -> str:
        """The name of the table, the queue or the container; "" if there is none."""
        if self.service == "blob" and self.query.get("comp") == "batch":
            part = re.search(rb"[A-Z]+ /([^/ ?]+)/\S* HTTP/1", self.body)
            return part[1].decode() if part else ""
        if self.service != "table" or not self.path:
            return self.path[0] if self.path else ""
        first = self.path[0]
        if first in ("Tables", "$batch"):
            place = rb'"TableName": ?"([^"]+)"' if first == "Tables" else rb"[A-Z]+ (?:https?://[^/]+)?/(\w+)\S* HTTP/1"
            found = re.search(place, self.body)
            return found[1].decode() if found else ""
        entry = re.fullmatch(r"Tables\('(\w+)'\)", first)
        return entry[1] if entry else first.partition("(")[0]

    @property
    def creates_resource(self) -> bool:
        if self.service == "table":
            return self.method == "POST" and self.path == ["Tables"]
        return self.method == "PUT" and len(self.path) == 1 and "comp" not in self.query


def read_date(text: str) -> datetime | None:
    try:
        return parsedate_to_datetime(text)
    except (TypeError, ValueError):
        return None


def find_recordings(folder: Path) -> list[Path]:
    """Return the recordings below a folder, without those of Azure Files and Cosmos DB, which the engine is not."""
    others = re.compile(r"test_(file|share|directory|get_file|handle)|.*_(cosmos|comsos)")
    forms = ("*.yaml", "recordings/**/*.json", "session-records/**/*.json")
    paths = sorted(path for form in forms for path in folder.rglob(form))
    return [path for path in paths if not others.match(path.name)]


@cache
def _loader() -> Any:
    """Return a loader of YAML that reads what Python 2 wrote, too."""
    # Only `make recordings` installs it
    import yaml

    class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
        pass

    Loader.add_constructor("tag:yaml.org,2002:python/unicode", lambda loader, node: loader.construct_scalar(node))
    Loader.add_constructor(
        "tag:yaml.org,2002:python/object/apply:_codecs.encode",
        lambda loader, node: loader.construct_sequence(node)[0].encode("latin-1"),
    )
    Loader.add_constructor("tag:yaml.org,2002:python/tuple", Loader.construct_yaml_seq)
    Loader.add_multi_constructor("tag:yaml.org,2002:python/object/new:", _read_object)
    return lambda text: yaml.load(text, Loader)  # noqa: S506 - it is a safe loader


def _read_object(loader: Any, name: str, node: Any) -> Any:
    """Return the content of a stream, and nothing of the other objects, which no field of an exchange needs."""
    return loader.construct_mapping(node, deep=True)["state"][0] if name == "_io.BytesIO" else None


def read_recording(path: Path) -> list[Exchange]:
    if path.suffix == ".json":
        document = json.loads(path.read_text("utf-8-sig"))
        form = next(form for form in _FORMS if form in document)
        return [_FORMS[form](record) for record in document[form]]
    document = _loader()(path.read_text("utf-8"))
    interactions = document.get("interactions", []) if isinstance(document, dict) else []
    return [_exchange(interaction["request"], interaction["response"]) for interaction in interactions]


def _exchange(request: Any, response: Any) -> Exchange:
    headers = {name: _text(value) for name, value in request["headers"].items()}
    told = {name.lower(): _text(value) for name, value in response["headers"].items()}
    answer = Answer(response["status"]["code"], told, _bytes(response["body"]))
    return _of_one_account(Exchange(request["method"], request["uri"], headers, _bytes(request["body"]), answer))


def _entry(entry: Any) -> Exchange:
    """Return an exchange that the proxy of newer SDKs recorded."""
    sent, received = entry["RequestHeaders"], entry["ResponseHeaders"]
    # The proxy puts blanks between the parameters of a type
    told = {name.lower(): _text(value).replace("; ", ";") for name, value in received.items()}
    answer = Answer(entry["StatusCode"], told, _proxy_body(entry["ResponseBody"], received))
    headers = {name: _text(value) for name, value in sent.items() if not name.startswith(":")}
    body = _proxy_body(entry["RequestBody"], sent)
    agent = re.search("azsdk-(go|js)", " ".join(headers.values()))
    sdk = {"go": "Go", "js": "JavaScript"}[agent[1]] if agent else "Python"
    return _of_one_account(Exchange(entry["RequestMethod"], entry["RequestUri"], headers, body, answer, sdk))


def _call_record(record: Any) -> Exchange:
    """Return an exchange that Java's SDK recorded, without the body and most headers of the request."""
    received = record["Response"] or {"StatusCode": "0"}
    told = {name.lower(): value for name, value in received.items() if name not in _NO_HEADERS_OF_JAVA}
    answer = Answer(int(received["StatusCode"]), told, received.get("Body", "").encode())
    return Exchange(record["Method"], record["Uri"], record["Headers"], b"", answer, "Java", is_complete=False)


def _browser_record(record: Any) -> Exchange:
    """Return an exchange that JavaScript's SDK recorded in a browser before 2022, without headers of the request."""
    told = {name.lower(): value for name, value in record["responseHeaders"].items()}
    url, headers = f"{record['url']}?{urlencode(record['query'])}", {"x-ms-version": told.get("x-ms-version", "")}
    answer = Answer(record["status"], told, (record["response"] or "").encode())
    return Exchange(record["method"], url, headers, b"", answer, "JavaScript", is_complete=False)


_NO_HEADERS_OF_JAVA = frozenset({"Body", "StatusCode", "retry-after"})
_FORMS: Mapping[str, Callable[[Any], Exchange]] = {
    "Entries": _entry,
    "networkCallRecords": _call_record,
    "recordings": _browser_record,
}


def _of_one_account(exchange: Exchange) -> Exchange:
    """Return an exchange with the account of its URL everywhere: recordings hide its name in some places only."""
    host = r"//[\w-]+?(-secondary)?\.(table|queue|blob)\.(?:preprod\.)?core\."
    own = rf"//{exchange.account}\g<1>.\2.core."

    def rename(headers: Mapping[str, str]) -> dict[str, str]:
        return {name: re.sub(host, own, value) for name, value in headers.items()}

    def rename_in(body: bytes) -> bytes:
        return re.sub(host.encode(), own.encode(), body)

    answer = exchange.answer
    return Exchange(
        exchange.method,
        exchange.url.replace(".preprod.", "."),
        rename(exchange.headers),
        rename_in(exchange.body),
        Answer(answer.status, rename(answer.headers), rename_in(answer.body)),
        exchange.sdk,
    )


def _proxy_body(body: Any, headers: Mapping[str, Any]) -> bytes:
    """Return a body, which is JSON, a text or its lines, or else in Base64."""
    if body is None:
        return b""
    content_type = _text(headers.get("Content-Type", ""))
    if "json" in content_type and not isinstance(body, str):
        return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
    text = body if isinstance(body, str) else "".join(body)
    return text.encode() if re.search("json|xml|text", content_type) else b64decode(text)


def _text(value: Any) -> str:
    first = value[0] if isinstance(value, list) else value
    return first.decode() if isinstance(first, bytes) else str(first)


def _bytes(value: Any) -> bytes:
    if isinstance(value, dict):
        value = value.get("string", value.get("base64_string"))
    if value is None:
        return b""
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogatepass")
