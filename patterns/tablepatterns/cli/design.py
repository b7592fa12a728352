"""Take stock of existing tables: `tablepatterns design --from-table NAME --storage env`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer
from rich import box
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from ..errors import BadInput
from ..figures import count, counted, share, size
from ..limits import MAX_PAGE_ENTITIES
from ..recipe import Account, as_async
from ..storage import connect
from .declared import run
from .output import Result, command, console, new_app, printable

if TYPE_CHECKING:
    from ..inventory import TableInventory

app = new_app()


@command(app)
def design(
    from_table: Annotated[
        list[str] | None, typer.Option(help="A table to read a sample of; several times for several.")
    ] = None,
    storage: Annotated[
        str, typer.Option(help="azurite, env, a connection string, or an account's URL with a SAS for queries.")
    ] = "env",
    requests: Annotated[int, typer.Option(min=5, help="How many queries to send to each table at most.")] = 50,
) -> Result:
    """Take stock of existing tables, to write a design of them: shapes of keys, types and sizes.

    A sample of each table is read, from several partitions and ranges of keys: nothing is written, so a SAS that
    allows queries is enough. Which rows are copies or lists of others is for you to tell.

    Example: tablepatterns design --from-table Employees --storage env
    """
    tables = list(dict.fromkeys(from_table or ()))
    if not tables:
        raise BadInput("--from-table", "", "no table is named", "give --from-table NAME")
    most = f"at most {counted(requests, 'query')} for each, of up to {count(MAX_PAGE_ENTITIES)} entities"
    console(stderr=True).print(f"Reading {', '.join(tables)}: {most}.", soft_wrap=True)
    account = connect(storage)
    inventories = run(_inventories(as_async(account), tables, requests), account)
    data = [asdict(inventory) for inventory in inventories]
    blocks = [[*(("",) if number else ()), *_lines(inventory)] for number, inventory in enumerate(inventories)]
    return Result(data, [line for block in blocks for line in block])


async def _inventories(account: Account, tables: list[str], requests: int) -> list[TableInventory]:
    from ..inventory import take_inventory

    return [await take_inventory(account, table, requests) for table in tables]


def _lines(inventory: TableInventory) -> Iterator[RenderableType]:
    rows, partitions = counted(inventory.rows, "row"), counted(inventory.partitions, "partition")
    queries = counted(inventory.queries, "query")
    yield Text(inventory.table, style="bold")
    if inventory.is_whole:
        yield f"The whole table was read with {queries}: {rows} in {partitions}."
    else:
        yield f"A sample of {rows} in {partitions} was read with {queries}, from {inventory.parts} parts of the table."
    for shape in inventory.shapes:
        yield ""
        key = f"PartitionKey {printable(shape.partition)} | RowKey {printable(shape.row)}"
        yield Text(key, style="cyan")
        sizes = f"{size(shape.mean_size)} on average, {size(shape.largest)} at most"
        yield f"{counted(shape.rows, 'row')}, {sizes}; seen in {counted(shape.partitions, 'partition')}"
        table = Table(box=box.HORIZONTALS, padding=(0, 1, 0, 0), pad_edge=False)
        for name in ("Property", "Type"):
            table.add_column(name, overflow="fold")
        for name in ("In rows", "Average size", "Largest"):
            table.add_column(name, justify="right")
        for use in shape.properties:
            figures = share(use.share), size(use.mean_size), size(use.largest)
            table.add_row(Text(printable(use.name)), " or ".join(use.types), *figures)
        if shape.properties:
            yield table
