"""Draft a design from what exists: `tablepatterns design --from-table NAME --storage env`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import BadInput
from ..figures import count, counted
from ..limits import MAX_PAGE_ENTITIES
from ..recipe import as_async
from ..storage import connect
from .declared import run
from .output import console, reporting_errors
from .traffic import reading_progress

if TYPE_CHECKING:
    from ..review.draft.from_table import Draft

_REQUESTS = 50


@reporting_errors
def design(
    from_table: Annotated[
        list[str] | None,
        typer.Option(help="A table to read a sample of; several times for tables that belong together."),
    ] = None,
    from_traffic: Annotated[
        list[Path] | None, typer.Option(help="Resource logs, or a folder with logs, for queries and writes with rates.")
    ] = None,
    storage: Annotated[
        str, typer.Option(help="azurite, env, a connection string, or an account's URL with a SAS for queries.")
    ] = "env",
    requests: Annotated[int, typer.Option(min=5, help="How many queries to send to each table at most.")] = _REQUESTS,
    output: Annotated[Path | None, typer.Option(help="The design file to write; by default, print it.")] = None,
) -> None:
    """Draft a design file from existing tables and resource logs, for `tablepatterns review`.

    A sample of each table is read, from several partitions and ranges of keys: nothing is written, so a SAS that
    allows queries is enough. Logs give the queries and writes with their rates. Comments say what was read, and what
    is a guess.

    Example: tablepatterns design --from-table Employees --from-traffic logs/ --storage env --output design.toml
    """
    if not from_table and not from_traffic:
        raise BadInput(
            "--from-table", "", "nothing to draft a design from", "name a table, or logs with --from-traffic"
        )
    text = _drafted(storage, list(dict.fromkeys(from_table or ())), requests, from_traffic or [])
    if output is None:
        typer.echo(text, nl=False)
        return
    output.write_bytes(text.encode("utf-8"))
    console(stderr=True).print(f"{output} written; next: tablepatterns review {output}", markup=False, soft_wrap=True)


def _drafted(storage: str, tables: list[str], requests: int, logs: list[Path]) -> str:
    from ..review.draft.from_table import Draft, draft_of_tables
    from ..review.draft.write import design_text

    found = Draft("", (), ())
    # Wrong paths are reported before any request
    paths = _log_files(logs)
    if tables:
        most = f"at most {counted(requests, 'query')} for each, of up to {count(MAX_PAGE_ENTITIES)} entities"
        console(stderr=True).print(f"Reading {', '.join(tables)}: {most}.", markup=False, soft_wrap=True)
        account = connect(storage)
        found = run(account, draft_of_tables(as_async(account), tables, requests))
    return design_text(_with_traffic(found, paths) if paths else found)


def _log_files(logs: list[Path]) -> list[Path]:
    from ..traffic.logs.read import log_files

    return log_files(logs)


def _with_traffic(found: Draft, paths: list[Path]) -> Draft:
    from ..review.draft.from_traffic import logged_calls, with_traffic
    from ..traffic.logs.read import read_logs

    with reading_progress(paths) as advance:
        return with_traffic(found, logged_calls(read_logs(paths, on_read=advance)))
