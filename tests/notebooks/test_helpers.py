"""What the notebooks share: a bar that leaves nothing behind, costs, and programs that crash."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module
from types import ModuleType
from typing import Any

import pytest
from azure.core.exceptions import ResourceNotFoundError

from notebooks import warm
from notebooks.book import FOLDER, HELPERS
from tablepatterns import EntitySet, Key, Traffic, connect
from tablepatterns_explore import Counterexample

pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def helpers() -> Iterator[ModuleType]:
    """The module beside the notebooks."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(FOLDER)
        yield import_module(HELPERS)
    sys.modules.pop(HELPERS)


async def one_counter(account: Any) -> None:
    await EntitySet(account, "Counters", Key("{Name}", "")).insert({"Name": "visits", "Count": 0})


async def naive_count(account: Any) -> None:
    table = account.tables.get_table_client("Counters")
    row = await table.get_entity("visits", "")
    await table.update_entity({**row, "Count": row["Count"] + 1})


async def count(account: Any) -> str:
    def add(row: Any) -> None:
        row["Count"] += 1

    await EntitySet(account, "Counters", Key("{Name}", "")).update(add, Name="visits")
    return "counted"


def both_are_counted(state: Any) -> None:
    (row,) = state.rows("Counters")
    assert row["Count"] == 2, f"counted {row['Count']}"


def test_a_counterexample_is_printed(helpers: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    helpers.show_counterexample([naive_count] * 2, both_are_counted, prepare=one_counter)
    first, *rest = capsys.readouterr().out.splitlines()
    assert first == "final check failed: counted 1"
    assert [line.split()[0] for line in rest[1:5]] == ["A", "B", "B", "A"]
    assert "replay" not in "".join(rest)


def test_an_invariant_that_holds_is_no_counterexample(helpers: ModuleType) -> None:
    with pytest.raises(AssertionError, match="no schedule within the bound breaks the invariant"):
        helpers.show_counterexample([count] * 2, both_are_counted, prepare=one_counter)


async def program_with_a_mistake(account: Any) -> None:
    raise NameError("name 'suppress' is not defined")


def invariant_with_a_mistake(state: Any) -> None:
    raise KeyError(state)


@pytest.mark.parametrize(
    ("program", "invariant"), [(program_with_a_mistake, both_are_counted), (naive_count, invariant_with_a_mistake)]
)
def test_a_mistake_is_no_counterexample(helpers: ModuleType, program: Any, invariant: Any) -> None:
    with pytest.raises((Counterexample, KeyError), match=r"NameError|State"):
        helpers.show_counterexample([program], invariant, prepare=one_counter)


def test_every_schedule_is_checked_at_the_end_and_after_each_request(
    helpers: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    def at_most_two(state: Any) -> None:
        assert all(row["Count"] <= 2 for row in state.rows("Counters"))
        assert state.tables() == ["Counters"]
        assert state.rows("Others") == []
        assert {*state.returned.values()} <= {"counted"}
        assert state.crashed == set()

    both = {"ann": count, "bob": count}
    helpers.check_every_schedule(both, both_are_counted, always=at_most_two, prepare=one_counter)
    assert capsys.readouterr().out.startswith("every schedule within the bound: ")
    with pytest.raises(Counterexample, match="counted 1"):
        helpers.check_every_schedule(both, both_are_counted, prepare=one_counter, crashes=1)


async def test_programs_at_once_contend(helpers: ModuleType) -> None:
    alone = await helpers.run_at_once([count], prepare=one_counter)
    together = await helpers.run_at_once([count] * 4, prepare=one_counter)
    assert alone.transactions == 2
    assert together.transactions > 4 * alone.transactions


def test_costs_in_table_operations_are_shown_where_they_differ(helpers: ModuleType) -> None:
    with connect() as storage:
        with Traffic(storage) as tables:
            storage.tables.create_table("Here")
        with Traffic(storage) as queues:
            storage.queues.create_queue("queue")
        assert [*helpers.cost_table({"table": tables})] == ["transactions", "entities read"]
        both = helpers.cost_table({"table": tables, "queue": queues})
        assert [*both.index] == ["table", "queue"]
        assert [*both["in table operations"]] == [1, 11]


def test_what_is_missing_is_cleaned_up_too(helpers: ModuleType) -> None:
    with connect() as storage:
        storage.tables.create_table("Here")
        storage.queues.create_queue("here")
        for _ in range(2):
            helpers.clean_up(storage, tables=["Here", "Gone"], queues=["here", "gone"], containers=["gone"])
        assert list(storage.tables.list_tables()) == []
        with pytest.raises(ResourceNotFoundError):
            storage.queues.get_queue_client("here").get_queue_properties()


def test_a_hook_ends_the_program_before_a_request(helpers: ModuleType) -> None:
    with connect(raw_request_hook=helpers.crash_before("POST", "Here")) as storage:
        storage.tables.create_table("Other")
        with pytest.raises(SystemExit):
            storage.tables.get_table_client("Here").create_entity({"PartitionKey": "a", "RowKey": "b"})
    with connect(raw_request_hook=helpers.crash_at_random(one_in=1, seed=1)) as storage, pytest.raises(SystemExit):
        storage.tables.create_table("Other")


def test_a_bar_is_gone_when_the_work_is_done() -> None:
    cell = f"from {HELPERS} import progress\ndone = [item for item in progress([1, 2])]\nprint(done)"
    ((outputs,), _) = warm.run([cell], has_threads=False)
    assert outputs == [{"output_type": "stream", "name": "stdout", "text": "[1, 2]\n"}]
    (outputs, _), _ = warm.run(
        [f"from {HELPERS} import progress\nbar = progress([1])\nnext(bar)", "1"], has_threads=False
    )
    assert "<progress" in outputs[0]["data"]["text/html"]
