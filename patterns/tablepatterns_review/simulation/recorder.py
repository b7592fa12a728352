"""An in-memory account that records each request, with the rows it reads and changes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias
from urllib.parse import parse_qs, unquote, urlsplit

from azure.core.rest import HttpRequest, HttpResponse

from tablepatterns.connection import in_memory
from tablepatterns.edm import Ticks, key_order
from tablepatterns.entity import WRITE_ID
from tablepatterns.entity_set.derived import INTENT_ID
from tablepatterns.storage import Storage
from tablepatterns_engine.account import Engine
from tablepatterns_engine.http.message import Request
from tablepatterns_engine.key_range import KeyRange
from tablepatterns_engine.ledger import Record
from tablepatterns_engine.tables.entity_api import read_filter
from tablepatterns_engine.tables.service import make_plan
from tablepatterns_engine.transport import EngineTransport
from tablepatterns_explore.request_points import describe_request
from tablepatterns_explore.snapshot import Saved

RowKeys: TypeAlias = tuple[str, str, str]
"""Table, PartitionKey and RowKey."""

_RANDOM: Final = re.compile(r"[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}")
_OWN: Final = frozenset({WRITE_ID, INTENT_ID})
"""Properties by which the library recognizes its own writes; they differ between two equal writes."""


@dataclass(frozen=True)
class Contents:
    """What an account stores.

    :param rows: the properties of each row, in key order within a table
    :param stamps: when each row was last written
    :param messages: how many messages each queue has, hidden ones included
    """

    rows: Mapping[RowKeys, Mapping[str, Any]]
    stamps: Mapping[RowKeys, Ticks]
    blobs: frozenset[str]
    messages: Mapping[str, int]

    def has_same(self, keys: RowKeys, other_contents: Contents) -> bool:
        """Whether a row is the same in both, apart from random names, such as that of a blob."""
        here, there = self.rows.get(keys), other_contents.rows.get(keys)
        return here == there or (here is not None and there is not None and _settled(here) == _settled(there))

    def written_since(self, before: Contents) -> list[RowKeys]:
        """Return the rows that were inserted, updated or deleted, also those with the same properties as before."""
        return [key for key in {**before.stamps, **self.stamps} if before.stamps.get(key) != self.stamps.get(key)]

    def changed_since(self, before: Contents) -> list[RowKeys]:
        """Return the rows that were inserted, deleted or have different properties than before."""
        return [key for key in {**before.rows, **self.rows} if before.rows.get(key) != self.rows.get(key)]


def _settled(properties: Mapping[str, Any]) -> dict[str, str]:
    return {name: _RANDOM.sub("", str(value)) for name, value in properties.items()}


@dataclass(frozen=True)
class Sent:
    """One request that was sent, and what it did.

    :param after: what the account stored after it
    :param saved: the account after it, as a crash of the client leaves it; None if it was not saved
    """

    request: str
    record: Record
    read: tuple[RowKeys, ...]
    returned: tuple[RowKeys, ...]
    after: Contents
    saved: Saved | None


def contents_of(engine: Engine) -> Contents:
    containers = [container.name for container in engine.blobs.containers.page()[0]]
    blobs = frozenset(
        f"{name}/{slot.name}" for name in containers for slot in engine.blobs.containers.find(name).slots.walk()
    )
    queues = [queue.name for queue in engine.queues.page()[0]]
    rows, stamps = dict[RowKeys, Mapping[str, Any]](), dict[RowKeys, Ticks]()
    for table in engine.tables.names()[0]:
        for entity in engine.tables.table(table).walk(KeyRange()):
            keys = table, entity.partition_key, entity.row_key
            rows[keys] = {name: value for name, value in entity.properties.items() if name not in _OWN}
            stamps[keys] = entity.timestamp
    return Contents(rows, stamps, blobs, {name: engine.queues.count(name) for name in queues})


class Recorder(EngineTransport):
    """Sends requests to an engine, and records them from `begin` to `end`."""

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine)
        self.sent: list[Sent] = []
        self._engine = engine
        self._start: Contents | None = None
        self._save: Callable[[], Saved] | None = None

    def begin(self, start: Contents, save: Callable[[], Saved] | None) -> None:
        """Forget what was recorded, and record from now on; `save` saves the account after each request.

        :param start: what the account stores now
        """
        self.sent = []
        self._start = start
        self._save = save

    def end(self) -> None:
        self._start = None

    def send(self, request: HttpRequest, **kwargs: Any) -> HttpResponse:
        if self._start is None:
            return super().send(request, **kwargs)
        read = list(_rows_in_range(self._engine, request))
        response = super().send(request, **kwargs)
        record = self._engine.ledger.records[-1]
        examined = read[: record.examined]
        sent = _described(request) if record.table and record.service == "table" else _named(record)
        after, saved = (self.sent[-1].after, self.sent[-1].saved) if self.sent else (self._start, None)
        if request.method != "GET" or record.service != "table":
            after, saved = contents_of(self._engine), None if self._save is None else self._save()
        returned = tuple(keys for keys, matches in examined if matches)
        self.sent.append(Sent(sent, record, tuple(keys for keys, _ in examined), returned, after, saved))
        return response


def _named(record: Record) -> str:
    where = "/".join(filter(None, (record.table, record.partition if record.service == "blob" else None)))
    return f"{record.operation} {where}".strip()


def _described(request: HttpRequest) -> str:
    headers = {name.lower(): value for name, value in request.headers.items()}
    content: Any = request.content
    body = content.encode() if isinstance(content, str) else content if isinstance(content, bytes) else b""
    return describe_request(Request(request.method, request.url, headers, body))


def _rows_in_range(engine: Engine, request: HttpRequest) -> Iterator[tuple[RowKeys, bool]]:
    """Yield the rows that a read may read, in order, and whether they match its filter."""
    address = urlsplit(request.url)
    path, _, keys = address.path.lstrip("/").partition("(")
    if request.method != "GET" or ".table." not in address.netloc or not keys or path == "Tables":
        return
    name = next((table_name for table_name in engine.tables.names()[0] if table_name.lower() == path.lower()), None)
    if name is None:
        return
    query = {key: values[0] for key, values in parse_qs(address.query).items()}
    partition, _, row = unquote(keys).removesuffix(")").partition(",RowKey=")
    point = f"PartitionKey eq {partition.removeprefix('PartitionKey=')} and RowKey eq {row}"
    plan = make_plan(read_filter(query.get("$filter", "") if keys == ")" else point))
    start = key_order((query.get("NextPartitionKey", ""), query.get("NextRowKey", "")))
    for entity in engine.tables.table(name).walk(plan.key_range & KeyRange(start)):
        yield (name, entity.partition_key, entity.row_key), plan.matches is None or plan.matches(entity)


class InTurn(Storage):
    """An in-memory account whose requests are sent one after the other, in the same order in every run."""

    def __init__(self, engine: Engine, recorder: Recorder) -> None:
        super().__init__(in_memory(engine.account_name, engine.account_key), engine, {"transport": recorder})
        # As where no thread can start: calls run in turn, and nothing sends heartbeats
        self._has_threads = False
