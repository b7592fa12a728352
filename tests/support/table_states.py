"""Helpers for tests of the engine's tables: operations to apply, and the complete state of a table or an account."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, TypeAlias

import pytest

from tablepatterns.filters import Filter
from tablepatterns_engine.errors import ServiceError
from tablepatterns_engine.tables.entities import Entity, Kind, Value
from tablepatterns_engine.tables.service import Operation, Tables

Rejected: TypeAlias = Callable[..., AbstractContextManager[None]]
"""`with rejected(code, text):` around a call that must be rejected and change nothing."""


def op(kind: Kind, partition_key: str, row_key: str, etag: str | None = None, **properties: Value) -> Operation:
    return Operation(kind, partition_key, row_key, properties, etag)


def insert(partition_key: str, row_key: str, **properties: Value) -> Operation:
    return op("insert", partition_key, row_key, **properties)


def delete(partition_key: str, row_key: str, etag: str | None = "*") -> Operation:
    return op("delete", partition_key, row_key, etag)


def all_entities(tables: Tables, name: str, wanted: Filter | None = None, **options: Any) -> Iterator[Entity]:
    """Yield the entities of all pages of a query."""
    page = tables.query(name, wanted, **options)
    yield from page.entities
    while page.next is not None:
        page = tables.query(name, wanted, **{**options, "start": page.next})
        yield from page.entities


def all_keys(tables: Tables, name: str, wanted: Filter | None = None, **options: Any) -> list[tuple[str, str]]:
    return [(entity.partition_key, entity.row_key) for entity in all_entities(tables, name, wanted, **options)]


def service_error_of(call: Callable[[], object]) -> ServiceError | None:
    """Return the error that rejects a call; None if it succeeds."""
    try:
        call()
    except ServiceError as error:
        return error
    return None


def rejecting(everything: Callable[[], object]) -> Rejected:
    """Return a block that must be rejected with a code and, where given, a text, and must change nothing.

    :param everything: returns the visible state of the account
    """

    @contextmanager
    def expect(code: str, text: str | None = None) -> Iterator[None]:
        before = everything()
        with pytest.raises(ServiceError) as caught:
            yield
        assert caught.value.code == code
        assert text in (None, caught.value.message)
        assert everything() == before

    return expect


def everything_in(tables: Tables) -> Any:
    """Return the visible state of the account, for comparisons."""
    content = {
        name: [(e.partition_key, e.row_key, e.etag, dict(e.properties)) for e in all_entities(tables, name)]
        for name in tables.names()[0]
    }
    policies = {name: tables.get_policies(name) for name in content}
    return content, policies, tables.get_service_properties()
