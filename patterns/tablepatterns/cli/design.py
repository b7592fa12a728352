"""Take stock of existing tables: `tablepatterns design --from-table NAME --storage env`."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer
from rich import box
from rich.table import Table
from rich.text import Text

from ..figures import count, counted, share, size
from ..limits import MAX_PAGE_ENTITIES
from ..recipe import Account, as_async
from ..storage import connect
from .declared import run
from .maintenance import AsJson
from .output import console, reporting_errors

if TYPE_CHECKING:
    from ..inventory.inventory import TableInventory

_REQUESTS = 50


@reporting_errors
def design(
    from_table: Annotated[list[str], typer.Option(help="A table to read a sample of; several times for several.")],
    storage: Annotated[
        str, typer.Option(help="azurite, env, a connection string, or an account's URL with a SAS for queries.")
    ] = "env",
    requests: Annotated[int, typer.Option(min=5, help="How many queries to send to each table at most.")] = _REQUESTS,
    as_json: AsJson = False,
) -> None:
    """Take stock of existing tables, to write a design of them: shapes of keys, types and sizes, numbers of rows.

    A sample of each table is read, from several partitions and ranges of keys: nothing is written, so a SAS that
    allows queries is enough. Which rows are copies or lists of others is for you to tell.

    Example: tablepatterns design --from-table Employees --storage env
    """
    tables = list(dict.fromkeys(from_table))
    most = f"at most {counted(requests, 'query')} for each, of up to {count(MAX_PAGE_ENTITIES)} entities"
    console(stderr=True).print(f"Reading {', '.join(tables)}: {most}.", markup=False, soft_wrap=True)
    account = connect(storage)
    inventories = run(account, _inventories(as_async(account), tables, requests))
    if as_json:
        typer.echo(json.dumps([asdict(inventory) for inventory in inventories], indent=2))
        return
    for inventory in inventories:
        _print(inventory)


async def _inventories(account: Account, tables: list[str], requests: int) -> list[TableInventory]:
    from ..inventory.inventory import take_inventory

    return [await take_inventory(account, table, requests) for table in tables]


def _print(inventory: TableInventory) -> None:
    from ..review.report.formatting import plain

    out = console()
    rows, partitions = counted(inventory.rows, "row"), counted(inventory.partitions, "partition")
    queries = counted(inventory.queries, "query")
    out.print(Text(inventory.table, style="bold"))
    if inventory.is_whole:
        out.print(f"The whole table was read with {queries}: {rows} in {partitions}.", markup=False)
    else:
        out.print(
            f"A sample of {rows} in {partitions} was read with {queries}, from {inventory.parts} parts of the table. "
            f"It has about {counted(inventory.estimated_rows, 'row')}.",
            markup=False,
        )
    for shape in inventory.shapes:
        out.print()
        key = f"PartitionKey {plain(shape.partition)} | RowKey {plain(shape.row)}"
        out.print(Text(key, style="cyan"), soft_wrap=True)
        about = counted(shape.rows, "row") if inventory.is_whole else f"about {counted(shape.estimated_rows, 'row')}"
        sizes = f"{size(shape.mean_size)} on average, {size(shape.largest)} at most"
        out.print(f"{about}, {sizes}; seen in {counted(shape.partitions, 'partition')}", markup=False)
        table = Table(box=box.HORIZONTALS, padding=(0, 1, 0, 0), pad_edge=False)
        for name in ("Property", "Type"):
            table.add_column(name, overflow="fold")
        for name in ("In rows", "Average size", "Largest"):
            table.add_column(name, justify="right")
        for use in shape.properties:
            figures = share(use.share), size(use.mean_size), size(use.largest)
            table.add_row(Text(plain(use.name)), " or ".join(use.types), *figures)
        if shape.properties:
            out.print(table)
    out.print()
