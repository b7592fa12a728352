"""`tablepatterns explain`: the plan of a filter on the command line."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner, Result

from tablepatterns.cli.main import main


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments)


def test_the_command_prints_the_class_the_reason_and_better_queries() -> None:
    said = run("explain", "PartitionKey eq 'Sales' and (RowKey eq '121' or RowKey eq '322')")
    assert said.exit_code == 0, said.output
    assert "partition scan" in said.output
    assert "  PartitionKey eq 'Sales' and RowKey eq '322'" in said.output
    assert max(map(len, said.output.splitlines())) <= 100


def test_a_wrong_filter_is_shown_with_a_mark_where_it_goes_wrong_and_status_2() -> None:
    said = run("explain", "aaa bbb ccc")
    assert said.exit_code == 2
    assert said.stdout == ""
    error, text, mark, more = said.stderr.splitlines()
    assert "Syntax error at position 7 in 'aaa bbb ccc'" in error
    assert (text, mark) == ("  aaa bbb ccc", "        ^")
    assert more == "(more: tablepatterns help FilterSyntaxError)"


@pytest.mark.parametrize("text", ["substringof('a', LastName)", "LastName eq null", "A add 1 eq 2"])
def test_a_filter_that_the_service_rejects_ends_with_status_2(text: str) -> None:
    said = run("explain", text)
    assert said.exit_code == 2
    assert said.stderr.startswith("Error: $filter")
