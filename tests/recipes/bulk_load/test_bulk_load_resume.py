"""A bulk load that is interrupted at any point: it resumes, and the table is complete."""

from __future__ import annotations

import random
from typing import Any

import pytest
from azure.core.exceptions import ServiceResponseError
from hypothesis import given
from hypothesis import strategies as st

from support.crashing_client import Crash, Crashed, connect_crashing
from support.employees import BY_ID, employees_of, rows_of
from support.examples import examples
from support.staff_rows import rows_for, staff
from support.unreliable_transport import connect_unreliable
from tablepatterns import EntitySet
from tablepatterns.errors import BadToken, EntityAlreadyExists, LoadInterrupted
from tablepatterns.recipes.bulk_load.bulk_load import BulkLoad, Progress
from tablepatterns_engine.account import Engine

WINDOW = 40


class Notebook:
    """Where a process keeps the token of its last report, so that the next one finds it."""

    def __init__(self) -> None:
        self.tokens: list[str | None] = [None]

    def __call__(self, report: Progress) -> None:
        self.tokens.append(report.token)


def load_of(storage: Any, table: str, **options: Any) -> Any:
    return BulkLoad(employees_of(storage, table), **{"window": WINDOW, "max_concurrency": 3} | options)


async def lived(load: Any, entities: Any, notebook: Notebook, **options: Any) -> bool:
    """Run a load in a process that may crash; return whether it finished."""
    try:
        await load.load(iter(entities), progress=notebook, resume=notebook.tokens[-1], **options)
    except Crashed:
        return False
    return True


async def test_every_report_of_a_load_resumes_it(backend: Any, engine: Engine, storage: Any, table_name: str) -> None:
    entities, notebook = staff(130, departments=2), Notebook()
    await load_of(storage, table_name).load(entities, progress=notebook)
    for token in notebook.tokens[1:]:
        resumed = await load_of(storage, table_name).load(entities, resume=token)
        assert resumed.transactions == 0
        assert resumed.entities == 130
    assert resumed.already_stored == 0
    assert await rows_of(storage, table_name) == rows_for(entities)


@pytest.mark.parametrize("mode", ["insert", "insert_or_replace"])
async def test_a_lost_response_stops_the_load_and_the_entities_are_known_again(
    backend: Any, engine: Engine, table_name: str, mode: str
) -> None:
    entities = staff(130, departments=2)
    storage = backend.connect(engine)
    await employees_of(storage, table_name).table.create()
    flaky = connect_unreliable(backend, engine, lambda write: "response lost" if write >= 3 else None)
    with pytest.raises(LoadInterrupted, match="connection reset") as stop:
        await load_of(flaky, table_name, max_concurrency=1).load(entities, mode=mode)
    assert isinstance(stop.value.__cause__, ServiceResponseError)
    assert (stop.value.position, stop.value.status_code) == (None, None)
    loaded = await load_of(storage, table_name).load(entities, mode=mode, resume=stop.value.token)
    assert loaded.entities == 130
    assert loaded.already_stored == (20 if mode == "insert" else 0)
    assert await rows_of(storage, table_name) == rows_for(entities)


async def test_what_was_in_flight_when_another_partition_failed_is_not_sent_again(
    backend: Any, engine: Engine, table_name: str
) -> None:
    storage = backend.connect(engine)
    taken = staff(1, departments=3)[0] | {"Age": 99}
    await employees_of(storage, table_name).insert(taken)
    with pytest.raises(LoadInterrupted) as stop:
        await load_of(storage, table_name, window=300).load(staff(300, departments=3))
    await employees_of(storage, table_name).delete(taken, force=True)
    loaded = await load_of(storage, table_name).load(staff(300, departments=3), resume=stop.value.token)
    assert (loaded.entities, loaded.already_stored) == (300, 0)
    assert await rows_of(storage, table_name) == rows_for(staff(300, departments=3))


async def test_a_foreign_entity_is_not_taken_for_ours_on_resuming(storage: Any, table_name: str) -> None:
    employees, notebook = employees_of(storage, table_name), Notebook()
    theirs = staff(10)[7] | {"Age": 35}
    await employees.insert(theirs)
    for _ in ("a load", "the same, resumed"):
        with pytest.raises(LoadInterrupted, match=r"^entity 7 .* exists already.*; 0 entities") as stop:
            await load_of(storage, table_name).load(staff(10), progress=notebook, resume=notebook.tokens[-1])
        assert isinstance(stop.value.__cause__, EntityAlreadyExists)
    assert await rows_of(storage, table_name) == rows_for([theirs])


async def test_a_foreign_entity_stops_a_resumed_load_after_what_was_recognized(storage: Any, table_name: str) -> None:
    employees, notebook = employees_of(storage, table_name), Notebook()
    with pytest.raises(LoadInterrupted):
        await load_of(storage, table_name).load([*staff(4), {}], progress=notebook)
    await load_of(storage, table_name).load(staff(4), progress=notebook)
    await employees.insert(staff(10)[7] | {"Age": 35})
    with pytest.raises(LoadInterrupted, match=r"^entity 7 .*; 4 entities are stored") as stop:
        await load_of(storage, table_name).load(staff(10), resume=notebook.tokens[1])
    resumed = await load_of(storage, table_name).load(staff(10), resume=stop.value.token, mode="insert_or_replace")
    assert resumed.entities == 10
    assert await rows_of(storage, table_name) == rows_for(staff(10))


async def test_the_token_of_a_finished_load_loads_what_the_input_has_grown_by(
    storage: Any, engine: Engine, table_name: str
) -> None:
    first = await load_of(storage, table_name).load(staff(50))
    with engine.ledger.span() as span:
        second = await load_of(storage, table_name).load(staff(60), resume=first.token)
    assert (second.entities, second.transactions, len(span.records)) == (60, 1, 1)
    assert await rows_of(storage, table_name) == rows_for(staff(60))


# ------------------------------------------------------------------ tokens that do not fit


async def token_of_a_broken_load(storage: Any, table: str) -> str:
    with pytest.raises(LoadInterrupted) as stop:
        await load_of(storage, table).load([*staff(50), {}])
    return str(stop.value.token)


@pytest.mark.parametrize(
    "other",
    [
        staff(50, start=1),
        staff(39),
        [*staff(10), *staff(40, start=11)],
        list(reversed(staff(50))),
        staff(50, departments=2),
        [],
    ],
    ids=["shifted", "shorter", "one missing", "reversed", "other keys", "none at all"],
)
async def test_another_input_or_set_is_rejected_before_any_request(
    storage: Any, engine: Engine, table_name: str, other: list[dict[str, Any]]
) -> None:
    token = await token_of_a_broken_load(storage, table_name)
    with engine.ledger.span() as span:
        for table, entities in ((table_name, other), (f"{table_name}x", staff(50))):
            with pytest.raises(BadToken, match="token of another input or set"):
                await load_of(storage, table).load(entities, resume=token)
    assert span.records == []


@pytest.mark.parametrize("token", ["", "x", "eJw=", "bm90IGEgdG9rZW4=", "🛫"])
async def test_what_is_no_token_is_rejected(storage: Any, table_name: str, token: str) -> None:
    with pytest.raises(BadToken, match="it is not a token of a load"):
        await load_of(storage, table_name).load(staff(1), resume=token)


async def test_a_token_is_short(storage: Any, table_name: str) -> None:
    entities = staff(1000, departments=50)
    random.Random(7).shuffle(entities)
    notebook = Notebook()
    await load_of(storage, table_name, window=10_000).load(entities, progress=notebook)
    assert max(len(token or "") for token in notebook.tokens) < 400


# ------------------------------------------------------------------ any input, any crash


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 30)), max_size=60),
    st.integers(1, 25),
    st.integers(0, 12),
    st.booleans(),
    st.booleans(),
)
@examples(30)
async def test_any_input_survives_any_crash_in_order(
    backend: Any, engine: Engine, keys: list[tuple[int, int]], window: int, crash: int, after: bool, indexed: bool
) -> None:
    """Entities may come repeatedly; the last one of a key must be the one that stays."""
    engine, notebook = Engine(), Notebook()
    entities = [
        {"Department": f"D{department}", "EmployeeId": number, "Email": f"{number}@contoso.com", "Age": age}
        for age, (department, number) in enumerate(keys)
    ]
    last = {(entity["Department"], entity["EmployeeId"]): entity for entity in entities}

    def load(storage: Any) -> Any:
        into = employees_of(storage, "Employees") if indexed else EntitySet(storage, "Employees", BY_ID)
        return BulkLoad(into, window=window, max_concurrency=2)

    await lived(
        load(connect_crashing(backend, engine, Crash(crash, after))), entities, notebook, mode="insert_or_replace"
    )
    await load(backend.connect(engine)).load(entities, mode="insert_or_replace", resume=notebook.tokens[-1])
    expected = rows_for(last.values())
    rows = await rows_of(backend.connect(engine), "Employees")
    assert rows == {key: row for key, row in expected.items() if indexed or key[1].startswith("empid_")}
