"""Print results and errors of commands."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Final, NoReturn, ParamSpec

import typer
from azure.core.exceptions import AzureError
from rich.console import Console, Group
from rich.text import Text

from ..errors import BadInput, TablePatternsError, said

P = ParamSpec("P")

WRONG_USE: Final = 2
"""The exit status for a wrong argument; other errors have 1."""
_PIPED_WIDTH: Final = 100


def console(*, stderr: bool = False) -> Console:
    """Return the terminal, or a page of a fixed width if the output goes to a file or a pipe."""
    found = Console(highlight=False, stderr=stderr)
    return found if found.is_terminal else Console(highlight=False, stderr=stderr, width=_PIPED_WIDTH)


def fail(what: str | Exception, code: int = 1, shown: Text | None = None) -> NoReturn:
    """Print an error and where to read more on it, and exit with a status.

    :param shown: text to show below the error, such as the position of a mistake
    """
    message = Text.assemble(("Error: ", "bold red"), said(what) if isinstance(what, Exception) else what)
    more = f"(more: tablepatterns help {what.help})" if isinstance(what, TablePatternsError) else None
    lines = [each for each in (message, shown, more) if each is not None]
    Console(stderr=True, highlight=False, soft_wrap=True).print(Group(*lines))
    raise typer.Exit(code)


def reporting_errors(command: Callable[P, None]) -> Callable[P, None]:
    """Make a command print errors of the library and of the service instead of raising them."""

    @wraps(command)
    def reporting(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            command(*args, **kwargs)
        except BadInput as error:
            fail(error, WRONG_USE)
        except (TablePatternsError, AzureError, ModuleNotFoundError, OSError) as error:
            fail(error)

    return reporting
