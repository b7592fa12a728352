"""The operations on tables: each is data, and can be sent to any account."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias
from urllib.parse import quote, urlencode

from azure.core import MatchConditions
from azure.data.tables import UpdateMode

from conformance.batches import Inner, changeset, send
from conformance.raw import entity_path
from differential.account import Account, Known
from differential.tables.values import for_sdk, for_wire
from tablepatterns.filters import Filter, Value

Kind: TypeAlias = Literal["insert", "merge", "replace", "upsert by merge", "upsert by replace", "delete"]
Condition: TypeAlias = Literal["any", "fresh", "stale", "absent"]
Level: TypeAlias = Literal["nometadata", "minimalmetadata", "fullmetadata"]
Key: TypeAlias = tuple[str, str]
Place: TypeAlias = tuple[str, Key]
"""Where an entity is: the table's name in lower case, and the entity's keys."""

NEVER = "W/\"datetime'2001-01-01T00%3A00%3A00Z'\""
"""The ETag of no version that there can be."""

_AGES: dict[Condition, int] = {"fresh": 0, "stale": 1}
_VERBS = {"merge": "MERGE", "replace": "PUT", "delete": "DELETE"}
_MODES = {"merge": UpdateMode.MERGE, "replace": UpdateMode.REPLACE}


@dataclass(frozen=True)
class Write:
    """One write of an entity.

    :param kind: an upsert is a merge or a replace without a condition
    :param condition: which version an update or a delete means
    """

    kind: Kind
    key: Key
    properties: Mapping[str, Value] = field(default_factory=dict)
    condition: Condition = "absent"

    @property
    def upserts(self) -> bool:
        return self.kind.startswith("upsert")

    @property
    def change(self) -> str:
        """How an update or an upsert combines with what is there."""
        return self.kind.removeprefix("upsert by ")

    def for_sdk(self, etag: str | None) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the entity and the options that the SDK's methods take."""
        entity = {**_keys(self.key), **for_sdk(self.properties)}
        options: dict[str, Any] = {"mode": _MODES[self.change]} if self.change in _MODES else {}
        if etag == "*":
            options["match_condition"] = MatchConditions.Unconditionally
        elif etag:
            options |= {"etag": etag, "match_condition": MatchConditions.IfNotModified}
        return entity, options

    def request(self, table: str, etag: str | None) -> Inner:
        """Return the write as a raw request, alone or for a batch."""
        headers = {"If-Match": etag} if etag else {}
        if self.kind == "insert":
            return Inner("POST", f"/{table}", headers, {**_keys(self.key), **for_wire(self.properties)})
        body = None if self.kind == "delete" else for_wire(self.properties)
        return Inner(_VERBS[self.change], entity_path(table, *self.key), headers, body)


@dataclass(frozen=True)
class CreateTable:
    table: str

    def send(self, account: Account, known: Known) -> None:
        account.service.create_table(self.table)


@dataclass(frozen=True)
class DeleteTable:
    table: str

    def send(self, account: Account, known: Known) -> None:
        account.service.delete_table(self.table)


@dataclass(frozen=True)
class ListTables:
    """A list of tables, to its last page."""

    wanted: str
    top: int | None = None
    table: str = ""

    def send(self, account: Account, known: Known) -> None:
        account.read_pages(account.service.query_tables(self.wanted, results_per_page=self.top))


@dataclass(frozen=True)
class Single:
    """One write through the SDK."""

    table: str
    write: Write

    def send(self, account: Account, known: Known) -> None:
        table, write = account.table(self.table), self.write
        methods = {"insert": table.create_entity, "delete": table.delete_entity}
        entity, options = write.for_sdk(_if_match(self.table, write, known))
        methods.get(write.kind, table.upsert_entity if write.upserts else table.update_entity)(entity, **options)


@dataclass(frozen=True)
class RawWrite:
    """One raw write: with a level of metadata, with a preference, or an unconditional delete."""

    table: str
    write: Write
    level: Level = "minimalmetadata"
    prefer: str | None = None

    def send(self, account: Account, known: Known) -> None:
        method, url, headers, body, _ = self.write.request(self.table, _if_match(self.table, self.write, known))
        headers |= accept(self.level)
        if self.prefer:
            headers["Prefer"] = self.prefer
        account.request(method, url, headers, b"" if body is None else body)


@dataclass(frozen=True)
class Transaction:
    """An entity group transaction: through the SDK, or as a raw request if the SDK would not send it."""

    table: str
    writes: tuple[Write, ...]

    @property
    def in_one_partition(self) -> bool:
        return len({write.key[0] for write in self.writes}) == 1

    def send(self, account: Account, known: Known) -> None:
        etags = [_if_match(self.table, write, known) for write in self.writes]
        if self.in_one_partition:
            account.table(self.table).submit_transaction(list(map(_operation, self.writes, etags)))
        else:
            requests = [write.request(self.table, etag) for write, etag in zip(self.writes, etags, strict=True)]
            account.send_raw(lambda raw: send(raw, changeset(raw.base, requests)))


@dataclass(frozen=True)
class Get:
    """A point query: through the SDK, or as a raw request with a level of metadata."""

    table: str
    key: Key
    select: tuple[str, ...] | None = None
    level: Level | None = None

    def send(self, account: Account, known: Known) -> None:
        if self.level is None:
            account.table(self.table).get_entity(*self.key, select=self.select)
        else:
            path = entity_path(self.table, *self.key) + _options(select=self.select)
            account.request("GET", path, accept(self.level))


@dataclass(frozen=True)
class Query:
    """A query: all pages through the SDK, or the first page as a raw request with a level of metadata."""

    table: str
    wanted: Filter | None = None
    select: tuple[str, ...] | None = None
    top: int | None = None
    level: Level | None = None

    @property
    def is_one_page(self) -> bool:
        """Whether only the first of several pages is read."""
        return self.level is not None and self.top is not None

    def send(self, account: Account, known: Known) -> None:
        text = "" if self.wanted is None else str(self.wanted)
        if self.level is None:
            table = account.table(self.table)
            account.read_pages(table.query_entities(text, select=self.select, results_per_page=self.top))
        else:
            path = f"/{self.table}()" + _options(filter=text, select=self.select, top=self.top)
            account.request("GET", path, accept(self.level))


Operation: TypeAlias = CreateTable | DeleteTable | ListTables | Single | RawWrite | Transaction | Get | Query


def writes_of(operation: Operation) -> tuple[Write, ...]:
    """Return the writes that an operation asks for, in the order of their answers."""
    match operation:
        case Single() | RawWrite():
            return (operation.write,)
        case Transaction():
            return operation.writes
        case _:
            return ()


def keys_of(operation: Operation) -> tuple[Key, ...]:
    """Return the keys that an operation names."""
    return (operation.key,) if isinstance(operation, Get) else tuple(write.key for write in writes_of(operation))


def place(table: str, key: Key) -> Place:
    """Return where an entity is."""
    return table.lower(), key


def accept(level: Level) -> dict[str, str]:
    """Return the header that asks for a level of metadata."""
    return {"Accept": f"application/json;odata={level}"}


def _if_match(table: str, write: Write, known: Known) -> str | None:
    """Return the If-Match of a write on one of the accounts, each of which has ETags of its own; None for none."""
    if write.condition in _AGES:
        return known(place(table, write.key), _AGES[write.condition]) or NEVER
    return "*" if write.condition == "any" else None


def _keys(key: Key) -> dict[str, str]:
    return dict(zip(("PartitionKey", "RowKey"), key, strict=True))


def _operation(write: Write, etag: str | None) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """Return a write as the SDK takes it in a transaction."""
    verb = {"insert": "create", "delete": "delete"}.get(write.kind, "upsert" if write.upserts else "update")
    return verb, *write.for_sdk(etag)


def _options(select: tuple[str, ...] | None = None, **others: object) -> str:
    given = {"select": select and ",".join(select), **others}
    options = {f"${name}": value for name, value in given.items() if value not in (None, "")}
    return f"?{urlencode(options, quote_via=quote)}" if options else ""
