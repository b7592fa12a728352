"""Offer reviews, query plans, patterns, costs and errors to assistants, over the Model Context Protocol (MCP).

What an assistant sends may come from anywhere: it is limited in size, and never run. A path must lead to a TOML file
below the folder in which the server was started; no other file is read, none is written, and no request is sent.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Final

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field

from tablepatterns.catalog import entry
from tablepatterns.cli.help import names, section
from tablepatterns.cli.patterns import describe, listing
from tablepatterns.cost import Cost
from tablepatterns.errors import BadInput, TablePatternsError, message_of
from tablepatterns.figures import SECONDS_OF_A_MONTH, money

from .capacity.price import PriceTable
from .design_file.reader import read_design
from .plans.explain import explain
from .report import markdown
from .reviewer import review

MAX_DESIGN: Final = 200_000
"""The largest design in characters, or bytes of its file."""
MAX_ACCESS_PATTERNS: Final = 100
"""The most access patterns of a design, which are reviewed in about ten seconds."""
_MAX_FILTER: Final = 32_000
_INSTRUCTIONS: Final = (
    "Design for Azure Table storage: review a design before code is written, explain a $filter before it is sent, and "
    "look up patterns, costs and the errors of tablepatterns. Figures come from an in-memory engine; nothing is sent."
)
Transactions = Annotated[float, Field(ge=0, le=1e6)]


def server() -> MCPServer:
    """Return the server with its tools; `run()` serves them on standard input and output."""
    made = MCPServer("tablepatterns", instructions=_INSTRUCTIONS)
    for tool in (review_design, explain_filter, describe_pattern, cost, describe_error):
        made.tool()(tool)
    return made


def review_design(
    design: Annotated[str, Field(max_length=MAX_DESIGN, description="A design as TOML")] = "",
    path: Annotated[str, Field(max_length=1_000, description="A TOML file below the server's folder")] = "",
) -> str:
    """Review a design of tables: findings with tested changes, measured access patterns, limits and cost, as Markdown.

    Give either the design or the path of its file.
    """
    with _expected_errors():
        if bool(design) == bool(path):
            raise BadInput("design", design or path, "there must be a design or a path", "give one of the two")
        # Without a line break, a text would be a path
        declared = read_design(_file(path) if path else f"{design}\n")
        count = sum(1 for _ in declared.accesses())
        if count > MAX_ACCESS_PATTERNS:
            rule = f"this server reviews up to {MAX_ACCESS_PATTERNS} access patterns at once"
            raise BadInput("design", f"{count} access patterns", rule, "use `tablepatterns review`, or review a part")
        return markdown(review(declared))


def _file(path: str) -> Path:
    folder, file = Path.cwd().resolve(), Path(path).resolve()
    if file.suffix != ".toml" or not file.is_relative_to(folder):
        raise BadInput("path", path, "only TOML files below the server's folder are read", "give such a file")
    if not file.is_file() or file.stat().st_size > MAX_DESIGN:
        raise BadInput("path", path, f"it must be a file of up to {MAX_DESIGN:,} bytes", "give such a file")
    return file


def explain_filter(text: Annotated[str, Field(max_length=_MAX_FILTER, description="The value of $filter")]) -> str:
    """Explain what the service reads for a $filter, what it costs, the rule behind that, and better queries."""
    with _expected_errors():
        return str(explain(text))


def describe_pattern(name: Annotated[str, Field(max_length=100)] = "") -> str:
    """Describe a pattern: problem, keys, guarantee, limits, cost, and when to use it. Without a name, list all."""
    with _expected_errors():
        return "\n".join(describe(entry(name)) if name else listing())


def cost(
    table: Transactions = 0,
    queue: Transactions = 0,
    blob_read: Transactions = 0,
    blob_write: Transactions = 0,
    calls_a_second: Annotated[float, Field(ge=0, le=1e9)] = 1,
) -> str:
    """Return what a call with so many storage transactions costs a month, at the prices of the package."""
    prices = PriceTable.default()
    call = Cost(table, queue, blob_read, blob_write)
    amount = call.price(prices.operations) * calls_a_second * SECONDS_OF_A_MONTH
    return f"{call}: {money(amount, prices.currency)} a month ({prices.region}, {prices.redundancy}, {prices.dated})"


def describe_error(name: Annotated[str, Field(max_length=100)] = "") -> str:
    """Explain an error of tablepatterns: its meaning, causes and fix. Without a name, list all."""
    with _expected_errors():
        return section(name) if name else "\n".join(f"{each}: {text}" for each, text in names().items())


@contextmanager
def _expected_errors() -> Generator[None, None, None]:
    """Return the errors of the input to the assistant; others are logged, and hidden from it."""
    try:
        yield
    except TablePatternsError as error:
        raise ToolError(message_of(error)) from error
