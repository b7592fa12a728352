"""The list of tables in full pages; `tests/conformance` has the other operations on tables."""

from __future__ import annotations

import json
from typing import Any

from azure.data.tables import TableServiceClient

from support.table_requests import Wire
from tablepatterns_engine.account import Engine


def names(response: Any) -> list[str]:
    return [row["TableName"] for row in json.loads(response.body)["value"]]


def test_a_thousand_tables_fill_a_page(engine: Engine, service: TableServiceClient, wire: Wire) -> None:
    for number in range(1000):
        engine.tables.create(f"t{number:04d}")
    assert len(names(wire.send("GET", "/Tables"))) == 1000
    assert len(list(service.list_tables())) == 1001
