"""The Table service in the comparison."""

from __future__ import annotations

from conformance.raw import Raw
from differential.account import Account
from differential.service import Service
from differential.tables.answers import normal, note_versions
from differential.tables.exclusions import EXCLUSIONS, Entities
from differential.tables.machine import TablesMachine
from differential.tables.operations import Operation
from differential.tables.strategies import ALL_TABLES
from tablepatterns_engine.account import Engine
from tablepatterns_engine.errors import ServiceError
from tablepatterns_engine.key_range import KeyRange


def _empty(account: Account) -> None:
    for name in ALL_TABLES:
        account.service.delete_table(name)


def _entities(engine: Engine, operation: Operation) -> Entities | None:
    """Return the entities of the table that an operation is about."""
    try:
        found = engine.tables.table(operation.table)
    except ServiceError:
        return None
    return {(entity.partition_key, entity.row_key): entity for entity in found.walk(KeyRange())}


TABLES = Service(
    "tables",
    Raw,
    TablesMachine,
    _empty,
    _entities,
    normal,
    note_versions,
    EXCLUSIONS,
    ("azure-data-tables", "hypothesis"),
)
