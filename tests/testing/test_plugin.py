"""The pytest plugin, as a project that installed the package gets it."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

import pytest_tablepatterns
from support.plugin_options import STRICT

ROOT = Path(__file__).parents[2]
FIXTURES = (
    "azure_aio_storage",
    "azure_clock",
    "azure_engine",
    "azure_faults",
    "azure_name",
    "azure_patched",
    "azure_storage",
    "azure_traffic",
)


def passed(project: pytest.Pytester) -> int:
    """Return how many of the project's tests pass; none of them may fail, and nothing may warn."""
    result = project.runpytest_inprocess("-p", "pytest_tablepatterns", *STRICT)
    outcomes = result.parseoutcomes()
    assert set(outcomes) == {"passed"}, result.stdout.str()
    return outcomes["passed"]


def test_each_test_has_a_new_account_that_its_fixtures_share(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        import asyncio
        import pytest

        @pytest.mark.parametrize("again", [1, 2])
        def test_sync_and_aio(
            again, azure_storage, azure_aio_storage, azure_engine, azure_clock, azure_faults, azure_traffic
        ):
            assert azure_storage.engine is azure_aio_storage.engine is azure_engine
            assert (azure_engine.clock, azure_engine.faults) == (azure_clock, azure_faults)
            azure_storage.tables.create_table("Employees")

            async def names():
                async with azure_aio_storage.tables as service:
                    return [table.name async for table in service.list_tables()]

            assert asyncio.run(names()) == ["Employees"]
            assert azure_traffic.totals.by_operation == {"CreateTable": 1, "QueryTables": 1}
        """
    )
    assert passed(project) == 2


def test_a_test_moves_time_and_makes_requests_fail(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        from datetime import datetime, timedelta, timezone

        def test_it(azure_storage, azure_clock, azure_faults, azure_traffic):
            azure_clock.set(datetime(2014, 8, 22, tzinfo=timezone.utc))
            with azure_faults.busy(operation="CreateTable", times=3) as busy:
                table = azure_storage.tables.create_table("Employees")
            table.create_entity({"PartitionKey": "Sales", "RowKey": "000223"})
            written = table.get_entity("Sales", "000223").metadata["timestamp"]
            assert timedelta(seconds=4) < written - datetime(2014, 8, 22, tzinfo=timezone.utc) < timedelta(seconds=60)
            assert [record.status for record in azure_traffic.records] == [503] * busy.hits + [201, 201, 200]
        """
    )
    assert passed(project) == 1


def test_a_project_sets_the_clock_for_all_its_tests_by_overriding_one_fixture(project: pytest.Pytester) -> None:
    project.makeconftest(
        """
        from datetime import datetime, timezone
        import pytest
        from tablepatterns_engine import Clock

        @pytest.fixture
        def azure_clock():
            return Clock(datetime(2014, 8, 22, tzinfo=timezone.utc))
        """
    )
    project.makepyfile(
        """
        def test_it(azure_storage, azure_clock):
            assert azure_storage.now() == azure_clock.now().datetime() == azure_storage.now()
            assert azure_storage.now().year == 2014
        """
    )
    assert passed(project) == 1


def test_a_fixture_of_the_project_goes_before_one_of_the_same_name(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        import pytest

        @pytest.fixture
        def azure_storage():
            return "mine"

        def test_it(azure_storage):
            assert azure_storage == "mine"
        """
    )
    assert passed(project) == 1


def test_traffic_is_what_is_asked_from_there_on(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        import pytest

        @pytest.fixture
        def table(azure_storage):
            return azure_storage.tables.create_table("Employees")

        def test_the_preparation_does_not_count(table, azure_traffic):
            table.upsert_entity({"PartitionKey": "Sales", "RowKey": "000223"})
            assert azure_traffic.totals.billable == 1

        def test_the_preparation_counts(azure_traffic, table):
            assert azure_traffic.totals.billable == 1
        """
    )
    assert passed(project) == 2


def test_a_run_that_asks_for_no_fixture_loads_neither_the_package_nor_the_sdk(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        import sys

        def test_it():
            loaded = {name.partition(".")[0] for name in sys.modules}
            assert "pytest_tablepatterns" in loaded
            assert not loaded & {"azure", "tablepatterns"}
        """
    )
    project.runpytest_subprocess("-p", "pytest_tablepatterns", "-W", "error").assert_outcomes(passed=1)


def test_loading_the_plugin_takes_less_than_five_milliseconds() -> None:
    code = """
import sys, time, pytest
for _ in range(3):
    loaded, start = {*sys.modules}, time.perf_counter()
    import pytest_tablepatterns
    print((time.perf_counter() - start) * 1000)
    for name in {*sys.modules} - loaded:
        del sys.modules[name]
"""
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, cwd=ROOT / "patterns")
    assert min(map(float, done.stdout.split())) < 5


def test_help_lists_every_fixture(project: pytest.Pytester) -> None:
    result = project.runpytest_inprocess("-p", "pytest_tablepatterns", "--fixtures")
    listed = re.findall(r"^(\w+) -- .*pytest_tablepatterns.py:\d+\n    \S", result.stdout.str(), re.MULTILINE)
    assert sorted(listed) == sorted(FIXTURES)


def test_the_package_registers_the_plugin_and_ships_it() -> None:
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    registered = re.search(r'^\[project\.entry-points\.pytest11\]\n\w+ = "(\w+)"$', project, re.MULTILINE)
    assert registered
    assert importlib.import_module(registered[1]) is pytest_tablepatterns
    assert f'"patterns/{registered[1]}.py"' in project
