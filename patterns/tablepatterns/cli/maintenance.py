"""Commands that maintain a declared set: verify, check, repair, backfill, migrate, rotate, collect-orphans and others.

Each names an object of your code, such as `app:employees`, and takes any target. A command that walks a table shows its
progress, keeps a token in the resume file after each page, and continues from that file.
"""

from __future__ import annotations

import json
import sys
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
from ..entity_set.reconcile import Finding
from ..errors import BadInput
from ..figures import count, counted
from ..jobs import derived_data, migration
from ..jobs.drift import Report
from ..jobs.migration import Migration
from ..jobs.row_check import RowCheck, check_rows
from ..recipe import Account, bound_async
from ..recipes.encrypted_properties.key_rotation import KeyRotation, RotationProgress
from ..recipes.large_properties.large_values import LargePropertyStore
from ..recipes.period_tables.period_tables import PeriodTables
from ..recipes.wide_entity.wide_entity import WideEntity
from . import Stopped
from .declared import load, run
from .output import FAILED, DryRun, Interrupted, Result, Yes, command, confirm, console

SHOWN: Final = 10
DIFFERENCES: Final = (Finding.MISSING, Finding.STALE, Finding.ORPHANED, Finding.CONTESTED)
Encryptable: Final = (EntitySet, WideEntity)
_SAFE: Final = "it is safe to run it again"

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

T = TypeVar("T")
P = TypeVar("P", bound="Position")


class Position(Protocol):
    """What a walk reports after each page."""

    @property
    def token(self) -> str | None: ...


Walk = Callable[[str | None, Callable[[P], None]], Coroutine[Any, Any, P]]
"""Starts a walk, given the token to resume from and the function to call after each page."""


class ResumeTokens:
    """The tokens from which interrupted work continues, in a file.

    :param path: the file; it need not exist
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
    """Walks over a set's table, one after another: each shows its progress and can be resumed.

    :param work: what is run, which names the resume file unless the user does
    :param resume: the file that the user named
    """

    def __init__(self, work: str, resume: Path | None) -> None:
        path = resume or Path(f"tablepatterns-{work.replace(' ', '-')}.resume.json")
        self.tokens = ResumeTokens(path, continues=resume is not None)
        self._done: dict[str, dict[str, int]] = {}
        """What each walk has done up to its last complete page."""
        self._bars = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TaskProgressColumn(show_speed=True),
            TimeRemainingColumn(),
            console=console(stderr=True),
            disable=not sys.stderr.isatty(),
        )
        self._entities: int | None = None
        """How many entities the table has, known after the first complete walk."""

    async def over(self, work: str, call: Walk[P], figures: Callable[[P], dict[str, int]]) -> P:
        """Return the result of a walk.

        :param figures: what a result says for a reader: first how many entities it stands for
        """
        token = self.tokens[work]
        with self._bars:
            bar = self._bars.add_task(work, total=None if token else self._entities)
            self._done[work] = {}

            def after_page(so_far: P) -> None:
                self._done[work] = figures(so_far)
                self._bars.update(bar, completed=next(iter(self._done[work].values())))
                self.tokens.keep(work, so_far.token)

            result = await call(token, after_page)
        self.tokens.keep(work, None)
        self._done[work] = figures(result)
        if token is None:
            self._entities = next(iter(self._done[work].values()))
        return result

    def run(self, account: Account, work: Coroutine[Any, Any, T]) -> T:
        """Finish work on an account; after a signal, say what was done, and how to continue."""
        try:
            return run(account, work)
        except (KeyboardInterrupt, Stopped) as error:
            done = "; ".join(f"{name}: {_figures(figures)}" for name, figures in self._done.items())
            # Entities of the page in progress may be done, too: all of this work is idempotent
            hint = f"continue with --resume {self.tokens.path}" if self.tokens else _SAFE
            text = f"{done or 'no page was completed'}, and perhaps a part of the next page; {hint}"
            resume = str(self.tokens.path) if self.tokens else None
            raise Interrupted(text, {"done": self._done, "resume": resume}) from error


def _figures(figures: dict[str, int]) -> str:
    return ", ".join(f"{count(figure)} {name}" for name, figure in figures.items()) or "no page was completed"


def maintenance(app: typer.Typer) -> None:
    """Add the commands to the app."""
    command(app)(verify)
    command(app)(check)
    command(app)(repair)
    command(app)(backfill)
    command(app)(migrate)
    command(app)(rotate)
    command(app)(collect_orphans)
    command(app)(drop_expired)


def verify(
    name: SetName,
    derived: Names = None,
    storage: Target = None,
    max_per_second: Rate = None,
    max_concurrency: Concurrency = 8,
    resume: ResumeFile = None,
) -> Result:
    """Compare derived data with all entities, and report differences; nothing is written.

    The exit status is 1 if there are differences. With --resume it continues where an interrupted command stopped, and
    reports what it finds from there on.
    """
    return _differences(_over_derived("verify", name, derived, storage, resume, max_per_second, max_concurrency))


def check(
    name: SetName,
    storage: Target = None,
    max_per_second: Rate = None,
    max_concurrency: Concurrency = 8,
    resume: ResumeFile = None,
) -> Result:
    """Read the whole table, and report the rows that fit neither the key nor the model; nothing is written.

    The exit status is 1 if there are such rows. Rows of the set's derived data, and of other sets that the module
    declares in this table, belong there. With --resume it reports what it finds from there on.
    """
    rows = _checked("check", name, storage, resume, max_per_second, max_concurrency)
    misfits = [{"row": misfit.row, "reason": misfit.reason} for misfit in rows.misfits]
    line = f"{counted(rows.rows, 'row')} read, {counted(rows.entities, 'entity')}, {count(len(misfits))} do not fit"
    data = {"rows": rows.rows, "entities": rows.entities, "earlier_versions": rows.earlier, "misfits": misfits}
    return Result(data, [line, *first_lines(f"{each.row}: {each.reason}" for each in rows.misfits)], int(bool(misfits)))


def repair(
    name: SetName,
    derived: Names = None,
    storage: Target = None,
    max_per_second: Rate = None,
    max_concurrency: Concurrency = 8,
    resume: ResumeFile = None,
    dry_run: DryRun = False,
) -> Result:
    """Compare derived data with all entities, and correct the differences.

    Rows that two entities claim are left as they are; the exit status is then 1. It is safe to run again.
    """
    if dry_run:
        return _differences(_over_derived("verify", name, derived, storage, None, max_per_second, max_concurrency))
    reports = _over_derived("repair", name, derived, storage, resume, max_per_second, max_concurrency)
    result: dict[str, dict[str, int]] = {}
    for kind, report in reports:
        contested = len(report.of(Finding.CONTESTED))
        rows = {drift.row for drift in report.drifts if drift.finding is not Finding.CONTESTED}
        result[kind.name] = {"repaired": len(rows), "contested": contested}
    lines = (
        f"{kind}: {count(of['repaired'])} repaired, {count(of['contested'])} contested" for kind, of in result.items()
    )
    return Result(result, lines, int(any(of["contested"] for of in result.values())))


def backfill(
    name: SetName,
    derived: Names = None,
    storage: Target = None,
    max_per_second: Rate = None,
    max_concurrency: Concurrency = 8,
    resume: ResumeFile = None,
    dry_run: DryRun = False,
) -> Result:
    """Create the derived rows that older entities lack, after you added derived data to a set.

    Correct rows stay as they are, so it is safe to run again.
    """
    if dry_run:
        return _differences(_over_derived("verify", name, derived, storage, None, max_per_second, max_concurrency))
    reports = _over_derived("backfill", name, derived, storage, resume, max_per_second, max_concurrency)
    result = {kind.name: {"entities": report.entities} for kind, report in reports}
    lines = (f"{kind}: {counted(of['entities'], 'entity')} checked" for kind, of in result.items())
    return Result(result, lines)


def rotate(
    name: SetName,
    storage: Target = None,
    max_per_second: Rate = None,
    max_concurrency: Concurrency = 8,
    resume: ResumeFile = None,
    dry_run: DryRun = False,
) -> Result:
    """Re-encrypt the entities that are not under the current key yet, and count the rows under each key."""
    entities: Any = load(name, Encryptable, "set", storage)
    rotation: Any = bound_async(KeyRotation(entities, max_concurrency=max_concurrency))
    walks = Walks("rotate", resume)

    async def work() -> dict[str, Any]:
        if dry_run:
            return {"rows_by_key": await rotation.in_use()}

        def walk(token: str | None, after: Callable[[RotationProgress], None]) -> Any:
            return rotation.rotate(resume=token, progress=after, max_per_second=max_per_second)

        done = await walks.over("rotate", walk, lambda so_far: {"read": so_far.seen, "re-encrypted": so_far.rewritten})
        return {"rewritten": done.rewritten, "rows_by_key": await rotation.in_use()}

    result = walks.run(entities.account, work())
    keys = (
        f"key {key!r}: {counted(rows, 'row')}" if key else f"not encrypted: {counted(rows, 'row')}"
        for key, rows in result["rows_by_key"].items()
    )
    done = [] if dry_run else [f"{counted(result['rewritten'], 'entity')} re-encrypted"]
    return Result(result, [*done, *keys])


def migrate(
    name: SetName,
    storage: Target = None,
    max_per_second: Rate = None,
    max_concurrency: Concurrency = 8,
    resume: ResumeFile = None,
    dry_run: DryRun = False,
) -> Result:
    """Rewrite the entities of earlier versions of a set's model in its current version.

    Writers may keep running, and it is safe to run again.
    """
    if dry_run:
        rows = _checked("migrate", name, storage, resume, max_per_second, max_concurrency)
        line = f"{counted(rows.entities, 'entity')} checked, {count(rows.earlier)} of earlier versions"
        return Result({"entities": rows.entities, "earlier_versions": rows.earlier}, (line,))
    entities: EntitySet[Any, Any] = load(name, EntitySet, "set", storage)
    bound: Any = bound_async(entities)
    walks = Walks("migrate", resume)
    pace: dict[str, Any] = {"max_per_second": max_per_second, "max_concurrency": max_concurrency}

    def walk(token: str | None, after: Callable[[Migration], None]) -> Any:
        return migration.migrate(bound, resume=token, progress=after, **pace)

    work = walks.over("migrate", walk, lambda so_far: {"read": so_far.seen, "rewritten": so_far.rewritten})
    done: Migration = walks.run(entities.account, work)
    result = {"entities": done.seen, "rewritten": done.rewritten}
    return Result(result, (f"{counted(done.seen, 'entity')} checked, {count(done.rewritten)} rewritten",))


def collect_orphans(
    name: SetName,
    storage: Target = None,
    grace_hours: Annotated[float, typer.Option(min=0, help="How long a blob must have been unused.")] = 24,
    dry_run: DryRun = False,
) -> Result:
    """Mark the blobs of large properties that no entity uses, and delete those marked long enough ago."""
    entities: Any = load(name, Encryptable, "set", storage)
    values: Any = bound_async(LargePropertyStore(entities))
    grace = timedelta(hours=grace_hours)
    if dry_run:
        orphans: Sequence[str] = run(entities.account, values.verify(grace=grace)).orphans
        return Result({"orphans": list(orphans)}, [f"{counted(len(orphans), 'blob')} unused", *first_lines(orphans)])
    done = run(entities.account, values.collect_orphans(grace=grace))
    line = f"{counted(done.seen, 'blob')} seen, {count(done.marked)} marked, {count(done.deleted)} deleted"
    return Result(asdict(done), (line,))


def drop_expired(
    name: Annotated[str, typer.Argument(metavar="MODULE:TABLES", help="The PeriodTables, such as app:logins.")],
    storage: Target = None,
    dry_run: DryRun = False,
    yes: Yes = False,
) -> Result:
    """Drop the tables of all expired periods, after asking."""
    periods: PeriodTables[Any, Any] = load(name, PeriodTables, "tables", storage)
    bound: Any = bound_async(periods)

    async def work() -> list[str]:
        starts = await bound.expired()
        names = [f"{periods.table_prefix}{periods.period.label(start)}" for start in starts]
        if dry_run or not starts:
            return names
        confirm(f"Drop {', '.join(names)}?", yes=yes)
        # No other than those: a period may have expired since
        return [await bound.drop(start) for start in starts]

    tables: list[str] = run(periods.account, work())
    return Result({"expired" if dry_run else "dropped": tables}, tables or ("no period has expired",))


def _over_derived(
    work: str,
    name: str,
    names: Sequence[str] | None,
    storage: str | None,
    resume: Path | None,
    max_per_second: float | None,
    max_concurrency: int,
) -> list[tuple[Derived, Report]]:
    """Return the report of `verify`, `backfill` or `repair` on each kind of derived data."""
    entities: EntitySet[Any] = load(name, EntitySet, "set", storage)
    chosen = _chosen(entities, names)
    walks = Walks(work, resume)
    bound, call = bound_async(entities), getattr(derived_data, work)

    async def over(kind: Derived) -> Report:
        last = Report()

        async def walk(token: str | None, after: Callable[[Report], None]) -> Report:
            def keep(report: Report) -> None:
                nonlocal last
                last = report
                after(report)

            await call(
                bound, kind, resume=token, progress=keep, max_per_second=max_per_second, max_concurrency=max_concurrency
            )
            return last

        return await walks.over(f"{work} {kind.name}", walk, _figures_of)

    async def each() -> list[tuple[Derived, Report]]:
        return [(kind, await over(kind)) for kind in chosen]

    return walks.run(entities.account, each())


def _figures_of(report: Report) -> dict[str, int]:
    return {"entities": report.entities, "differences": len(report.drifts)}


def _checked(
    work: str,
    name: str,
    storage: str | None,
    resume: Path | None,
    max_per_second: float | None,
    max_concurrency: int,
) -> RowCheck:
    entities: EntitySet[Any, Any] = load(name, EntitySet, "set", storage)
    walks = Walks(work, resume)

    def walk(token: str | None, after: Callable[[RowCheck], None]) -> Coroutine[Any, Any, RowCheck]:
        return check_rows(
            bound_async(entities),
            resume=token,
            progress=after,
            max_per_second=max_per_second,
            max_concurrency=max_concurrency,
        )

    call = walks.over(work, walk, lambda rows: {"rows": rows.rows, "misfits": len(rows.misfits)})
    return walks.run(entities.account, call)


def _chosen(entities: EntitySet[Any], names: Sequence[str] | None) -> list[Derived]:
    known = {kind.name: kind for kind in entities.derived}
    for name in names or ():
        if name not in known:
            raise BadInput("--derived", name, f"the set derives {', '.join(known) or 'nothing'}", "name one of these")
    return [known[name] for name in names] if names else list(known.values())


def _differences(reports: Sequence[tuple[Derived, Report]]) -> Result:
    result = {
        kind.name: {
            "entities": report.entities,
            "rows": report.rows,
            "differences": [
                {"finding": drift.finding.value, "row": drift.row, "entity": drift.owner} for drift in report.drifts
            ],
        }
        for kind, report in reports
    }
    table = Table("derived data", "entities", *(finding.value for finding in DIFFERENCES))
    for kind, report in reports:
        counts = (count(len(report.of(finding))) for finding in DIFFERENCES)
        table.add_row(kind.name, count(report.entities), *counts)
    drifts = [drift for _, report in reports for drift in report.drifts]
    lines = first_lines(
        f"{drift.derived}: {drift.row} is {drift.finding.value}; entity {drift.owner}" for drift in drifts
    )
    return Result(result, [table, *lines], FAILED if drifts else 0)


def first_lines(lines: Iterable[str]) -> list[RenderableType]:
    """Return the first of many lines, and how many more there are."""
    found = list(lines)
    more = [f"and {count(len(found) - SHOWN)} more; --json lists all"] if len(found) > SHOWN else []
    return [*found[:SHOWN], *more]
