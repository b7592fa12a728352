"""Commands that maintain a declared set: verify, repair, backfill, migrate, rotate, collect-orphans and others.

Each names an object of your code, such as `app:employees`, and takes any target. A command that walks a table shows its
progress, keeps a token in the resume file after each page, and continues from that file.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import asdict
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, Final, Protocol, TypeVar

import typer
from rich.console import RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.table import Table

from ..entity_set.derived import Derived
from ..entity_set.entity_set import EntitySet
from ..entity_set.maintenance import Report
from ..entity_set.migration import Migration
from ..entity_set.reconcile import Finding
from ..errors import BadInput
from ..figures import count, counted
from ..recipe import Account, bound_async
from ..recipes.encrypted_properties.key_rotation import KeyRotation
from ..recipes.large_properties.large_values import LargePropertyStore
from ..recipes.period_tables.period_tables import PeriodTables
from ..recipes.wide_entity.wide_entity import WideEntity
from .declared import load, run
from .output import console, reporting_errors

_INTERRUPTED: Final = 130
SHOWN: Final = 10
DIFFERENCES: Final = (Finding.MISSING, Finding.STALE, Finding.ORPHANED, Finding.CONTESTED)
Encryptable: Final = (EntitySet, WideEntity)

SetName = Annotated[
    str, typer.Argument(metavar="MODULE:SET", help="The set, such as app:employees, or a function that returns it.")
]
Target = Annotated[
    str | None,
    typer.Option("--storage", help="Pass the function this storage: env, azurite, a connection string or a URL."),
]
Names = Annotated[
    list[str] | None, typer.Option("--derived", help="The name of derived data; several times; by default, all.")
]
Rate = Annotated[float | None, typer.Option(help="The most entities a second; by default, there is no limit.")]
Concurrency = Annotated[int, typer.Option(min=1, help="How many entities to work on at a time.")]
ResumeFile = Annotated[
    Path | None, typer.Option("--resume", help="The file to continue from, and to keep the position in.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]


T = TypeVar("T")
P = TypeVar("P", bound="Position")


class Position(Protocol):
    """What a walk reports after each page."""

    @property
    def token(self) -> str | None: ...


class ResumeTokens:
    """The tokens from which interrupted work continues, in a file.

    :param path: the file; it need not exist
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._tokens: dict[str, str] = {}
        if path.exists():
            try:
                found = json.loads(path.read_text(encoding="utf-8"))
            except ValueError as error:
                raise BadInput("--resume", str(path), "it is not a resume file", "delete it to start again") from error
            self._tokens = {str(work): str(token) for work, token in dict(found).items()}

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
    """Walks over a set's table, one after another: each shows its progress and can be resumed.

    :param command: what is run, which names the resume file unless the user does
    :param resume: the file that the user named
    :param is_silent: whether to show no progress
    """

    def __init__(self, command: str, resume: Path | None, *, is_silent: bool) -> None:
        self.tokens = ResumeTokens(resume or Path(f"tablepatterns-{command}.resume.json"))
        self._continues = resume is not None
        self._bars = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TaskProgressColumn(show_speed=True),
            TimeRemainingColumn(),
            console=console(stderr=True),
            disable=is_silent,
        )
        self._entities: int | None = None
        """How many entities the table has, known after the first complete walk."""

    async def over(
        self,
        work: str,
        call: Callable[[str | None, Callable[[P], None]], Coroutine[Any, Any, P]],
        count: Callable[[P], int],
    ) -> P:
        """Return the result of a walk.

        :param call: starts the walk, given the token to resume from and the function to call after each page
        :param count: how many entities a result stands for
        """
        token = self.tokens[work] if self._continues else None
        with self._bars:
            bar = self._bars.add_task(work, total=None if token else self._entities)

            def after_page(so_far: P) -> None:
                self._bars.update(bar, completed=count(so_far))
                self.tokens.keep(work, so_far.token)

            found = await call(token, after_page)
        self.tokens.keep(work, None)
        if token is None:
            self._entities = count(found)
        return found

    def run(self, account: Account, work: Coroutine[Any, Any, T]) -> T:
        """Finish work on an account; after Ctrl+C, say how to continue."""
        try:
            return run(account, work)
        except KeyboardInterrupt:
            hint = f"continue with --resume {self.tokens.path}" if self.tokens.path.exists() else "nothing was finished"
            console(stderr=True).print(f"Interrupted: {hint}")
            raise typer.Exit(_INTERRUPTED) from None


@reporting_errors
def verify(
    name: SetName,
    derived: Names = None,
    storage: Target = None,
    max_per_second: Rate = None,
    max_concurrency: Concurrency = 8,
    resume: ResumeFile = None,
    as_json: AsJson = False,
) -> None:
    """Compare derived data with all entities, and report differences; nothing is written.

    The exit status is 1 if there are differences. With --resume it continues where an interrupted command stopped, and
    reports what it finds from there on.
    """
    pace: dict[str, Any] = {"max_per_second": max_per_second, "max_concurrency": max_concurrency}
    reports = _walk("verify", load(name, EntitySet, "set", storage), derived, pace, resume, as_json)
    _print_reports(reports, as_json)
    raise typer.Exit(0 if all(report.is_clean for _, report in reports) else 1)


@reporting_errors
def backfill(
    name: SetName,
    derived: Names = None,
    storage: Target = None,
    max_per_second: Rate = None,
    max_concurrency: Concurrency = 8,
    resume: ResumeFile = None,
    as_json: AsJson = False,
) -> None:
    """Create the derived rows that older entities lack, after you added derived data to a set.

    Correct rows stay as they are, so it is safe to run again.
    """
    pace: dict[str, Any] = {"max_per_second": max_per_second, "max_concurrency": max_concurrency}
    reports = _walk("backfill", load(name, EntitySet, "set", storage), derived, pace, resume, as_json)
    result = {each.name: {"entities": report.entities} for each, report in reports}
    print_result(
        result, as_json, (f"{each}: {counted(found['entities'], 'entity')} checked" for each, found in result.items())
    )


@reporting_errors
def repair(
    name: SetName,
    derived: Names = None,
    storage: Target = None,
    max_per_second: Rate = None,
    max_concurrency: Concurrency = 8,
    as_json: AsJson = False,
) -> None:
    """Compare derived data with all entities, and correct the differences.

    Rows that two entities claim are left as they are; the exit status is then 1. It is safe to run again.
    """
    entities: EntitySet[Any] = load(name, EntitySet, "set", storage)
    bound: Any = bound_async(entities)
    pace: dict[str, Any] = {"max_per_second": max_per_second, "max_concurrency": max_concurrency}

    async def work() -> dict[str, dict[str, int]]:
        found: dict[str, dict[str, int]] = {}
        for each in _chosen(entities, derived):
            report = await bound.verify(each, **pace)
            contested = len(report.of(Finding.CONTESTED))
            found[each.name] = {"repaired": await bound.repair(each, report, **pace), "contested": contested}
        return found

    result = run(entities.account, work())
    print_result(
        result,
        as_json,
        (
            f"{each}: {count(found['repaired'])} repaired, {count(found['contested'])} contested"
            for each, found in result.items()
        ),
    )
    raise typer.Exit(1 if any(found["contested"] for found in result.values()) else 0)


@reporting_errors
def rotate(
    name: SetName,
    storage: Target = None,
    max_per_second: Rate = None,
    max_concurrency: Concurrency = 8,
    resume: ResumeFile = None,
    as_json: AsJson = False,
) -> None:
    """Re-encrypt the entities that are not under the current key yet, and count the rows under each key."""
    entities: Any = load(name, Encryptable, "set", storage)
    rotation: Any = bound_async(KeyRotation(entities, max_concurrency=max_concurrency))
    walks = Walks("rotate", resume, is_silent=as_json)

    async def work() -> dict[str, Any]:
        done = await walks.over(
            "rotate",
            lambda token, after: rotation.rotate(resume=token, progress=after, max_per_second=max_per_second),
            lambda so_far: so_far.seen,
        )
        return {"rewritten": done.rewritten, "rows_by_key": await rotation.in_use()}

    result = walks.run(entities.account, work())
    keys = (
        f"key {key!r}: {counted(rows, 'row')}" if key else f"not encrypted: {counted(rows, 'row')}"
        for key, rows in result["rows_by_key"].items()
    )
    print_result(result, as_json, (f"{counted(result['rewritten'], 'entity')} re-encrypted", *keys))


@reporting_errors
def migrate(
    name: SetName,
    storage: Target = None,
    max_per_second: Rate = None,
    max_concurrency: Concurrency = 8,
    resume: ResumeFile = None,
    as_json: AsJson = False,
) -> None:
    """Rewrite the entities of earlier versions of a set's model in its current version.

    Writers may keep running, and it is safe to run again.
    """
    entities: EntitySet[Any, Any] = load(name, EntitySet, "set", storage)
    bound: Any = bound_async(entities)
    walks = Walks("migrate", resume, is_silent=as_json)

    async def work() -> Migration:
        return await walks.over(
            "migrate",
            lambda token, after: bound.migrate(
                resume=token, progress=after, max_per_second=max_per_second, max_concurrency=max_concurrency
            ),
            lambda so_far: so_far.seen,
        )

    done = walks.run(entities.account, work())
    result = {"entities": done.seen, "rewritten": done.rewritten}
    print_result(result, as_json, (f"{counted(done.seen, 'entity')} checked, {count(done.rewritten)} rewritten",))


@reporting_errors
def collect_orphans(
    name: SetName,
    storage: Target = None,
    grace_hours: Annotated[float, typer.Option(min=0, help="How long a blob must have been unused.")] = 24,
    as_json: AsJson = False,
) -> None:
    """Mark the blobs of large properties that no entity uses, and delete those marked long enough ago."""
    entities: Any = load(name, Encryptable, "set", storage)
    values: Any = bound_async(LargePropertyStore(entities))
    found = run(entities.account, values.collect_orphans(grace=timedelta(hours=grace_hours)))
    print_result(
        asdict(found),
        as_json,
        (f"{counted(found.seen, 'blob')} seen, {count(found.marked)} marked, {count(found.deleted)} deleted",),
    )


@reporting_errors
def drop_expired(
    name: Annotated[str, typer.Argument(metavar="MODULE:TABLES", help="The PeriodTables, such as app:logins.")],
    storage: Target = None,
    as_json: AsJson = False,
) -> None:
    """Drop the tables of all expired periods."""
    periods: PeriodTables[Any, Any] = load(name, PeriodTables, "tables", storage)
    bound: Any = bound_async(periods)
    dropped: list[str] = run(periods.account, bound.drop_expired())
    print_result({"dropped": dropped}, as_json, dropped or ("no period has expired",))


def _walk(
    command: str, entities: EntitySet[Any], names: Sequence[str] | None, pace: Any, resume: Path | None, as_json: bool
) -> list[tuple[Derived, Report]]:
    """Return the report of `verify` or `backfill` on each kind of derived data."""
    walks = Walks(command, resume, is_silent=as_json)
    bound = bound_async(entities)

    async def over(each: Derived) -> Report:
        call = getattr(bound, command.replace("-", "_"))
        return await walks.over(
            f"{command} {each.name}",
            lambda token, after: call(each, resume=token, progress=after, **pace),
            lambda report: report.entities,
        )

    async def work() -> list[tuple[Derived, Report]]:
        return [(each, await over(each)) for each in _chosen(entities, names)]

    return walks.run(entities.account, work())


def _chosen(entities: EntitySet[Any], names: Sequence[str] | None) -> list[Derived]:
    known = {each.name: each for each in entities.derived}
    for name in names or ():
        if name not in known:
            raise BadInput("--derived", name, f"the set derives {', '.join(known) or 'nothing'}", "name one of these")
    return [known[name] for name in names] if names else list(known.values())


def _print_reports(reports: Sequence[tuple[Derived, Report]], as_json: bool) -> None:
    result = {
        each.name: {
            "entities": report.entities,
            "rows": report.rows,
            "differences": [
                {"finding": drift.finding.value, "row": drift.row, "entity": drift.owner} for drift in report.drifts
            ],
        }
        for each, report in reports
    }
    table = Table("derived data", "entities", *(each.value for each in DIFFERENCES))
    for each, report in reports:
        counts = (f"{count(len(report.of(finding)))}" for finding in DIFFERENCES)
        table.add_row(each.name, f"{count(report.entities)}", *counts)
    drifts = [drift for _, report in reports for drift in report.drifts]
    lines = [f"{each.derived}: {each.row} is {each.finding.value}; entity {each.owner}" for each in drifts[:SHOWN]]
    more = [f"and {count(len(drifts) - SHOWN)} more; --json lists all"] if len(drifts) > SHOWN else []
    print_result(result, as_json, (table, *lines, *more))


def print_result(result: object, as_json: bool, lines: Iterable[RenderableType]) -> None:
    """Print a result as JSON, or as lines."""
    if as_json:
        typer.echo(json.dumps(result, indent=2))
        return
    out = console()
    for line in lines:
        out.print(line, markup=False) if isinstance(line, str) else out.print(line)


COMMANDS: Final = (verify, repair, backfill, migrate, rotate, collect_orphans, drop_expired)
