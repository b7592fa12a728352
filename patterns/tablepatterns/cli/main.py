"""The `tablepatterns` command and its subcommands."""

from __future__ import annotations

from importlib import import_module
from typing import Annotated, Any, Final

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from .output import Result, checked_output, command, console, new_app

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
_MODULES: Final = {
    **dict.fromkeys(("verify", "check", "repair", "backfill", "migrate", "rotate"), ".maintenance"),
    **dict.fromkeys(("collect-orphans", "bulk-delete", "count", "drop-expired"), ".maintenance"),
    **dict.fromkeys(("export", "import", "compare"), "tablepatterns_transfer.cli"),
    **{name: f".{name}" for name in ("status", "traffic", "design")},
    **dict.fromkeys(("explain", "review", "mcp"), "tablepatterns_review.cli"),
    **{name: f".{name}" for name in ("patterns", "help", "serve", "worker")},
    "poison": ".worker",
    "rekey": ".rekey",
}
"""The module of each command."""


class _Commands(TyperGroup):
    """The commands; each module is loaded when its command is asked for, since all of them take most of a second."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = {name: TyperCommand(name) for name in _MODULES}

    def main(self, *args: Any, **settings: Any) -> Any:
        with checked_output():
            return super().main(*args, **settings)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in _MODULES:
            return None
        try:
            app = import_module(_MODULES[cmd_name], __package__).app
        except ModuleNotFoundError as error:
            app = _failing(cmd_name, error)
        loaded: Any = get_command(app)
        return getattr(loaded, "commands", {}).get(cmd_name, loaded)


def _failing(name: str, error: ModuleNotFoundError) -> typer.Typer:
    """Return a command that says which extra it needs."""
    app = new_app()

    def needs_extra(arguments: Annotated[list[str] | None, typer.Argument(hidden=True)] = None) -> Result:
        raise error

    command(app, name, help=str(error), context_settings={"ignore_unknown_options": True})(needs_extra)
    return app


main = typer.Typer(cls=_Commands, rich_markup_mode=None, pretty_exceptions_enable=False)


@main.callback(invoke_without_command=True)
def start(
    context: typer.Context, version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False
) -> None:
    """Design patterns for Azure Table storage, as recipes over the Azure SDK."""
    if version:
        from importlib.metadata import version as distribution_version

        typer.echo(f"tablepatterns {distribution_version('tablepatterns')}")
    elif context.invoked_subcommand is None:
        console().print(_START, end="", markup=True)


if __name__ == "__main__":
    main()
