"""Workers: a job has the same result with any number of them, wherever they run, and whichever of them die."""

from __future__ import annotations

import asyncio
import json
import pickle
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from typer.testing import CliRunner

import tablepatterns
from support import worker_sets
from support.maintained_set import BY_ID, KINDS, person
from support.worker_sets import (
    async_staff,
    fragile_staff,
    killing,
    old_staff,
    paid_staff,
    rekeyed,
    served,
    staff,
    staff_in_memory,
    typed_staff,
)
from tablepatterns import BulkDelete, EntitySet, KeyRotation, QueryClass, Rekey, prop
from tablepatterns.cli.main import main
from tablepatterns.errors import BadInput, BadToken, RangesFailed
from tablepatterns.jobs import Migration, Report, Workers, backfill, count, migrate, repair, verify
from tablepatterns.jobs.migration import check_rows
from tablepatterns.jobs.workers import Task
from tablepatterns.recipes.bulk_delete import Deleted
from tablepatterns.recipes.bulk_load.bulk_load import BulkLoad
from tablepatterns.recipes.rekey.mirror import RekeyReport
from tablepatterns_engine.account import Engine

NEAR = KINDS["near"]


@pytest.fixture(scope="module")
def damaged() -> Any:
    """Return an account with people, and the report of a verification by one worker: some rows are missing."""
    storage = tablepatterns.connect()
    entities = EntitySet(storage, "Staff", BY_ID, derived=[NEAR])
    plain = EntitySet(storage, "Staff", BY_ID)
    people = [person(number, Department=f"D{number % 40}") for number in range(1_600)]
    BulkLoad(entities).load(people)
    for stale in people[::100]:
        stored = plain.get(Department=stale["Department"], EmployeeId=stale["EmployeeId"])
        plain.merge(stored, {"Email": f"changed{stored['EmployeeId']}@contoso.com"})
    return storage, verify(entities, NEAR)


@pytest.fixture
def account(damaged: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    """Serve the account, for this process and its workers."""
    with served(monkeypatch, damaged[0].engine) as engine:
        yield engine


def counts(report: Report) -> Any:
    return report.entities, report.rows, sorted(map(str, report.drifts))


@pytest.mark.parametrize("seconds", [0.0, 30.0])
@pytest.mark.parametrize("count", [1, 3])
def test_the_report_is_that_of_a_run_without_workers(damaged: Any, count: int, seconds: float) -> None:
    storage, expected = damaged
    entities = EntitySet(storage, "Staff", BY_ID, derived=[NEAR])
    assert counts(verify(entities, NEAR, workers=Workers(count, seconds=seconds))) == counts(expected)


def test_threads_share_a_table(account: Engine, damaged: Any) -> None:
    with tablepatterns.connect("env") as storage:
        entities = EntitySet(storage, "Staff", BY_ID, derived=[NEAR])
        report = verify(entities, NEAR, workers=Workers(3, seconds=0.0))
    assert counts(report) == counts(damaged[1])
    # In the order of the keys, whichever range was done first
    assert list(report.drifts) == sorted(report.drifts, key=lambda drift: damaged[1].drifts.index(drift))


def test_tasks_share_a_table(account: Engine, damaged: Any) -> None:
    async def main() -> Report:
        entities = async_staff()
        try:
            return await verify(entities, NEAR, workers=Workers(3, seconds=0.0))
        finally:
            await entities.account.close()  # type: ignore[attr-defined]

    assert counts(asyncio.run(main())) == counts(damaged[1])


@pytest.mark.parametrize("source", [staff, pytest.param(async_staff, marks=pytest.mark.nightly)])
def test_processes_share_a_table(account: Engine, damaged: Any, source: Any) -> None:
    report = verify(staff(), NEAR, workers=Workers(2, source=source, seconds=0.1))
    assert counts(report) == counts(damaged[1])


def test_the_executor_may_be_any(account: Engine, damaged: Any) -> None:
    workers = Workers(2, source=staff, executor=lambda: ThreadPoolExecutor(1), seconds=0.0)
    assert counts(verify(staff(), NEAR, workers=workers)) == counts(damaged[1])


@pytest.mark.nightly
def test_an_async_account_waits_for_processes_without_blocking(account: Engine, damaged: Any) -> None:
    async def main() -> Report:
        entities = async_staff()
        try:
            return await verify(entities, NEAR, workers=Workers(2, source=staff, seconds=0.1))
        finally:
            await entities.account.close()  # type: ignore[attr-defined]

    assert counts(asyncio.run(main())) == counts(damaged[1])


def test_a_job_survives_the_death_of_its_workers(account: Engine, damaged: Any) -> None:
    with killing(seed=1, every=0.2, most=2) as killed:
        report = verify(staff(), NEAR, workers=Workers(2, source=staff, seconds=0.05))
    assert killed
    assert counts(report) == counts(damaged[1])


@pytest.mark.nightly
def test_repair_by_processes_that_die_corrects_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    with served(monkeypatch):
        entities = staff()
        BulkLoad(EntitySet(entities.account, "Staff", BY_ID)).load(
            person(number, Department=f"D{number % 40}") for number in range(1_600)
        )
        with killing(seed=2, every=0.2, most=6) as killed:
            backfill(entities, NEAR, workers=Workers(2, source=staff, seconds=0.05))
        assert killed
        assert verify(entities, NEAR).is_clean
        assert repair(entities, NEAR, workers=Workers(2, source=staff)) == 0


@pytest.mark.parametrize("dies", [False, pytest.param(True, marks=pytest.mark.nightly)])
def test_a_range_that_always_fails_is_reported_and_the_others_are_done(
    account: Engine, monkeypatch: pytest.MonkeyPatch, dies: bool
) -> None:
    monkeypatch.setattr("tablepatterns.jobs.workers._LONGEST_PAUSE", 0.01)
    monkeypatch.setenv(worker_sets.UNREADABLE, "empid_D17")
    monkeypatch.setenv(worker_sets.FAILURE, "dies" if dies else "raises")
    reports: list[Report] = []
    executor = None if dies else lambda: ThreadPoolExecutor(1)
    of_three = Workers(3, source=fragile_staff, executor=executor)
    with pytest.raises(RangesFailed, match="a worker process died" if dies else "MemoryError") as failed:
        verify(staff(), NEAR, workers=of_three, progress=reports.append)
    assert len(failed.value.errors) == 1
    # The token resumes the range that failed, with workers or without
    rest = verify(staff(), NEAR, resume=failed.value.token)
    assert 40 <= rest.entities < 400
    assert reports[-1].entities + rest.entities == 1_600


def test_an_interrupted_job_resumes_from_what_is_left(account: Engine, damaged: Any) -> None:
    class Interrupted(Exception):
        pass

    reports: list[Report] = []

    def progress(report: Report) -> None:
        reports.append(report)
        if len(reports) == 3:
            raise Interrupted

    with tablepatterns.connect("env") as storage:
        entities = EntitySet(storage, "Staff", BY_ID, derived=[NEAR])
        with pytest.raises(Interrupted):
            verify(entities, NEAR, workers=Workers(3, seconds=0.0), progress=progress)
        rest = verify(entities, NEAR, workers=2, resume=reports[-1].token)
    assert counts(reports[-1] + rest) == counts(damaged[1])
    assert rest.entities < damaged[1].entities


def test_a_token_of_other_work_or_of_work_without_workers_is_rejected(damaged: Any) -> None:
    entities = EntitySet(damaged[0], "Staff", BY_ID, derived=[NEAR])
    tokens: list[str | None] = []
    verify(entities, NEAR, progress=lambda report: tokens.append(report.token), max_per_second=100)
    with pytest.raises(BadToken, match="work without workers"):
        verify(entities, NEAR, resume=tokens[0], workers=2)
    with pytest.raises(BadToken):
        backfill(entities, NEAR, resume=tokens[0], workers=2)


def test_the_rate_is_that_of_all_workers_together(account: Engine) -> None:
    of_two = Workers(2, source=staff, executor=lambda: ThreadPoolExecutor(1))
    started_at = time.monotonic()
    report = verify(staff(), NEAR, workers=of_two, max_per_second=1_000)
    assert report.entities == 1_600
    # Each of the two starts at once
    assert time.monotonic() - started_at >= 1_600 / 1_000 - 0.1


@pytest.mark.parametrize("count", [0, -1])
def test_there_is_at_least_one_worker(count: int) -> None:
    with pytest.raises(BadInput, match="workers"):
        verify(staff_in_memory(), NEAR, workers=count)


def test_the_source_is_a_function_of_a_module() -> None:
    with pytest.raises(BadInput, match="a function of a module"):
        Workers(2, source=lambda: staff())


def test_an_account_in_memory_is_not_read_by_other_processes() -> None:
    with pytest.raises(RangesFailed, match="no other process can read"):
        verify(staff_in_memory(), NEAR, workers=Workers(2, source=staff_in_memory))


def test_a_task_has_no_key(account: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[bytes] = []

    class Recording(ThreadPoolExecutor):
        def submit(self, task: Task, /) -> Any:  # type: ignore[override]
            sent.append(pickle.dumps(task))
            return super().submit(task)

    verify(staff(), NEAR, workers=Workers(2, source=staff, executor=lambda: Recording(1)))
    assert sent
    assert all(account.account_key.encode() not in task for task in sent)
    assert max(map(len, sent)) < 1_000


def test_a_command_shares_its_work_among_processes(account: Engine, damaged: Any) -> None:
    options = ["support.worker_sets:staff", "--workers", "2", "--json"]
    result = CliRunner().invoke(main, ["verify", *options])
    (report,) = json.loads(result.stdout).values()
    assert report["entities"] == damaged[1].entities
    assert [tuple(row["row"]) for row in report["differences"]] == [drift.row for drift in damaged[1].drifts]
    assert result.exit_code == 1


def test_a_command_sends_no_key_to_workers() -> None:
    connection_string = "DefaultEndpointsProtocol=https;AccountName=contoso;AccountKey=c2VjcmV0"
    arguments = ["verify", "support.worker_sets:staff_on", "--storage", connection_string, "--workers", "2"]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 2
    assert "set AZURE_STORAGE_CONNECTION_STRING for all workers" in result.stderr.replace("\n", " ")
    assert "c2VjcmV0" not in result.output


def test_all_jobs_share_their_work(monkeypatch: pytest.MonkeyPatch) -> None:
    executor = lambda: ThreadPoolExecutor(1)  # noqa: E731 - a value
    with served(monkeypatch):
        BulkLoad(old_staff()).load(person(number, Department=f"D{number % 40}") for number in range(60))
        share = Workers(3, source=typed_staff, executor=executor, seconds=0.0)
        assert check_rows(typed_staff(), workers=share).earlier == 60
        assert migrate(typed_staff(), workers=share) == Migration(60, 60)
        assert migrate(typed_staff(), workers=share) == Migration(60, 0)
        rotation = KeyRotation(paid_staff())
        assert rotation.rotate(workers=Workers(3, source=paid_staff, executor=executor)).rewritten == 60
        assert rotation.in_use() == {"new": 60}
        deletion = BulkDelete(paid_staff())
        old = prop("EmployeeId") >= 30
        share = Workers(3, source=paid_staff, executor=executor, seconds=0.0)
        assert deletion.delete(old, allow=QueryClass.TABLE_SCAN, workers=share) == Deleted(30, 30)
        assert count(paid_staff(), workers=share).entities == 30
        move = rekeyed()
        assert move.copy(workers=Workers(3, source=rekeyed, executor=executor, seconds=0.0)).copies == 30
        share = Workers(3, source=rekeyed, executor=executor, seconds=0.0)
        assert move.verify(workers=share) == RekeyReport(30, 30)
        assert move.status().is_verified
        copy = move.new_set.get(Email="4@contoso.com", EmployeeId=4)
        move.new_set.delete(copy)
        assert move.repair(workers=share) == 1
        assert move.verify(workers=3).is_clean


def cut_over() -> Rekey[Any, Any]:
    """Return a move that another process has verified and cut over in the meantime."""
    if not (move := rekeyed()).status().phase.has_new_primary:
        move.verify()
        move.cut_over()
    return move


def test_a_worker_after_the_cut_over_does_not_take_one_table_for_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    with served(monkeypatch):
        BulkLoad(staff()).load(person(number) for number in range(3))
        move = rekeyed()
        move.copy()
        assert move.verify().is_clean
        late = Workers(1, source=cut_over, executor=lambda: ThreadPoolExecutor(1))
        with pytest.raises(RangesFailed, match=r"from the new set.*and the job is .*from the old set"):
            move.repair(workers=late)
