"""`pytest --azure-storage`: a project's own tests on Azurite and on the served engine, apart from each other."""

from __future__ import annotations

import pytest

from support.plugin_options import STRICT
from tablepatterns import connect

BODIES = """
import asyncio
import pytest
from tablepatterns import EntitySet, Key

@pytest.mark.parametrize("again", [1, 2])
def test_both_clients_reach_one_account(again, azure_storage, azure_aio_storage):
    assert not list(azure_storage.tables.list_tables())
    employees = EntitySet(azure_storage, "Employees", Key("{Department}", "{Number:06d}"))
    employees.insert({"Department": "Sales", "Number": again})
    azure_storage.queues.create_queue("work").send_message("one")
    azure_storage.blobs.create_container("photos").upload_blob("a", b"1" * 100_000)

    async def read():
        table = azure_aio_storage.tables.get_table_client("Employees")
        blob = await azure_aio_storage.blobs.get_blob_client("photos", "a").download_blob()
        message = await azure_aio_storage.queues.get_queue_client("work").receive_message()
        assert (len(await blob.readall()), message.content) == (100_000, "one")
        await azure_aio_storage.tables.create_table("Others")
        return [entity["RowKey"] async for entity in table.list_entities()]

    assert asyncio.run(read()) == [f"{again:06d}"]

def test_traffic(azure_storage, azure_traffic, azure_name):
    table = azure_storage.tables.create_table(azure_name("Staff"))
    assert table.table_name.startswith("Staff")
    list(table.list_entities())
    azure_traffic.assert_transactions(at_most=2)
    with pytest.raises(AssertionError):
        azure_traffic.assert_transactions(at_most=1)
    with pytest.raises(AssertionError):
        azure_traffic.assert_no_scans()
"""
NEEDS_ENGINE = """
import pytest

@pytest.fixture
def azure_clock():
    return "a clock of the project's own"

@pytest.fixture
def stopped(azure_clock): ...

def test_clock(azure_clock): ...
def test_indirect(stopped): ...
def test_faults(azure_storage, azure_faults): ...
def test_engine(azure_engine): ...
def test_patched(azure_patched): ...
def test_any(azure_storage): azure_storage.tables.create_table("Employees")
"""


def run(project: pytest.Pytester, account: str, *options: str) -> pytest.RunResult:
    return project.runpytest_inprocess("-p", "pytest_tablepatterns", *STRICT, f"--azure-storage={account}", *options)


def names(account: str) -> list[str]:
    with connect(account) as storage:
        return [
            *(table.name for table in storage.tables.list_tables()),
            *(queue.name for queue in storage.queues.list_queues()),
            *(container.name for container in storage.blobs.list_containers()),
        ]


def test_each_test_starts_with_an_empty_account_and_leaves_nothing(project: pytest.Pytester, azurite: str) -> None:
    project.makepyfile(BODIES.replace("assert not list(azure_storage.tables.list_tables())", ""))
    before = names(azurite)
    run(project, azurite).assert_outcomes(passed=3)
    assert names(azurite) == before


@pytest.mark.parametrize("account", ["memory", "serve"])
def test_the_same_tests_run_on_the_engine(project: pytest.Pytester, account: str) -> None:
    project.makepyfile(BODIES)
    run(project, account).assert_outcomes(passed=3)


def test_over_http_a_test_moves_time_and_makes_requests_fail(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        def test_it(azure_storage, azure_clock, azure_faults, azure_traffic):
            assert azure_storage.engine is None
            queue = azure_storage.queues.create_queue("work")
            queue.send_message("one", visibility_timeout=3600)
            assert queue.receive_message() is None
            azure_clock.advance(3600)
            assert queue.receive_message().content == "one"
            # Clients of tables repeat a request after a second, and those of queues after 15
            with azure_faults.busy(operation="CreateTable", times=1) as busy:
                azure_storage.tables.create_table("Work")
            assert busy.hits == 1
            assert [record.status for record in azure_traffic.records] == [201, 201, 200, 200, 503, 201]
        """
    )
    run(project, "serve").assert_outcomes(passed=1)


def test_what_only_the_engine_can_do_fails_and_can_be_left_out(project: pytest.Pytester, azurite: str) -> None:
    project.makepyfile(NEEDS_ENGINE)
    done = run(project, azurite)
    done.assert_outcomes(passed=1, errors=5)
    done.stdout.fnmatch_lines(["azure_faults needs the in-memory engine *-m 'not needs_azure_engine'"])
    run(project, azurite, "-m", "not needs_azure_engine").assert_outcomes(passed=1, deselected=5)


def test_code_with_its_own_clients_is_patched_in_memory_only(project: pytest.Pytester) -> None:
    project.makepyfile("def test_patched(azure_patched): ...\ndef test_engine(azure_engine): ...")
    run(project, "serve").assert_outcomes(passed=1, errors=1)
    run(project, "serve", "-m", "not needs_azure_engine").assert_outcomes(passed=1, deselected=1)


def test_tables_that_were_there_fail_the_test_and_stay(project: pytest.Pytester, azurite: str) -> None:
    project.makepyfile(
        """
        import pytest
        from azure.core.exceptions import ResourceExistsError

        def test_reads(azure_storage):
            assert list(azure_storage.tables.get_table_client("Leftover").list_entities())

        def test_creates(azure_storage):
            azure_storage.tables.create_table_if_not_exists("Leftover")

        def test_deletes_its_own(azure_storage):
            azure_storage.tables.create_table("Own")
            azure_storage.tables.delete_table("Own")
            azure_storage.queues.create_queue("own")
            azure_storage.queues.delete_queue("own")
        """
    )
    with connect(azurite) as storage:
        table = storage.tables.create_table("Leftover")
        table.create_entity({"PartitionKey": "p", "RowKey": "r"})
        try:
            done = run(project, azurite)
            assert [entity["RowKey"] for entity in table.list_entities()] == ["r"]
        finally:
            table.delete_table()
    done.assert_outcomes(passed=3, errors=2)
    done.stdout.fnmatch_lines(["This test used table 'Leftover', which it did not create *azure_name."])


@pytest.mark.parametrize(
    ("account", "reason"),
    [
        ("azurit", "unrecognized target"),
        ("memory://shared", 'use "memory"'),
        ("AccountName=a;AccountKey=c2VjcmV0", "*"),
    ],
)
def test_a_wrong_account_ends_the_run_at_once(project: pytest.Pytester, account: str, reason: str) -> None:
    project.makepyfile("def test_it(): ...")
    if reason == "*":
        account = account.replace("c2VjcmV0", "no Base64!")
    done = run(project, account)
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    done.stderr.fnmatch_lines([f"ERROR: --azure-storage: *{reason}*"])
    assert "no Base64!" not in done.stderr.str()


def test_an_account_that_does_not_respond_is_one_sentence(project: pytest.Pytester) -> None:
    project.makepyfile("def test_it(azure_storage): ...")
    urls = ";".join(f"{service}Endpoint=http://127.0.0.1:9/a" for service in ("Blob", "Queue", "Table"))
    done = run(project, f"AccountName=a;AccountKey=c2VjcmV0;{urls}")
    done.assert_outcomes(errors=1)
    done.stdout.fnmatch_lines(["--azure-storage: http://127.0.0.1:9/a does not respond: *"])
    done.stdout.no_fnmatch_line("*During handling*")
