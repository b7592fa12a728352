"""The `tablepatterns` command and its subcommands."""

from __future__ import annotations

import logging
import os
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import asdict
from importlib.metadata import version as distribution_version
from typing import Annotated, Any, Final

import typer

from tablepatterns_engine.account import DEVELOPMENT_NAME
from tablepatterns_engine.server.listeners import KEY_VARIABLE, LOOPBACK, PORTS, Listeners, engine_of, has_own_key
from tablepatterns_transfer.cli import commands as transfer_commands

from ..catalog import ENTRIES, entry
from ..errors import BadInput
from ..messages.stop_signal import stop_on_signals
from ..recipe import bound_async
from ..recipes.worker import Worker
from . import check_not_stopped
from .declared import load, run
from .design import design
from .help import names, render_help, section
from .maintenance import maintenance
from .output import PrintableFormatter, Result, command, console, fail
from .patterns import describe, listing
from .poison import poison
from .rekey import rekey
from .status import status
from .traffic import traffic

_START: Final = """\
[bold]tablepatterns[/]: design patterns for Azure Table storage, as recipes over the Azure SDK

  [bold]tablepatterns patterns[/]                 every pattern; with a name, all about it
  [bold]tablepatterns explain[/] "<filter>"       what a query reads and costs, and what would be better
  [bold]tablepatterns traffic[/] logs/            what an application asks of its tables, from Azure's resource logs
  [bold]tablepatterns design[/] --from-table NAME   the rows of a real table: keys, types, sizes
  [bold]tablepatterns review[/] design.toml       what a reviewer would say of a design, and why
  [bold]tablepatterns mcp[/]                      the same for an assistant, over the Model Context Protocol
  [bold]tablepatterns help[/] BadKey              what an error means and how to fix it; without a name, a list
  [bold]tablepatterns serve[/]                    an account in memory for SDKs of any language
  [bold]tablepatterns worker[/] app:worker        process the messages of queues
  [bold]tablepatterns status[/] app               what a module's sets, queues and tables need
  [bold]tablepatterns verify[/] app:employees     check derived data; also check, repair, backfill, migrate,
                                           rotate, collect-orphans, drop-expired and poison
  [bold]tablepatterns rekey[/] status app:move    move a live table to new keys
  [bold]tablepatterns export[/] TABLE --to DIR    back up a table; also import and compare

What a command takes: tablepatterns review --help. In Python:

  >>> from tablepatterns import EntitySet, Key, connect
  >>> employees = EntitySet(connect(), "Employees", Key("{Department}", "empid_{EmployeeId:06d}"))
"""
_LEVELS: Final = ("DEBUG", "INFO", "WARNING", "ERROR")
_MAX_PORT: Final = 65535

main = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False)
maintenance(main)
transfer_commands(main)
command(main)(status)
command(main)(traffic)
command(main)(design)
main.add_typer(poison, name="poison")
main.add_typer(rekey, name="rekey")
try:
    from tablepatterns_review.cli import commands as review_commands
except ModuleNotFoundError as error:
    _MISSING: Final = str(error)

    def _needs_extra(arguments: Annotated[list[str] | None, typer.Argument(hidden=True)] = None) -> Result:
        """Explain a query, review a design, or serve an assistant; needs the extra `review`."""
        fail(_MISSING)

    for _name in ("explain", "review", "mcp"):
        command(main, _name, context_settings={"ignore_unknown_options": True})(_needs_extra)
else:
    review_commands(main)


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
        console().print(_START, end="", markup=True)


@command(main)
def patterns(
    name: Annotated[
        str | None, typer.Argument(help="A pattern, such as log_tail, log-tail or LogTail; by default, list all.")
    ] = None,
) -> Result:
    """List the patterns, or describe one: problem, keys, guarantee, limits, cost, and when not to use it.

    Example: tablepatterns patterns log_tail
    """
    if name is None:
        data = [{"name": pattern.name, "title": pattern.title, "summary": pattern.summary} for pattern in ENTRIES]
        return Result(data, (listing(),))
    pattern = entry(name)
    return Result(asdict(pattern), (describe(pattern),))


@command(main, "help")
def show_help(
    name: Annotated[str, typer.Argument(help="An error, such as BadKey; by default, list all.")] = "",
) -> Result:
    """Explain an error: what it means, its cause and the fix. Without a name, list the errors."""
    return Result({"name": name, "text": section(name)} if name else names(), (render_help(name),))


@command(main)
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
    as_json: bool = False,
) -> None:
    """Serve an in-memory account over HTTP until Ctrl+C or SIGTERM; its data is not saved.

    The ports are Azurite's, so that UseDevelopmentStorage=true reaches them from any SDK. The account's name and key
    are the published ones of the storage emulators: anyone who can reach the ports has full access. To use another
    key, set the environment variable TABLEPATTERNS_ACCOUNT_KEY; it is never shown.
    """
    ports = {"blob": blob_port, "queue": queue_port, "table": table_port}
    from tablepatterns_engine.serving import serve as answer

    engine = engine_of(account, os.environ)
    try:
        listeners = Listeners(host, ports, anywhere=anywhere, allow_hosts=allow_host or ())
    except OSError as error:
        fail(f"{error.strerror}: choose another port, such as 0 for any that is free", as_json=as_json)
    urls = listeners.urls(engine.account_name)
    key = f"${{{KEY_VARIABLE}}}" if has_own_key(os.environ) else None
    connection_string = listeners.connection_string(engine, key)
    lines = (f"{service:<5}  {url}" for service, url in urls.items())
    result = Result(
        {"urls": urls, "connection_string": connection_string},
        (*lines, "", connection_string, "", "Stop it with Ctrl+C; nothing is kept."),
    )
    result.print(as_json=as_json)
    answer(engine, listeners)


@command(main)
def worker(
    name: Annotated[str, typer.Argument(metavar="MODULE:WORKER", help="The worker, such as package.module:worker.")],
    log_level: Annotated[str, typer.Option(help="The log level: DEBUG, INFO, WARNING or ERROR.")] = "INFO",
    as_json: bool = False,
) -> Result:
    """Run a worker until Ctrl+C or SIGTERM; messages being processed are finished first.

    MODULE is looked for in this folder, too. WORKER is a tablepatterns Worker in it, or a function that returns one.
    """
    # Before the module is loaded, which may take a while
    # Not the root logger: the SDK logs every request at INFO
    with stop_on_signals() as stopping, _logging_to_stderr(logging.getLogger("tablepatterns"), log_level):
        check_not_stopped()
        declared_worker: Worker[Any] = load(name, Worker, "worker")
        if getattr(declared_worker.account, "engine", None) is not None:
            rule = "its account is in memory, where no other process can send it a message"
            raise BadInput("worker", name, rule, "connect it to an account, or call run_once() in the same program")
        if not as_json:
            Result(None, (f"working on {', '.join(declared_worker.queues)}; stop with Ctrl+C",)).print(as_json=False)
        bound: Any = bound_async(declared_worker)
        report = run(bound.run(stopping), declared_worker.account)
    line = f"stopped: {report.handled} handled, {report.failed} failed, {report.poisoned} poisoned"
    return Result(asdict(report), (line,))


@contextmanager
def _logging_to_stderr(logger: logging.Logger, level: str) -> Generator[None, None, None]:
    if level not in _LEVELS:
        raise BadInput("--log-level", level, "there is no such level", f"give one of {', '.join(_LEVELS)}")
    handler = logging.StreamHandler()
    handler.setFormatter(PrintableFormatter("%(asctime)s %(levelname)s %(name)s %(message)s"))
    logger.addHandler(handler)
    logger.setLevel(level)
    try:
        yield
    finally:
        logger.removeHandler(handler)


if __name__ == "__main__":
    main()
