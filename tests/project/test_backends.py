"""The test machinery: test bodies run on all their backends, and guide rows are counted correctly."""

from __future__ import annotations

from pathlib import Path

import pytest
from azure.core.credentials import AzureNamedKeyCredential
from azure.core.exceptions import HttpResponseError, ResourceNotFoundError

pytestmark = pytest.mark.both_sdks

CONFTEST = (Path(__file__).parents[1] / "conftest.py").read_text(encoding="utf-8")
MEMORY = ("-m", "memory", "--nightly")
SWEEPS = ["test_sweep[memory]", "test_sweep[memory-aio]"]


@pytest.fixture
def suite(pytester: pytest.Pytester) -> pytest.Pytester:
    """A suite of its own, with the fixtures and the plugins of this one."""
    pytester.makeconftest(CONFTEST)
    return pytester


def test_a_body_runs_once_on_the_sync_sdk_and_once_on_the_async_one(suite: pytest.Pytester) -> None:
    suite.makepyfile("async def test_body(backend): assert backend.aio")
    suite.runpytest(*MEMORY).assert_outcomes(passed=1, failed=1, deselected=2)


def test_a_property_runs_on_every_backend_and_reports_a_failure(suite: pytest.Pytester) -> None:
    suite.makepyfile(
        """
        from hypothesis import given, strategies as st

        @given(number=st.integers())
        async def test_property(backend, number):
            assert backend.aio or number < 10
        """
    )
    done = suite.runpytest(*MEMORY)
    done.assert_outcomes(passed=1, failed=1, deselected=2)
    done.stdout.fnmatch_lines(["*number=10,*"])


def test_a_body_that_waits_for_more_than_its_account_fails_on_the_sync_sdk(suite: pytest.Pytester) -> None:
    suite.makepyfile(
        """
        import asyncio

        async def test_body(backend):
            await asyncio.sleep(0)
        """
    )
    suite.runpytest(*MEMORY).assert_outcomes(passed=1, failed=1, deselected=2)


def test_a_body_runs_on_azurite_unless_azurite_deviates_or_the_body_needs_the_engine(suite: pytest.Pytester) -> None:
    suite.makepyfile(
        """
        import pytest

        async def test_anywhere(backend): ...

        async def test_with_engine(storage, engine): ...

        @pytest.mark.azurite_deviates("odd", "answers 500")
        async def test_with_deviation(backend): ...
        """
    )
    assert collected(suite, "--nightly") == [
        "test_anywhere[memory]",
        "test_anywhere[memory-aio]",
        "test_anywhere[azurite]",
        "test_anywhere[azurite-aio]",
        "test_with_engine[memory]",
        "test_with_engine[memory-aio]",
        "test_with_deviation[memory]",
        "test_with_deviation[memory-aio]",
    ]


def collected(suite: pytest.Pytester, *options: str) -> list[str]:
    """Return the names of the tests that such a run has."""
    lines = suite.runpytest("--collect-only", "-q", *options).outlines
    return [line.partition("::")[2] for line in lines if "::" in line]


def test_the_bodies_on_azurite_are_shared_between_the_two_sdks_and_each_runs(suite: pytest.Pytester) -> None:
    suite.makepyfile("\n".join(f"async def test_{number}(backend): ..." for number in range(40)))
    names = collected(suite)
    found = [name for name in names if "[azurite" in name]
    assert len(found) == 40
    assert len({name.replace("-aio", "") for name in found}) == 40
    assert 10 < len([name for name in found if "-aio" in name]) < 30
    assert sum("[memory-aio]" in name for name in names) == sum("-aio" not in name for name in found)


def test_a_recipe_runs_on_azurite_in_one_case_and_each_night_in_all(suite: pytest.Pytester) -> None:
    folder = suite.mkdir("tests").joinpath("recipes")
    folder.mkdir()
    folder.joinpath("test_recipe.py").write_text(
        "import pytest\n\n"
        "@pytest.mark.parametrize('name', ['a', 'b'])\n"
        "@pytest.mark.parametrize('number', range(3))\n"
        "async def test_recipe(backend, number, name): ...\n"
    )
    in_memory, on_azurite = 3 * 2, 1
    names = collected(suite)
    assert len(names) == in_memory + on_azurite
    assert len([name for name in names if "azurite" in name]) == on_azurite
    assert len(collected(suite, "--nightly")) == 2 * 2 * in_memory


def test_what_is_nightly_runs_when_it_is_asked_for(suite: pytest.Pytester) -> None:
    suite.makepyfile(
        """
        import pytest

        @pytest.mark.parametrize("bound", [1, pytest.param(3, marks=pytest.mark.nightly)])
        def test_bound(bound): ...

        @pytest.mark.both_sdks
        @pytest.mark.nightly_on_azurite
        async def test_at_length(backend): ...

        async def test_sweep(backend, engine): ...
        """
    )
    every_run, nightly = collected(suite), collected(suite, "--nightly")
    at_length = ["test_at_length[memory]", "test_at_length[memory-aio]"]
    sweep = [name for name in every_run if name.startswith("test_sweep")]
    assert len(sweep) == 1
    assert every_run == ["test_bound[1]", *at_length, *sweep]
    on_azurite = ["test_at_length[azurite]", "test_at_length[azurite-aio]"]
    assert nightly == ["test_bound[1]", "test_bound[3]", *at_length, *on_azurite, *SWEEPS]


def test_a_row_counts_when_every_run_of_the_tests_that_prove_it_passed(suite: pytest.Pytester) -> None:
    suite.makepyfile(
        """
        import pytest

        @pytest.mark.guide("G-001", "G-002")
        async def test_on_both(backend): ...

        @pytest.mark.guide("G-002", "G-003")
        async def test_on_one_only(backend): assert backend.aio

        @pytest.mark.guide("G-004")
        def test_that_is_skipped(): pytest.skip()
        """
    )
    done = suite.runpytest(*MEMORY, "--checklist", "-m", "not azurite")
    done.stdout.fnmatch_lines(
        ["  G-002 *", "  G-003 *", "  G-004 *", "1 of 363 rows of the guide's checklist are proven"]
    )
    done.stdout.no_fnmatch_line("  G-001 *")


def test_a_row_that_the_guide_lacks_is_an_error(suite: pytest.Pytester) -> None:
    suite.makepyfile('import pytest\n\n@pytest.mark.guide("G-999")\ndef test_nothing(): ...')
    done = suite.runpytest()
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    done.stderr.fnmatch_lines(["*G-999*"])


async def test_clients_pages_and_results_of_the_sdk_are_awaited_on_every_backend(service, new_name) -> None:
    name = new_name()
    table = await service.create_table(name)
    async with service.get_table_client(name) as same_table:
        for number in range(5):
            await same_table.create_entity({"PartitionKey": "p", "RowKey": str(number)})
    assert table.table_name == name
    assert (await table.get_entity("p", "3"))["RowKey"] == "3"
    assert [found["RowKey"] async for found in table.query_entities("RowKey gt '2'")] == ["3", "4"]
    pages = table.list_entities(results_per_page=3).by_page()
    assert [[found["RowKey"] async for found in page] async for page in pages] == [["0", "1", "2"], ["3", "4"]]
    with pytest.raises(ResourceNotFoundError):
        await table.get_entity("p", "5")


async def test_another_credential_reaches_the_same_account_in_the_same_style(backend, table) -> None:
    await table.create_entity({"PartitionKey": "p", "RowKey": "r"})
    right = backend.service(backend.connect().target.credential).get_table_client(table.table_name)
    assert (await right.get_entity("p", "r"))["RowKey"] == "r"
    wrong = backend.service(AzureNamedKeyCredential(right.account_name, "d3Jvbmc=")).get_table_client(table.table_name)
    with pytest.raises(HttpResponseError) as refused:
        await wrong.get_entity("p", "r")
    assert refused.value.status_code == 403


def test_a_worker_reports_a_test_once_and_failures_of_every_phase(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(
        """
        from support.brief_reports import BriefReports

        def pytest_configure(config):
            config.pluginmanager.register(BriefReports())

        def pytest_runtest_logreport(report):
            print("\\n" + report.nodeid.partition("::")[2], report.when, report.outcome)
        """
    )
    pytester.makepyfile(
        """
        import pytest

        @pytest.fixture
        def before():
            raise ValueError

        @pytest.fixture
        def after():
            yield
            raise ValueError

        def test_passes(): pass
        def test_fails(): raise ValueError
        def test_fails_before(before): pass
        def test_fails_after(after): pass
        def test_is_skipped(): pytest.skip("for now")
        @pytest.mark.xfail
        def test_fails_as_expected(): raise ValueError
        """
    )
    done = pytester.runpytest("-s")
    done.assert_outcomes(passed=2, failed=1, errors=2, skipped=1, xfailed=1)
    assert [line for line in done.outlines if line.startswith("test_passes ")] == ["test_passes call passed"]
