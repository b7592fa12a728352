"""Walks over tables: the options of commands that walk, their progress, and the files from which they continue."""

from __future__ import annotations

import inspect
import json
import multiprocessing
from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import partial, wraps
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Final, TypeVar

import typer
from rich.progress import BarColumn, MofNCompleteColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn

from ..connection import CONNECTION_VARIABLE
from ..errors import NOT_SHOWN, BadInput
from ..extras import importing
from ..figures import count
from ..jobs import Workers
from ..jobs.walk import write_whole
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
Processes = Annotated[
    int | None, typer.Option(min=1, help="Share the work among so many processes, each with a part of the keys.")
]
Cluster = Annotated[
    str | None, typer.Option(help="Share the work among the workers of a Dask cluster, such as tcp://10.0.0.4:8786.")
]

_OPTIONS: Final = (
    ("storage", None, Target),
    ("max_per_second", None, Rate),
    ("max_concurrency", 8, Concurrency),
    ("resume", None, ResumeFile),
    ("workers", None, Processes),
    ("dask", None, Cluster),
)

T = TypeVar("T")


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
            write_whole(self.path, json.dumps(self._tokens))
        else:
            self.path.unlink(missing_ok=True)


class Walks:
    """Walks over tables, one after another: each shows its progress and can be resumed.

    :param command: the command, which names the resume file unless the user does
    :param pace: `max_per_second` and `max_concurrency`
    :param workers: how many processes share the work; None if it is done in this one
    :param dask: the address of a cluster that shares it
    """

    def __init__(
        self, command: str, storage: str | None, resume: Path | None, workers: int | None, dask: str | None, **pace: Any
    ) -> None:
        path = resume or Path(f"tablepatterns-{command.replace(' ', '-')}.resume.json")
        self.pace = pace
        self._share = partial(shared, workers, dask) if workers or dask else None
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
        return self.load_by(partial(load, name, kind, noun))

    def load_by(self, source: Callable[[str | None], Any]) -> Any:
        """Return what a function makes on the storage that the command names, here and in each process."""
        if self._share is not None:
            self.pace["workers"] = self._share(partial(source, self._storage), self._storage)
        return source(self._storage)

    async def over(self, work: str, call: Callable[..., Any], figures: Mapping[str, str]) -> Any:
        """Return the report of a walk.

        :param call: walks, with the keywords `resume`, `progress`, `max_per_second` and `max_concurrency`
        :param figures: what a report says for a reader, with the attribute, a number or a tuple: first the entities
        """
        token, last = self.tokens[work], None
        with self._bars:
            bar = self._bars.add_task(work, total=None if token else self._entities)
            self._done[work] = {}

            def after_page(report: Any) -> None:
                nonlocal last
                last = report
                values: dict[str, Any] = {name: getattr(report, attribute) for name, attribute in figures.items()}
                self._done[work] = {name: value if type(value) is int else len(value) for name, value in values.items()}
                self._bars.update(bar, completed=next(iter(self._done[work].values())))
                self.tokens.keep(work, report.token)

            result = await call(resume=token, progress=after_page, **self.pace)
        self.tokens.keep(work, None)
        if token is None:
            self._entities = next(iter(self._done[work].values()))
        # What the call returns is in the order of the keys, but repairs return a number
        return last if isinstance(result, int) else result

    def run(self, work: Coroutine[Any, Any, T], *accounts: Account) -> T:
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
        for process in multiprocessing.active_children():
            process.terminate()
        texts = "; ".join(f"{name}: {_text(figures)}" for name, figures in done.items())
        # Entities of the page in progress may be done, too: all of this work is idempotent
        hint = f"continue with --resume {tokens.path}" if tokens else "it is safe to run it again"
        text = f"{texts or 'no page was completed'}, and perhaps a part of the next page; {hint}"
        raise Interrupted(text, {"done": done, "resume": str(tokens.path) if tokens else None}) from error


def _text(done: Mapping[str, int] | Sequence[str]) -> str:
    words = [f"{count(figure)} {name}" for name, figure in done.items()] if isinstance(done, Mapping) else done
    return ", ".join(words) or "no page was completed"


def shared(count: int | None, dask: str | None, source: Callable[[], Any], storage: str | None) -> Workers:
    """Return the workers that the options of a command ask for.

    :param source: makes what the command works on in each process
    """
    target = storage or ""
    if "AccountKey=" in target or "sig=" in target:
        rule = "workers would get the key with each task"
        raise BadInput("--storage", NOT_SHOWN, rule, f"set {CONNECTION_VARIABLE} for all workers, and give env")
    if dask is None:
        return Workers(count or 1, source=source)
    with importing("work on a Dask cluster needs", extra="dask"):
        distributed: Any = import_module("distributed")
    client = distributed.Client(dask)
    return Workers(count or sum(client.nthreads().values()), source=source, executor=client.get_executor)


def with_options(
    parameter: str, make: Callable[..., Any], options: Sequence[tuple[str, Any, Any]]
) -> Callable[[Callable[..., Result]], Callable[..., Result]]:
    """Give a command options that it receives as one object.

    :param make: makes the object of the values of the options, by their names
    :param options: the name, the default and the annotation of each
    """
    parameters = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
        for name, default, annotation in options
    ]

    def add(function: Callable[..., Result]) -> Callable[..., Result]:
        signature = inspect.signature(function, eval_str=True)

        @wraps(function)
        def command(*args: Any, **kwargs: Any) -> Result:
            values = {option.name: kwargs.pop(option.name) for option in parameters}
            return function(*args, **{parameter: make(**values)}, **kwargs)

        own = [of_function for of_function in signature.parameters.values() if of_function.name != parameter]
        vars(command)["__signature__"] = signature.replace(parameters=[*own, *parameters])
        return command

    return add


def walking(name: str) -> Callable[[Callable[..., Result]], Callable[..., Result]]:
    """Give a command the options of a walk, as its parameter `walks`."""
    return with_options("walks", partial(Walks, name), _OPTIONS)
