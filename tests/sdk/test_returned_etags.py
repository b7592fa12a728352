"""The ETag that a write returns after a lost response is the row's: without other writers, the next write succeeds."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import pytest

from support.employees import by_email, jones
from support.unreliable_transport import connect_unreliable
from tablepatterns import EntityGroupTransaction, EntitySet, Key, connect
from tablepatterns.errors import EntityChanged, OutcomeUnknown
from tablepatterns_engine.account import Engine

KINDS = (None, "response lost", "request lost", "timed out", "busy")
ID = {"Department": "Sales", "EmployeeId": 223}
KEY = Key("{Department}", "empid_{EmployeeId:06d}")
CHANGE = {"Age": 35}


async def transaction(staff: Any, entity: Any) -> Any:
    changes = staff.replacing(entity | CHANGE), staff.inserting(jones(EmployeeId=1, Email="other"))
    return (await EntityGroupTransaction(staff.account, staff.table.name).commit(*changes))[0]


WRITES: dict[str, tuple[bool, Callable[[Any, Any], Any]]] = {
    "insert": (False, lambda staff, _: staff.insert(jones())),
    "insert_or_replace a new one": (False, lambda staff, _: staff.insert_or_replace(jones())),
    "insert_or_merge a new one": (False, lambda staff, _: staff.insert_or_merge(jones())),
    "insert_or_replace": (True, lambda staff, _: staff.insert_or_replace(jones(**CHANGE))),
    "insert_or_merge": (True, lambda staff, _: staff.insert_or_merge(ID | CHANGE)),
    "replace": (True, lambda staff, entity: staff.replace(entity | CHANGE)),
    "replace with etag": (True, lambda staff, entity: staff.replace(jones(**CHANGE), etag=entity.etag)),
    "replace with force": (True, lambda staff, _: staff.replace(jones(**CHANGE), force=True)),
    "merge": (True, lambda staff, entity: staff.merge(entity, CHANGE)),
    "merge with etag": (True, lambda staff, entity: staff.merge(ID, CHANGE, etag=entity.etag)),
    "merge with force": (True, lambda staff, _: staff.merge(ID, CHANGE, force=True)),
    "update": (True, lambda staff, _: staff.update(lambda each: each.update(CHANGE), **ID)),
    "rename": (True, lambda staff, entity: staff.rename(entity, EmployeeId=224)),
    "transaction": (True, transaction),
}


SETS = pytest.mark.parametrize("derived", [(), (by_email,)], ids=["one row", "several rows"])


@SETS
@pytest.mark.parametrize("name", WRITES)
@pytest.mark.few(14)
async def test_the_next_write_succeeds_unless_another_wrote(
    backend: Any, engine: Engine, storage: Any, new_name: Any, name: str, derived: Any, request: pytest.FixtureRequest
) -> None:
    exists, write = WRITES[name]
    then = KINDS if request.config.getoption("nightly") else KINDS[:2]
    for faults in product(KINDS, then):
        reliable = EntitySet(storage, new_name(), KEY, derived=derived)
        await reliable.table.create()
        if exists:
            await reliable.insert(jones(Age=20))
        network = connect_unreliable(backend, engine, dict(enumerate(faults)).get)
        flaky = EntitySet(network, reliable.table.name, KEY, derived=derived)
        written = await write(flaky, await flaky.get(**ID))
        key = {field: written[field] for field in KEY.fields}
        stored = await reliable.get(key)
        assert written.etag == stored.etag, faults
        await flaky.delete(written)
        assert await reliable.get(key) is None


@SETS
@pytest.mark.parametrize("by_sdk", [False, True], ids=["library", "SDK"])
@pytest.mark.parametrize("change", [{"Age": 36}, {"City": "Rome"}], ids=["same field", "other field"])
@pytest.mark.parametrize("name", [name for name, (exists, _) in WRITES.items() if exists and name != "rename"])
@pytest.mark.parametrize("kinds", [("response lost",), pytest.param(KINDS[1:], marks=pytest.mark.nightly)])
@pytest.mark.few(40)
async def test_the_etag_of_a_row_that_another_changed_belongs_to_nothing_unseen(
    backend: Any,
    engine: Engine,
    storage: Any,
    new_name: Any,
    name: str,
    derived: Any,
    by_sdk: bool,
    change: Any,
    kinds: Any,
) -> None:
    for faults in product(kinds, (None, *kinds)):
        table = new_name()
        reliable = EntitySet(storage, table, KEY, derived=derived)
        await reliable.insert(jones(Age=20))

        def other(table: str = table) -> None:
            with connect(engine) as sync:
                if by_sdk:
                    row = {"PartitionKey": "Sales", "RowKey": "empid_000223", **change}
                    sync.tables.get_table_client(table).update_entity(row, mode="merge")
                else:
                    EntitySet(sync, table, KEY, derived=derived).update(lambda each: each.update(change), **ID)

        network = connect_unreliable(backend, engine, dict(enumerate(faults)).get, other)
        flaky = EntitySet(network, table, KEY, derived=derived)
        entity = await flaky.get(**ID)
        try:
            written = await WRITES[name][1](flaky, entity)
        except (EntityChanged, OutcomeUnknown):
            continue
        stored = await reliable.get(**ID)
        if written.etag == stored.etag:
            assert {field: stored.get(field) for field in written} == dict(written), faults
            continue
        with pytest.raises(EntityChanged):
            await reliable.delete(written)
