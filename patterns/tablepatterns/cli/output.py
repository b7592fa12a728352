"""Print results and errors of commands: the one place where text goes to the terminal.

Every command returns a `Result`. `command` gives it `--json`, and turns errors and signals into an exit status.
"""

from __future__ import annotations

import inspect
import json
import logging
import os
import signal
import sys
import warnings
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import wraps
from typing import Annotated, Any, Final, NoReturn, ParamSpec, TextIO, cast

import typer
from azure.core.exceptions import AzureError
from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.progress import Progress, ProgressColumn
from rich.segment import Segment
from rich.text import Text

from ..errors import BadInput, TablePatternsError, message_of
from . import INTERRUPTED, Stopped, check_not_stopped, stop

P = ParamSpec("P")

FAILED: Final = 1
"""The exit status if something was found, the service failed, or the user did not agree."""
WRONG_USE: Final = 2
"""The exit status for a wrong argument."""
NOT_PRINTED: Final = 3
"""The exit status if the output cannot be written, such as to a full disk."""
_PIPED_WIDTH: Final = 100

DryRun = Annotated[bool, typer.Option("--dry-run", help="Show what would be done; nothing is changed.")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask.")]
_AS_JSON: Final = Annotated[bool, typer.Option("--json", help="Print the result, or the error, as JSON.")]


def printable(text: str, keep: str = "") -> str:
    r"""Return a text with escapes for all characters that a terminal would not show as they are.

    Table names, keys, messages and logs hold text of others. Control characters could change the terminal,
    bidirectional and invisible ones what the operator reads.

    >>> printable("a\x1b[31m\u202eb\u200b")
    'a\\x1b[31m\\u202eb\\u200b'

    :param keep: characters to leave, such as line breaks
    """
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() or char in keep else char.encode("unicode_escape").decode("ascii") for char in text
    )


class _Terminal(Console):
    """A console that shows text as it is: no markup, and escapes for what would not be shown."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=printable(segment.text, "\n"))


def console(*, stderr: bool = False, soft_wrap: bool = False, file: TextIO | None = None) -> Console:
    """Return the terminal, or a page of a fixed width if the output goes to a file or a pipe."""
    settings: dict[str, Any] = {"highlight": False, "markup": False, "emoji": False, "stderr": stderr, "file": file}
    terminal = _Terminal(**settings, soft_wrap=soft_wrap)
    return terminal if terminal.is_terminal else _Terminal(**settings, soft_wrap=soft_wrap, width=_PIPED_WIDTH)


def shows_progress(err: Console) -> bool:
    """Whether a console is a terminal that can redraw a line: `FORCE_COLOR` makes any file one for rich."""
    return err.is_interactive and err.file.isatty()


def progress_bars(*columns: ProgressColumn, transient: bool = False) -> Progress:
    """Return bars on standard error, which are shown on a terminal only."""
    err = console(stderr=True)
    return Progress(*columns, console=err, transient=transient, disable=not shows_progress(err))


def print_document(document: object, out: Console | None = None) -> None:
    """Print a text such as Markdown as it is, and anything else as JSON: nothing is wrapped or colored."""
    text = document if isinstance(document, str) else json.dumps(document, indent=2)
    (out or console()).out(text.removesuffix("\n"), highlight=False)


class PrintableFormatter(logging.Formatter):
    """Formats log records with escapes, but for line breaks."""

    def format(self, record: logging.LogRecord) -> str:
        return printable(super().format(record), "\n")


class OutputFailed(Exception):
    """Standard output cannot be written; unlike an `OSError`, it is not an error of a file that a command uses."""


class _Output:
    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        try:
            return self._stream.write(text)
        except OSError as error:
            raise OutputFailed from error

    def flush(self) -> None:
        try:
            self._stream.flush()
        except OSError as error:
            raise OutputFailed from error


@contextmanager
def checked_output() -> Generator[None, None, None]:
    """End a command with a status of its own if its output cannot be written; a closed pipe is not an error."""
    stream = sys.stdout
    sys.stdout = cast("TextIO", _Output(stream))
    try:
        try:
            yield
        finally:
            sys.stdout.flush()
    except OutputFailed as failure:
        with suppress(OSError):
            # What is still in the buffer would fail again when the process ends
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        error = cast("OSError", failure.__cause__)
        if isinstance(error, BrokenPipeError):
            sys.exit(FAILED)
        print(f"Error: the output cannot be written: {error.strerror}", file=sys.stderr)
        sys.exit(NOT_PRINTED)
    finally:
        sys.stdout = stream


@dataclass(frozen=True)
class Result:
    """What a command reports.

    :param data: the result for `--json`
    :param lines: the same for a reader; each text is one line
    :param status: the exit status
    """

    data: object
    lines: Iterable[RenderableType] = ()
    status: int = 0

    def print(self, *, as_json: bool) -> None:
        if as_json:
            print_document(self.data)
            return
        out = console()
        for line in self.lines:
            out.print(Text(printable(line)) if isinstance(line, str) else line, soft_wrap=isinstance(line, str))


class Interrupted(Exception):
    """A signal has ended work whose first part is done.

    :param message: what was done, and how to continue
    """

    def __init__(self, message: str, data: dict[str, Any]) -> None:
        super().__init__(message)
        self.data = data


def new_app(**settings: Any) -> typer.Typer:
    return typer.Typer(add_completion=False, rich_markup_mode=None, **settings)


def command(
    app: typer.Typer, name: str | None = None, **settings: Any
) -> Callable[[Callable[P, Result | None]], Callable[P, None]]:
    """Add a command to an app: with `--json`, its errors printed, and the exit status that the docs list.

    With `--json`, standard output holds one JSON document: the result, or `{"error": ...}`. Everything else goes to
    standard error. A function that prints by itself returns None; it may take `as_json`.
    """

    def add(function: Callable[P, Result | None]) -> Callable[P, None]:
        # Evaluated here: typer reads the annotations of a signature that is set as they are
        signature = inspect.signature(function, eval_str=True)
        takes_json = "as_json" in signature.parameters

        @wraps(function)
        def run(*args: P.args, **kwargs: P.kwargs) -> None:
            as_json = bool(kwargs.get("as_json") if takes_json else kwargs.pop("as_json", False))
            is_own_process = signal.getsignal(signal.SIGINT) is stop
            try:
                if is_own_process:
                    # An error that can be caught, to say what was done; before and after that, the process just ends
                    signal.signal(signal.SIGINT, signal.default_int_handler)
                check_not_stopped()
                result = function(*args, **kwargs)
            except (KeyboardInterrupt, Stopped, Interrupted) as error:
                _fail_interrupted(error, as_json)
            except (AzureError, EOFError, ModuleNotFoundError, NotConfirmed, OSError) as error:
                fail(error, WRONG_USE if isinstance(error, BadInput) else FAILED, as_json=as_json)
            finally:
                if is_own_process:
                    signal.signal(signal.SIGINT, stop)
            if result is not None:
                result.print(as_json=as_json)
                raise typer.Exit(result.status)

        option = inspect.Parameter("as_json", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=_AS_JSON)
        parameters = [parameter for parameter in signature.parameters.values() if parameter.name != "as_json"]
        run.__signature__ = signature.replace(parameters=[*parameters, option])  # type: ignore[attr-defined]
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in (*parameters, option)}
        app.command(name, **settings)(run)
        return run

    return add


def confirm(question: str, *, yes: bool) -> None:
    """Ask before something is lost, unless the user gave `--yes`; without a terminal, reject the command."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise NotConfirmed(f"{question} There is no terminal to ask on, and nothing was changed; give --yes.")
    if not typer.confirm(question, err=True):
        raise NotConfirmed("Nothing was changed.")


class NotConfirmed(Exception):
    """The user did not agree to a command that loses something; nothing has changed."""


def fail(
    what: str | BaseException, status: int = FAILED, shown: Text | None = None, *, as_json: bool = False
) -> NoReturn:
    """Print an error and where to read more on it, and exit with a status.

    :param shown: text to show below the error, such as the position of a mistake
    """
    text = message_of(what) if isinstance(what, BaseException) else what
    topic = what.help if isinstance(what, TablePatternsError) else None
    if as_json:
        kind = type(what).__name__ if isinstance(what, BaseException) else "Error"
        print_document({"error": {"type": kind, "message": text, "help": topic}})
    message = Text.assemble(("Error: ", "bold red"), printable(text, "\n"))
    more = f"(more: tablepatterns help {topic})" if topic else None
    lines: Sequence[RenderableType] = [line for line in (message, shown, more) if line is not None]
    console(stderr=True, soft_wrap=True).print(Group(*lines))
    raise typer.Exit(status)


def _fail_interrupted(error: BaseException, as_json: bool) -> NoReturn:
    """Say what an interrupted command has done; the status is that of the signal."""
    # A signal may arrive between the creation of a coroutine and its first step
    warnings.filterwarnings("ignore", "coroutine .* was never awaited", RuntimeWarning)
    cause = error.__cause__ if isinstance(error, Interrupted) else error
    status = cause.code if isinstance(cause, Stopped) else INTERRUPTED
    data = error.data if isinstance(error, Interrupted) else {}
    text = str(error) if isinstance(error, Interrupted) else "the command ended before it was done"
    if as_json:
        print_document({"error": {"type": "Interrupted", "message": text, "help": None, **data}})
    console(stderr=True, soft_wrap=True).print(Text(f"Interrupted: {printable(text)}"))
    raise typer.Exit(int(status or 0))
