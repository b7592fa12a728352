"""Walks over tables: the options of commands that walk, their progress, and the files from which they continue."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, Final, Protocol, TypeVar

import typer
from rich.progress import BarColumn, MofNCompleteColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn

from ..errors import BadInput
from ..figures import count
from ..recipe import Account
from . import Stopped
from .declared import load, run
from .output import Interrupted, Result, progress_bars

Target = Annotated[
    str | None,
    typer.Option("--storage", help="Pass the function this storage: env, azurite, a connection string or a URL."),
]
Rate = Annotated[float | None, typer.Option(help="The most entities a second; by default, there is no limit.")]
Concurrency = Annotated[int, typer.Option(min=1, help="How many entities to work on at a time.")]
ResumeFile = Annotated[
    Path | None, typer.Option("--resume", help="The file to continue from, and to keep the position in.")
]

_OPTIONS: Final = [
    inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
    for name, default, annotation in (
        ("storage", None, Target),
        ("max_per_second", None, Rate),
        ("max_concurrency", 8, Concurrency),
        ("resume", None, ResumeFile),
    )
]

T = TypeVar("T")
P = TypeVar("P", bound="Position")


class Position(Protocol):
    """What a walk reports after each page."""

    @property
    def token(self) -> str | None: ...


class ResumeTokens:
    """The tokens from which interrupted work continues, in a file that need not exist.

    :param continues: whether to continue from it; otherwise its tokens are of earlier work, and are replaced
    """

    def __init__(self, path: Path, *, continues: bool = True) -> None:
        self.path = path
        self._tokens: dict[str, str] = {}
        if continues and path.exists():
            try:
                stored = json.loads(path.read_text(encoding="utf-8"))
                self._tokens = {str(work): str(token) for work, token in dict(stored).items()}
            except (TypeError, ValueError) as error:
                raise BadInput("--resume", str(path), "it is not a resume file", "delete it to start again") from error

    def __bool__(self) -> bool:
        return bool(self._tokens)

    def __getitem__(self, work: str) -> str | None:
        return self._tokens.get(work)

    def keep(self, work: str, token: str | None) -> None:
        """Write the position of some work to the file; without a token the work is done."""
        if token is None:
            self._tokens.pop(work, None)
        else:
            self._tokens[work] = token
        if self._tokens:
            # A crash while writing must not lose the previous position
            partial = self.path.with_name(f"{self.path.name}.partial")
            partial.write_text(json.dumps(self._tokens), encoding="utf-8")
            partial.replace(self.path)
        else:
            self.path.unlink(missing_ok=True)


class Walks:
    """Walks over tables, one after another: each shows its progress and can be resumed.

    :param command: the command, which names the resume file unless the user does
    :param pace: `max_per_second` and `max_concurrency`
    """

    def __init__(self, command: str, storage: str | None, resume: Path | None, pace: Mapping[str, Any]) -> None:
        path = resume or Path(f"tablepatterns-{command.replace(' ', '-')}.resume.json")
        self.pace = pace
        self.tokens = ResumeTokens(path, continues=resume is not None)
        self._storage = storage
        self._done: dict[str, dict[str, int]] = {}
        """What each walk has done up to its last complete page."""
        self._bars = progress_bars(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TaskProgressColumn(show_speed=True),
            TimeRemainingColumn(),
        )
        self._entities: int | None = None
        """How many entities the table has, known after the first complete walk."""

    def load(self, name: str, kind: type[Any] | tuple[type[Any], ...], noun: str) -> Any:
        """Return the object that the command names, on the storage that it names; see `load`."""
        return load(name, kind, noun, self._storage)

    async def over(self, work: str, call: Callable[..., Any], kind: type[P], figures: Mapping[str, str]) -> P:
        """Return the last report of a walk.

        :param call: walks, with the keywords `resume`, `progress`, `max_per_second` and `max_concurrency`
        :param figures: what a report says for a reader, with the attribute, a number or a tuple: first the entities
        """
        token, reports = self.tokens[work], list[P]()
        with self._bars:
            bar = self._bars.add_task(work, total=None if token else self._entities)
            self._done[work] = {}

            def after_page(report: P) -> None:
                reports[:] = [report]
                values: dict[str, Any] = {name: getattr(report, attribute) for name, attribute in figures.items()}
                self._done[work] = {name: value if type(value) is int else len(value) for name, value in values.items()}
                self._bars.update(bar, completed=next(iter(self._done[work].values())))
                self.tokens.keep(work, report.token)

            await call(resume=token, progress=after_page, **self.pace)
        self.tokens.keep(work, None)
        if token is None:
            self._entities = next(iter(self._done[work].values()))
        return reports[-1]

    def run(self, work: Coroutine[Any, Any, T], *accounts: Account) -> T:
        """Finish work on accounts; after a signal, say what was done, and how to continue."""
        return run_or_report(work, self._done, *accounts, tokens=self.tokens)


def run_or_report(
    work: Coroutine[Any, Any, T],
    done: Mapping[str, Mapping[str, int] | Sequence[str]],
    *accounts: Account,
    tokens: ResumeTokens | None = None,
) -> T:
    """Finish work on accounts; after a signal, say what was done, and how to continue.

    :param done: what was done so far by the name of the work: figures, or a list
    """
    try:
        return run(work, *accounts)
    except (KeyboardInterrupt, Stopped) as error:
        texts = "; ".join(f"{name}: {_text(figures)}" for name, figures in done.items())
        # Entities of the page in progress may be done, too: all of this work is idempotent
        hint = f"continue with --resume {tokens.path}" if tokens else "it is safe to run it again"
        text = f"{texts or 'no page was completed'}, and perhaps a part of the next page; {hint}"
        raise Interrupted(text, {"done": done, "resume": str(tokens.path) if tokens else None}) from error


def _text(done: Mapping[str, int] | Sequence[str]) -> str:
    words = [f"{count(figure)} {name}" for name, figure in done.items()] if isinstance(done, Mapping) else done
    return ", ".join(words) or "no page was completed"


def walking(group: str = "") -> Callable[[Callable[..., Result]], Callable[..., Result]]:
    """Give a command `--storage`, `--max-per-second`, `--max-concurrency` and `--resume`, as its parameter `walks`."""

    def add(function: Callable[..., Result]) -> Callable[..., Result]:
        signature = inspect.signature(function, eval_str=True)
        name = f"{group} {function.__name__}".strip().replace("_", "-")

        @wraps(function)
        def command(
            *args: Any, storage: Any, max_per_second: Any, max_concurrency: Any, resume: Any, **kwargs: Any
        ) -> Result:
            pace = {"max_per_second": max_per_second, "max_concurrency": max_concurrency}
            return function(*args, walks=Walks(name, storage, resume, pace), **kwargs)

        own = [parameter for parameter in signature.parameters.values() if parameter.name != "walks"]
        vars(command)["__signature__"] = signature.replace(parameters=[*own, *_OPTIONS])
        return command

    return add
