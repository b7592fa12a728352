"""The fixture `azure_traffic` of the pytest plugin: its report, and assertions that name lines."""

from __future__ import annotations

import re

import pytest

from support.plugin_options import STRICT


def test_the_assertions_pass_and_fail_with_the_line_of_the_users_own_code(project: pytest.Pytester) -> None:
    project.makepyfile(
        app="""
        def older_than(table, age):
            return list(table.query_entities(f"PartitionKey eq 'Sales' and Age gt {age}"))
        """,
        test_app="""
        from azure.core.credentials import AzureNamedKeyCredential
        from azure.data.tables import TableServiceClient
        from app import older_than
        from tablepatterns_engine.transport import EngineTransport
        from tablepatterns_engine import Span

        def test_scan(azure_storage, azure_traffic):
            older_than(azure_storage.tables.create_table("Employees"), 30)
            azure_traffic.assert_transactions(at_most=2)
            azure_traffic.assert_no_scans()

        def test_budget(azure_storage, azure_traffic):
            older_than(azure_storage.tables.create_table("Employees"), 30)
            azure_traffic.assert_transactions(at_most=1)

        def test_client_of_its_own(azure_engine, azure_traffic):
            key = AzureNamedKeyCredential(azure_engine.account_name, azure_engine.account_key)
            url = f"https://{azure_engine.account_name}.table.core.windows.net"
            with TableServiceClient(url, credential=key, transport=EngineTransport(azure_engine)) as service:
                older_than(service.create_table("Employees"), 30)
            assert azure_traffic.requests == []
            assert azure_traffic.totals.billable == 2
            azure_traffic.assert_transactions(at_most=2)
            azure_traffic.assert_no_scans()

        async def register(service):
            async with service.get_table_client("Employees") as table:
                await table.create_table()
                await table.create_entity({"PartitionKey": "Sales", "RowKey": "1"})

        def test_async(azure_aio_storage, azure_traffic):
            import asyncio
            asyncio.run(register(azure_aio_storage.tables))
            assert isinstance(azure_traffic, Span)
            assert [each.operation for each in azure_traffic.requests] == ["CreateTable", "InsertEntity"]
            assert [each.site.function for each in azure_traffic.requests] == ["register", "register"]
            azure_traffic.assert_transactions(at_most=2)
            azure_traffic.assert_no_scans()
        """,
    )
    result = project.runpytest_inprocess("-p", "pytest_tablepatterns", *STRICT, "--tb=short")
    result.assert_outcomes(passed=1, failed=3)
    text = result.stdout.str()
    assert re.search(r"AssertionError: 1 query is worse than a range query:\s+E\s+\S+app\.py:2 in older_than", text)
    assert "1 x partition scan of Employees, partition 'Sales': RowKey is not limited to a range" in text
    assert "better: add a range of RowKey, or a secondary index on the other property" in text
    assert "2 storage transactions, but at most 1 allowed:" in text
    assert "1 x partition scan without a line of code: from clients that connect() did not create" in text
