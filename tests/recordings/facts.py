"""What the recordings say, in this project's own words and figures: one line for each kind of answer to each request.

`facts.tsv` is written by `make recordings ... ARGS=--record`. It has no text of a recording.
"""

from __future__ import annotations

import csv
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple
from xml.etree.ElementTree import Element

from defusedxml.ElementTree import fromstring

from recordings.comparison import OF_TRANSPORT
from recordings.exchange import Answer, Exchange
from recordings.replay import Result
from recordings.scope import NO_REQUEST

PATH: Final = Path(__file__).parent / "facts.tsv"
REQUESTS: Final = PATH.with_name("requests.txt")
OF_VERSION: Final = " of version"
_VARYING: Final = (
    *("x-ms-meta-", "x-ms-copy-", "x-ms-access-tier", "x-ms-tag-count", "x-ms-content", "x-ms-blob-content"),
    *("cache-control", "content-", "access-control-"),
)
"""How the names of headers begin that depend on the resource, rather than on the operation."""
_OF_ACCOUNT: Final = frozenset(
    (
        "x-ms-version-id",
        "x-ms-is-current-version",
        "x-ms-is-soft-deleted",
        "VersionId",
        "IsCurrentVersion",
        "IncludeAPIs",
    )
)
"""Headers and elements of accounts that keep versions of blobs or deleted blobs, or that measure requests."""


_OF_SETTINGS: Final = frozenset(("Metadata", "RetentionPolicy", "DeleteRetentionPolicy", "StaticWebsite"))
"""Elements whose content depends on the resource or the account."""


class Fact(NamedTuple):
    """One kind of answer.

    :param target: what the request is for, with the option `comp`
    :param versions: the first and the last version of the service that it was seen in
    :param years: the first and the last year in which it was recorded
    :param sdks: the languages of the SDKs whose tests recorded it
    :param headers: the headers that all answers of the last version have
    :param members: the elements or members that all bodies of the last version have
    :param etag: whether the ETag is the one that the resource had before: "same", "new", or "" if that varies
    """

    service: str
    verb: str
    target: str
    answer: str
    versions: str
    years: str
    sdks: str
    seen: int
    headers: str
    members: str
    etag: str

    @property
    def name(self) -> str:
        return _name((self.service, self.verb, self.target, self.answer))


def _name(place: Sequence[str]) -> str:
    service, verb, target, answer = place
    return f"{service} {verb} {target}: {answer}"


def read_facts() -> list[Fact]:
    with PATH.open(encoding="utf-8", newline="") as lines:
        rows = csv.DictReader(lines, delimiter="\t")
        return [Fact(**{**row, "seen": int(row["seen"])}) for row in rows]  # type: ignore[arg-type]


def write_facts(facts: Iterable[Fact]) -> None:
    lines = ["\t".join(Fact._fields), *("\t".join(map(str, fact)) for fact in facts)]
    PATH.write_text("\n".join(lines) + "\n", "utf-8")


def facts_of(results: Iterable[Result]) -> list[Fact]:
    """Return the facts of all exchanges that the engine answers alike, replayed or by a request of `requests.txt`."""
    tried = {line.split(" |")[0] for line in REQUESTS.read_text("utf-8").splitlines()}
    groups: dict[tuple[str, str, str, str], list[tuple[Exchange, str]]] = defaultdict(list)
    etags: dict[tuple[str, str], str] = {}
    for result in results:
        exchange = result.exchange
        relation = _relation(etags, result.recording, exchange)
        place = exchange.service or "", exchange.method, target_of(exchange), str(exchange.answer)
        is_replayed = not result.set_aside and result.level
        is_known = result.set_aside == NO_REQUEST and _name(place) in tried
        if exchange.version and (is_replayed or is_known):
            groups[place].append((exchange, relation))
    return [_fact(place, group) for place, group in sorted(groups.items())]


def _relation(etags: dict[tuple[str, str], str], recording: str, exchange: Exchange) -> str:
    """Return how the ETag of an answer relates to the one that the resource had before, "" if either is unknown."""
    place, etag = (recording, "/".join(exchange.path)), exchange.answer.headers.get("etag")
    before = etags.get(place)
    if exchange.method == "DELETE":
        etags.pop(place, None)
    if etag is None:
        return ""
    etags[place] = etag
    return "" if before is None else "same" if etag == before else "new"


def _fact(place: tuple[str, str, str, str], group: Sequence[tuple[Exchange, str]]) -> Fact:
    versions = sorted({exchange.version for exchange, _ in group})
    last = [exchange.answer for exchange, _ in group if exchange.version == versions[-1]]
    headers = set.intersection(*(own_headers(answer, of_version=place[2].endswith(OF_VERSION)) for answer in last))
    members = set.intersection(*(set(members_of(answer)) for answer in last))
    relations = {relation for _, relation in group if relation}
    etag = relations.pop() if len(relations) == 1 else ""
    years = sorted({str(exchange.date.year) for exchange, _ in group if exchange.date})
    sdks = " ".join(sorted({exchange.sdk for exchange, _ in group}))
    return Fact(
        *place,
        _ends(versions),
        _ends(years),
        sdks,
        len(group),
        " ".join(sorted(headers)),
        " ".join(sorted(members)),
        etag,
    )


def _ends(values: Sequence[str]) -> str:
    return " to ".join(dict.fromkeys((values[0], values[-1]))) if values else ""


def own_headers(answer: Answer, *, of_version: bool = False) -> set[str]:
    """Return the headers of an answer that depend on the operation.

    :param of_version: whether the request names a version of a blob, as only accounts have that keep them
    """
    of_account = _OF_ACCOUNT - {"x-ms-version-id"} if of_version else _OF_ACCOUNT
    return {name for name in answer.headers.keys() - OF_TRANSPORT - of_account if not name.startswith(_VARYING)}


def members_of(answer: Answer) -> Iterator[str]:
    """Yield the paths of the elements of a body in XML, or of the members of one in JSON."""
    if answer.body.startswith(b"{"):
        yield from (name for name in json.loads(answer.body) if name.startswith("odata.") or name == "value")
    elif b"<?xml" in answer.body[:8]:
        yield from _paths(fromstring(answer.body.removeprefix(b"\xef\xbb\xbf")))


def _paths(element: Element, parent: str = "") -> Iterator[str]:
    name = element.tag.rpartition("}")[2]
    if name in _OF_ACCOUNT:
        return
    path = parent + name
    yield path
    if name not in _OF_SETTINGS:
        for child in element:
            yield from _paths(child, f"{path}/")


def target_of(exchange: Exchange) -> str:
    """Return what a request is for: a service, a resource, or what is in it; and the option `comp`."""
    path, query = exchange.path, exchange.query
    if exchange.service == "table":
        kind = _table_target(path)
    else:
        item = "message" if exchange.service == "queue" else "blob"
        of_resource = {0: "service", 1: "queue" if item == "message" else "container"}
        kind = of_resource.get(len(path), "messages" if item == "message" and len(path) == 2 else item)
    kind = "account" if query.get("restype") == "account" else kind
    comp = f" {query['comp']}" if "comp" in query else ""
    revision = {"snapshot": " of snapshot", "versionid": OF_VERSION}
    return kind + comp + next((text for name, text in revision.items() if name in query), "")


def _table_target(path: Sequence[str]) -> str:
    first = path[0] if path else ""
    if not first:
        return "service"
    if first in ("$batch", "Tables"):
        return "batch" if first == "$batch" else "tables"
    return "table entry" if first.startswith("Tables(") else "entity" if "PartitionKey=" in first else "table"
