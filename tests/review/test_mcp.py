"""The server for assistants, through the client of the `mcp` package: in memory, and once as the command starts it."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp.server import MCPServer
from typer.testing import CliRunner

from tablepatterns.cli.main import main
from tablepatterns_review.mcp_server import MAX_ACCESS_PATTERNS, MAX_DESIGN, server

DESIGN = """
name = "Staff"
[[set]]
name = "Employees"
key = { partition = "{Department}", row = "empid_{EmployeeId:06d}" }
count = 20_000
[set.fields]
Department = { size = 10, distinct = 12 }
EmployeeId = { type = "int32" }
Email = { size = 24 }
[[set.query]]
name = "employee by e-mail"
known = { Department = "=", Email = "=" }
rate = 40
"""


def call(tool: str, to: MCPServer | StdioServerParameters | None = None, **arguments: Any) -> tuple[str, bool]:
    """Call a tool; return its text, and whether it is an error."""

    async def answer() -> tuple[str, bool]:
        async with Client(to or server()) as client:
            result = await client.call_tool(tool, arguments)
        return "\n".join(part.text for part in result.content if part.type == "text"), bool(result.is_error)

    return asyncio.run(answer())


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which the server is started."""
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path / "project"


def test_each_tool_says_what_it_does_and_takes_no_more_than_it_needs() -> None:
    async def tools() -> Any:
        async with Client(server()) as client:
            return (await client.list_tools()).tools

    found = {tool.name: tool for tool in asyncio.run(tools())}
    assert list(found) == ["review_design", "explain_filter", "describe_pattern", "cost", "describe_error"]
    assert all(tool.description for tool in found.values())
    assert found["review_design"].input_schema["properties"]["design"]["maxLength"] == MAX_DESIGN


def test_a_design_is_reviewed_as_text_and_from_its_file(folder: Path) -> None:
    said, is_error = call("review_design", design=DESIGN)
    assert not is_error
    assert "### Serious: Employees: query 'employee by e-mail' (missing-index)" in said
    (folder / "staff.toml").write_text(DESIGN, encoding="utf-8")
    assert call("review_design", path="staff.toml") == (said, False)


@pytest.mark.parametrize("line", [DESIGN, f"{DESIGN}[[set.query]]", "name = ", "x"])
def test_the_errors_of_a_design_are_answered(line: str) -> None:
    said, is_error = call("review_design", design=line.replace("count = 20_000", "cuont = 20_000"))
    assert is_error
    assert "design:" in said
    assert "Traceback" not in said


def test_a_design_has_limits() -> None:
    assert call("review_design", design="#" * (MAX_DESIGN + 1))[1]
    query = '[[set.query]]\nname = "{}"\nknown = {{ Department = "=" }}\n'
    said, is_error = call("review_design", design=DESIGN + "".join(map(query.format, range(MAX_ACCESS_PATTERNS))))
    assert is_error
    assert f"up to {MAX_ACCESS_PATTERNS} access patterns" in said
    assert call("review_design")[1]
    assert call("review_design", design=DESIGN, path="staff.toml")[1]


def test_only_designs_below_the_folder_are_read(folder: Path) -> None:
    (folder.parent / "secret.toml").write_text("password = 'hunter2'", encoding="utf-8")
    (folder / "notes.txt").write_text("password = 'hunter2'", encoding="utf-8")
    (folder / "link.toml").symlink_to(folder.parent / "secret.toml")
    (folder / "large.toml").write_text("#" * (MAX_DESIGN + 1), encoding="utf-8")
    for path in (
        "../secret.toml",
        str(folder.parent / "secret.toml"),
        "notes.txt",
        "link.toml",
        "large.toml",
        "no.toml",
    ):
        said, is_error = call("review_design", path=path)
        assert is_error
        assert "hunter2" not in said


def test_a_module_that_the_command_would_load_is_not_loaded(folder: Path) -> None:
    (folder / "evil.py").write_text("raise SystemExit('loaded')", encoding="utf-8")
    for said, is_error in (call("review_design", path="evil:design"), call("review_design", design="evil:design")):
        assert is_error
        assert "loaded" not in said


def test_a_filter_a_pattern_a_cost_and_an_error_are_explained() -> None:
    assert "partition scan" in call("explain_filter", text="PartitionKey eq 'Sales' and Age gt 3")[0]
    said, is_error = call("explain_filter", text="PartitionKey eq")
    assert is_error
    assert "Syntax error at position 15" in said
    assert "log_tail" in call("describe_pattern")[0]
    assert call("describe_pattern", name="LogTail")[0].startswith("Log tail (pattern): ")
    assert call("describe_pattern", name="no such")[1]
    assert call("cost", table=3, queue=2, calls_a_second=10)[0].startswith("3 table + 2 queue transactions")
    assert call("cost", table=-1)[1]
    assert "BadKey: " in call("describe_error")[0]
    assert call("describe_error", name="bad-key")[0].startswith("## BadKey")
    assert call("describe_error", name="no such")[1]


def test_the_command_serves_on_standard_input_and_output(folder: Path) -> None:
    arguments = ["-m", "tablepatterns", "mcp"]
    command = StdioServerParameters(command=sys.executable, args=arguments, cwd=folder, env=dict(os.environ))
    said, is_error = call("explain_filter", command, text="PartitionKey eq 'Sales'")
    assert not is_error
    assert "range query" in said or "partition scan" in said


def test_without_the_extra_the_command_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "mcp"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delitem(sys.modules, "tablepatterns_review.mcp_server")
    monkeypatch.setitem(sys.modules, "mcp", None)
    result = CliRunner().invoke(main, ["mcp"])
    assert result.exit_code
    assert "the MCP server needs mcp: pip install '.[mcp]' in a clone" in " ".join(result.output.split())
