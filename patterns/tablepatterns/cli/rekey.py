"""Commands that move a live table to new keys: `tablepatterns rekey copy app:move`."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Final, TypeVar

import typer

from ..figures import count, counted
from ..recipe import bound_async
from ..recipes.rekey.difference import Difference, RekeyReport
from ..recipes.rekey.phase import Phase
from ..recipes.rekey.rekey import Rekey, RekeyStatus
from .declared import load, run
from .maintenance import SHOWN, AsJson, Concurrency, Rate, ResumeFile, Target, Walks, print_result
from .output import reporting_errors

rekey = typer.Typer(help="Move a live table to new keys: copy, verify, cut over, roll back, commit, clean up.")

Name = Annotated[str, typer.Argument(metavar="MODULE:REKEY", help="The Rekey, such as app:move.")]
T = TypeVar("T")
_NEXT: Final = {
    Phase.COPYING: "copy, then verify until there is no difference, then cut-over",
    Phase.CUTTING_OVER: "cut-over to continue, or roll-back",
    Phase.CUT_OVER: "roll-back, or commit once no program needs the old keys",
    Phase.ROLLING_BACK: "roll-back to continue, or cut-over",
    Phase.COMMITTED: "clean-up",
}


@rekey.command("status")
@reporting_errors
def show_status(name: Name, storage: Target = None, as_json: AsJson = False) -> None:
    """Show the phase, which table is the primary one, and what to do next."""
    _print_status(_run(name, storage, lambda move: move.status()), as_json)


@rekey.command()
@reporting_errors
def copy(
    name: Name,
    storage: Target = None,
    max_per_second: Rate = None,
    max_concurrency: Concurrency = 8,
    resume: ResumeFile = None,
    as_json: AsJson = False,
) -> None:
    """Copy the entities of the old table that have no copy yet.

    The exit status is 1 if entities cannot be copied. It is safe to run again.
    """
    pace = {"max_per_second": max_per_second, "max_concurrency": max_concurrency}
    report = _walked(name, storage, "copy", resume, as_json, **pace)
    _print_report(report, f"{count(report.copies)} of {counted(report.entities, 'entity')} copied", as_json)


@rekey.command()
@reporting_errors
def verify(
    name: Name,
    storage: Target = None,
    max_per_second: Rate = None,
    max_concurrency: Concurrency = 8,
    resume: ResumeFile = None,
    as_json: AsJson = False,
) -> None:
    """Compare both tables, and report differences; no entity is written.

    The exit status is 1 if there are differences. The phase can be changed after a run without any.
    """
    pace = {"max_per_second": max_per_second, "max_concurrency": max_concurrency}
    report = _walked(name, storage, "verify", resume, as_json, **pace)
    _print_report(
        report, f"{counted(report.entities, 'entity')} and {counted(report.copies, 'copy')} compared", as_json
    )


@rekey.command()
@reporting_errors
def repair(
    name: Name,
    storage: Target = None,
    max_per_second: Rate = None,
    max_concurrency: Concurrency = 8,
    as_json: AsJson = False,
) -> None:
    """Compare both tables, and make the copies equal to the entities of the primary table."""
    pace = {"max_per_second": max_per_second, "max_concurrency": max_concurrency}
    repaired = _run(name, storage, lambda move: move.repair(**pace))
    print_result({"repaired": repaired}, as_json, (f"{counted(repaired, 'copy')} repaired",))


@rekey.command()
@reporting_errors
def cut_over(name: Name, storage: Target = None, as_json: AsJson = False) -> None:
    """Make the new table the primary one; writers wait, usually for less than a second."""
    _print_status(_run(name, storage, lambda move: move.cut_over()), as_json)


@rekey.command()
@reporting_errors
def roll_back(name: Name, storage: Target = None, as_json: AsJson = False) -> None:
    """Make the old table the primary one again, with all writes since the cut-over."""
    _print_status(_run(name, storage, lambda move: move.roll_back()), as_json)


@rekey.command()
@reporting_errors
def commit(
    name: Name,
    storage: Target = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    as_json: AsJson = False,
) -> None:
    """End the move: the old table is not written any more, and there is no way back."""
    if not yes:
        typer.confirm("Give up the way back to the old keys?", abort=True)
    _print_status(_run(name, storage, lambda move: move.commit()), as_json)


@rekey.command()
@reporting_errors
def clean_up(
    name: Name,
    storage: Target = None,
    drop_table: Annotated[bool, typer.Option("--drop-table", help="Drop the whole old table.")] = False,
    max_per_second: Rate = None,
    max_concurrency: Concurrency = 8,
    as_json: AsJson = False,
) -> None:
    """Delete the entities of the old table, once the move is committed."""
    options = {"drop_table": drop_table, "max_per_second": max_per_second, "max_concurrency": max_concurrency}
    deleted = _run(name, storage, lambda move: move.clean_up(**options))
    line = "the old table was dropped" if drop_table else f"{counted(deleted, 'old entity')} deleted"
    print_result({"deleted": deleted, "dropped": drop_table}, as_json, (line,))


def _run(
    name: str, storage: str | None, call: Callable[[Any], Coroutine[Any, Any, T]], walks: Walks | None = None
) -> T:
    move: Rekey[Any, Any] = load(name, Rekey, "rekey", storage)
    work = _with_old_account_closed(move, call(bound_async(move)))
    return run(move.account, work) if walks is None else walks.run(move.account, work)


async def _with_old_account_closed(move: Rekey[Any, Any], work: Coroutine[Any, Any, T]) -> T:
    """Close the account of the old set too, if it is another one."""
    old: Any = move.old_set.account
    try:
        return await work
    finally:
        if old is not move.account:
            closed = old.close()
            if closed is not None:
                await closed


def _walked(
    name: str, storage: str | None, command: str, resume: Path | None, is_silent: bool, **pace: Any
) -> RekeyReport:
    """Return the report of `copy` or `verify`, which show their progress and can be resumed."""
    walks = Walks(f"rekey-{command}", resume, is_silent=is_silent)

    def work(move: Any) -> Coroutine[Any, Any, RekeyReport]:
        call = getattr(move, command)
        return walks.over(
            command, lambda token, after: call(resume=token, progress=after, **pace), lambda report: report.entities
        )

    return _run(name, storage, work, walks)


def _print_status(status: RekeyStatus, as_json: bool) -> None:
    found = {**asdict(status), "phase": status.phase.value}
    others = "none" if status.copy is None else status.copy
    is_ready = status.is_verified and status.phase is Phase.COPYING
    print_result(
        found,
        as_json,
        (
            f"phase: {status.phase.value}",
            f"primary table: {status.primary}; copies: {others}",
            f"verified: {'yes' if status.is_verified else 'no'}",
            f"writes in progress: {count(status.waiting)}; poison: {count(status.poison)}",
            f"next: {'cut-over' if is_ready else _NEXT[status.phase]}",
        ),
    )


def _print_report(report: RekeyReport, line: str, as_json: bool) -> None:
    differences = [{**asdict(each), "mismatch": each.mismatch.value} for each in report.differences]
    result = {"entities": report.entities, "copies": report.copies, "differences": differences}
    shown = list(map(_line, report.differences[:SHOWN]))
    left = len(differences) - SHOWN
    more = [f"and {count(left)} more; --json lists all"] if left > 0 else []
    print_result(result, as_json, (line, *shown, *more))
    raise typer.Exit(0 if report.is_clean else 1)


def _line(each: Difference) -> str:
    other = f" and {each.other}" if each.other else ""
    copied = f" -> {each.copy}" if each.copy else ""
    reason = f": {each.reason}" if each.reason else ""
    return f"{each.mismatch.value}: {each.entity or 'no entity'}{other}{copied}{reason}"
