"""Draft a design from what exists: `tablepatterns design --from-table NAME --storage env`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..errors import BadInput
from ..figures import count, counted
from ..storage import Storage, connect
from .declared import run
from .output import console, reporting_errors

_REQUESTS = 50


@reporting_errors
def design(
    from_table: Annotated[
        list[str] | None,
        typer.Option(help="A table to read a sample of; several times for tables that belong together."),
    ] = None,
    storage: Annotated[
        str, typer.Option(help="azurite, env, a connection string, or an account's URL with a SAS for queries.")
    ] = "env",
    requests: Annotated[int, typer.Option(min=5, help="How many queries to send to each table at most.")] = _REQUESTS,
    output: Annotated[Path | None, typer.Option(help="The design file to write; by default, print it.")] = None,
) -> None:
    """Draft a design file from existing tables, for `tablepatterns review`.

    A sample of each table is read, from several partitions and ranges of keys: nothing is written, so a SAS that
    allows queries is enough. Comments say what was read, and what is a guess.

    Example: tablepatterns design --from-table Employees --storage env --output design.toml
    """
    if not from_table:
        raise BadInput("--from-table", "", "nothing to draft a design from", "name a table")
    text = _drafted(connect(storage), list(dict.fromkeys(from_table)), requests)
    if output is None:
        typer.echo(text, nl=False)
        return
    output.write_bytes(text.encode("utf-8"))
    console(stderr=True).print(f"{output} written; next: tablepatterns review {output}", markup=False, soft_wrap=True)


def _drafted(account: Storage, tables: list[str], requests: int) -> str:
    from ..limits import MAX_PAGE_ENTITIES
    from ..recipe import as_async
    from ..review.draft.from_table import draft_of_tables
    from ..review.draft.write import design_text

    most = f"at most {counted(requests, 'query')} for each, of up to {count(MAX_PAGE_ENTITIES)} entities"
    console(stderr=True).print(f"Reading {', '.join(tables)}: {most}.", markup=False, soft_wrap=True)
    return design_text(run(account, draft_of_tables(as_async(account), tables, requests)))
