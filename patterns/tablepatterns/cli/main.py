"""The `tablepatterns` command and its subcommands."""

from __future__ import annotations

import logging
import os
from importlib.metadata import version as distribution_version
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from azure.core.exceptions import AzureError
from rich.console import Console
from rich.text import Text

from tablepatterns_engine.account import DEVELOPMENT_NAME
from tablepatterns_engine.server.listeners import KEY_VARIABLE, LOOPBACK, PORTS, Listeners, engine_of, has_own_key

from ..catalogue import entry
from ..catalogue.find import listing, whole
from ..errors import BadFilter, BadInput
from ..filters import FilterSyntaxError
from ..recipes.worker import Worker
from ..review import explain as plan_of
from .declared import load
from .design import design as inventory_of_tables
from .help import shown as help_on
from .maintenance import COMMANDS
from .output import WRONG_USE, console, fail
from .poison import poison
from .rekey import rekey
from .review import FailOn, Form, coded, compared, fixed, run_review, schema_text, status
from .review import watch as watch_file
from .status import status as show_status
from .traffic import traffic
from .worker import work

_START: Final = """\
[bold]tablepatterns[/]: design patterns for Azure Table storage, as recipes over the Azure SDK

  [bold]tablepatterns patterns[/]                 every pattern; with a name, all about it
  [bold]tablepatterns explain[/] "<filter>"       what a query reads and costs, and what would be better
  [bold]tablepatterns traffic[/] logs/            what an application asks of its tables, from Azure's resource logs
  [bold]tablepatterns design[/] --from-table NAME   the rows of a real table: keys, types, sizes
  [bold]tablepatterns review[/] design.toml       what a reviewer would say of a design, and why
  [bold]tablepatterns help[/] BadKey              what an error means and how to fix it; without a name, a list
  [bold]tablepatterns serve[/]                    an account in memory for SDKs of any language
  [bold]tablepatterns worker[/] app:worker        process the messages of queues
  [bold]tablepatterns status[/] app               what a module's sets, queues and tables need
  [bold]tablepatterns verify[/] app:employees     check derived data; also repair, backfill, migrate, rotate,
                                           collect-orphans, drop-expired and poison
  [bold]tablepatterns rekey[/] status app:move    move a live table to new keys

What a command takes: tablepatterns review --help. In Python:

  >>> from tablepatterns import EntitySet, Key, connect
  >>> employees = EntitySet(connect(), "Employees", Key("{Department}", "empid_{EmployeeId:06d}"))
"""
_LEVELS: Final = ("DEBUG", "INFO", "WARNING", "ERROR")
_MAX_PORT: Final = 65535

main = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False)
for _command in COMMANDS:
    main.command()(_command)
main.command("status")(show_status)
main.command()(traffic)
main.command("design")(inventory_of_tables)
main.add_typer(poison, name="poison")
main.add_typer(rekey, name="rekey")


def _port(service: str) -> Any:
    return typer.Option(min=0, max=_MAX_PORT, help=f"Where the {service} service listens; 0: on any free port.")


@main.callback(invoke_without_command=True)
def start(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    """Design patterns for Azure Table storage, as recipes over the Azure SDK."""
    if version:
        typer.echo(f"tablepatterns {distribution_version('tablepatterns')}")
    elif context.invoked_subcommand is None:
        console().print(_START, end="")


@main.command()
def explain(
    text: Annotated[str, typer.Argument(metavar="FILTER", help="The value of $filter; '' asks for every entity.")],
) -> None:
    """Explain a query: its class and why, what the service reads, what it costs, and a better query.

    Example: tablepatterns explain "PartitionKey eq 'Sales' and (RowKey eq '121' or RowKey eq '322')"
    """
    try:
        console().print(plan_of(text))
    except BadFilter as error:
        fail(error, WRONG_USE, _pointed(text, error.position) if isinstance(error, FilterSyntaxError) else None)


@main.command()
def review(
    design: Annotated[
        str | None, typer.Argument(help="A TOML file, or package.module:design for a Design in Python.")
    ] = None,
    form: Annotated[Form | None, typer.Option("--format", help="By default, from the file's extension.")] = None,
    output: Annotated[
        Path | None, typer.Option(help="The file to write: .html, .md, .json, or text; with --code, the folder.")
    ] = None,
    prices: Annotated[Path | None, typer.Option(help="A price table of your own, in TOML.")] = None,
    fail_on: Annotated[FailOn, typer.Option(help="Exit with status 1 from this severity on.")] = FailOn.SERIOUS,
    fix: Annotated[
        int | None,
        typer.Option(help="Make this change of the report, in --output or in the file itself."),
    ] = None,
    diff: Annotated[
        str | None, typer.Option(help="Compare with this design, by access pattern: --diff before.toml after.toml.")
    ] = None,
    code: Annotated[
        bool, typer.Option("--code", help="Write the design as Python, with tests that hold its costs to the review.")
    ] = False,
    watch: Annotated[
        bool, typer.Option("--watch", help="Review again, and write --output again, whenever the file changes.")
    ] = False,
    json_schema: Annotated[
        bool, typer.Option("--json-schema", help="Print the JSON Schema of design files, for editors, and stop.")
    ] = False,
) -> None:
    """Review a design: run every access pattern in memory, simulate a day, and report what to improve.

    The exit status is 1 for findings of the --fail-on severity or worse, 2 for an invalid file or command.
    """
    if json_schema:
        typer.echo(schema_text())
        return None
    if design is None:
        fail("no design is given: name a TOML file, or package.module:design", WRONG_USE)
    try:
        if diff is not None:
            return compared(diff, design, form, prices, console())
        if fix is not None:
            return fixed(design, fix, output, prices, console())
        if code:
            return coded(design, output, console())
        if watch:
            return watch_file(design, form, output, prices, console())
        found = run_review(design, form, output, prices, console())
    except (BadInput, OSError, ModuleNotFoundError) as error:
        fail(error, WRONG_USE)
    raise typer.Exit(status(found, fail_on))


@main.command()
def patterns(
    name: Annotated[
        str | None, typer.Argument(help="A pattern, such as log_tail, log-tail or LogTail; by default, list all.")
    ] = None,
) -> None:
    """List the patterns, or describe one: problem, keys, guarantee, limits, cost, and when not to use it.

    Example: tablepatterns patterns log_tail
    """
    try:
        console().print(listing() if name is None else whole(entry(name)))
    except BadInput as error:
        fail(error, WRONG_USE)


@main.command("help")
def show_help(
    name: Annotated[str, typer.Argument(help="An error, such as BadKey; by default, list all.")] = "",
) -> None:
    """Explain an error: what it means, its cause and the fix. Without a name, list the errors."""
    try:
        console().print(help_on(name))
    except BadInput as error:
        fail(error, WRONG_USE)


@main.command()
def serve(
    table_port: Annotated[int, _port("Table")] = PORTS["table"],
    queue_port: Annotated[int, _port("Queue")] = PORTS["queue"],
    blob_port: Annotated[int, _port("Blob")] = PORTS["blob"],
    host: Annotated[str, typer.Option(help="The address of this machine to listen on.")] = LOOPBACK,
    anywhere: Annotated[
        bool, typer.Option("--anywhere", help="Let the address be one that other machines can reach.")
    ] = False,
    allow_host: Annotated[
        list[str] | None, typer.Option(help="Another name that requests and pages may use for it; several times.")
    ] = None,
    account: Annotated[str, typer.Option(help="The name of the account.")] = DEVELOPMENT_NAME,
) -> None:
    """Serve an in-memory account over HTTP until Ctrl+C or SIGTERM; its data is not saved.

    The ports are Azurite's, so that UseDevelopmentStorage=true reaches them from any SDK. The account's name and key
    are the published ones of the storage emulators: anyone who can reach the ports has full access. To use another
    key, set the environment variable TABLEPATTERNS_ACCOUNT_KEY; it is never shown.
    """
    ports = {"blob": blob_port, "queue": queue_port, "table": table_port}
    try:
        from tablepatterns_engine.server.server import serve as answer

        engine = engine_of(account, os.environ)
        listeners = Listeners(host, ports, anywhere=anywhere, allow_hosts=allow_host or ())
    except (BadInput, ModuleNotFoundError) as error:
        fail(error)
    except OSError as error:
        fail(f"{error.strerror}: choose another port, such as 0 for any that is free")
    out = Console(highlight=False, soft_wrap=True)
    for service, url in listeners.urls(engine.account_name).items():
        out.print(f"{service:<5}  {url}")
    key = f"${{{KEY_VARIABLE}}}" if has_own_key(os.environ) else None
    out.print(f"\n{listeners.connection_string(engine, key)}\n\nStop it with Ctrl+C; nothing is kept.")
    answer(engine, listeners)


@main.command()
def worker(
    name: Annotated[str, typer.Argument(metavar="MODULE:WORKER", help="The worker, such as package.module:worker.")],
    log_level: Annotated[str, typer.Option(help="The log level: DEBUG, INFO, WARNING or ERROR.")] = "INFO",
) -> None:
    """Run a worker until Ctrl+C or SIGTERM; messages being processed are finished first.

    MODULE is looked for in this folder, too. WORKER is a tablepatterns Worker in it, or a function that returns one.
    """
    # Not the root logger: the SDK logs every request at INFO
    _log_to_stderr(logging.getLogger("tablepatterns"), log_level)
    try:
        found: Worker[Any] = load(name, Worker, "worker")
    except (BadInput, ModuleNotFoundError) as error:
        fail(error)
    out = Console(highlight=False, soft_wrap=True)
    out.print(f"working on {', '.join(found.queues)}; stop with Ctrl+C")
    try:
        report = work(found)
    except (AzureError, ModuleNotFoundError) as error:
        fail(error)
    out.print(f"stopped: {report.handled} handled, {report.failed} failed, {report.poisoned} poisoned")


def _log_to_stderr(logger: logging.Logger, level: str) -> None:
    if level not in _LEVELS:
        fail(f"there is no log level {level}: give one of {', '.join(_LEVELS)}")
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s %(message)s"))
    logger.addHandler(handler)
    logger.setLevel(level)


def _pointed(text: str, position: int) -> Text:
    """Return the text with a mark under the position, if both fit in lines of a terminal."""
    return Text(f"  {text}\n  {' ' * max(position - 1, 0)}^", style="dim")


if __name__ == "__main__":
    main()
