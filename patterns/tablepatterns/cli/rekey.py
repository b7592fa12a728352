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
from .maintenance import Concurrency, Rate, ResumeFile, Target, Walks, first_lines
from .output import DryRun, Result, Yes, command, confirm

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


@command(rekey)
def status(name: Name, storage: Target = None) -> Result:
    """Show the phase, which table is the primary one, and what to do next.

    The exit status is 1 if there are poison messages.
    """
    return _step(name, storage, lambda move: move.status(), dry_run=True)


@command(rekey)
def copy(
    name: Name,
    storage: Target = None,
    max_per_second: Rate = None,
    max_concurrency: Concurrency = 8,
    resume: ResumeFile = None,
    dry_run: DryRun = False,
) -> Result:
    """Copy the entities of the old table that have no copy yet.

    The exit status is 1 if entities cannot be copied. It is safe to run again. A dry run compares both tables.
    """
    work = "verify" if dry_run else "copy"
    return _walked(name, storage, work, resume, max_per_second=max_per_second, max_concurrency=max_concurrency)


@command(rekey)
def verify(
    name: Name,
    storage: Target = None,
    max_per_second: Rate = None,
    max_concurrency: Concurrency = 8,
    resume: ResumeFile = None,
) -> Result:
    """Compare both tables, and report differences; no entity is written.

    The exit status is 1 if there are differences. The phase can be changed after a run without any.
    """
    return _walked(name, storage, "verify", resume, max_per_second=max_per_second, max_concurrency=max_concurrency)


@command(rekey)
def repair(
    name: Name,
    storage: Target = None,
    max_per_second: Rate = None,
    max_concurrency: Concurrency = 8,
    dry_run: DryRun = False,
) -> Result:
    """Compare both tables, and make the copies equal to the entities of the primary table; a dry run only compares."""
    pace: dict[str, Any] = {"max_per_second": max_per_second, "max_concurrency": max_concurrency}
    if dry_run:
        return _walked(name, storage, "verify", None, **pace)
    repaired = _run(name, storage, lambda move: move.repair(**pace))
    return Result({"repaired": repaired}, (f"{counted(repaired, 'copy')} repaired",))


@command(rekey)
def cut_over(name: Name, storage: Target = None, dry_run: DryRun = False) -> Result:
    """Make the new table the primary one; writers wait, usually for less than a second."""
    return _step(name, storage, lambda move: move.cut_over(), dry_run=dry_run)


@command(rekey)
def roll_back(name: Name, storage: Target = None, dry_run: DryRun = False) -> Result:
    """Make the old table the primary one again, with all writes since the cut-over."""
    return _step(name, storage, lambda move: move.roll_back(), dry_run=dry_run)


@command(rekey)
def commit(name: Name, storage: Target = None, dry_run: DryRun = False, yes: Yes = False) -> Result:
    """End the move: the old table is not written any more, and there is no way back."""
    if not dry_run:
        confirm("Give up the way back to the old keys?", yes=yes)
    return _step(name, storage, lambda move: move.commit(), dry_run=dry_run)


@command(rekey)
def clean_up(
    name: Name,
    storage: Target = None,
    drop_table: Annotated[bool, typer.Option("--drop-table", help="Drop the whole old table.")] = False,
    max_per_second: Rate = None,
    max_concurrency: Concurrency = 8,
    dry_run: DryRun = False,
) -> Result:
    """Delete the entities of the old table, once the move is committed."""
    if dry_run:
        return _step(name, storage, lambda move: move.status(), dry_run=True)
    options = {"drop_table": drop_table, "max_per_second": max_per_second, "max_concurrency": max_concurrency}
    deleted = _run(name, storage, lambda move: move.clean_up(**options))
    line = "the old table was dropped" if drop_table else f"{counted(deleted, 'old entity')} deleted"
    return Result({"deleted": deleted, "dropped": drop_table}, (line,))


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


def _step(
    name: str, storage: str | None, call: Callable[[Any], Coroutine[Any, Any, RekeyStatus]], *, dry_run: bool
) -> Result:
    """Change the phase; with `dry_run`, only show the state and what it allows next."""
    state = _run(name, storage, (lambda move: move.status()) if dry_run else call)
    others = "none" if state.copy is None else state.copy
    is_ready = state.is_verified and state.phase is Phase.COPYING
    following = "cut-over" if is_ready else _NEXT[state.phase]
    return Result(
        {**asdict(state), "phase": state.phase.value, "next": following},
        (
            f"phase: {state.phase.value}",
            f"primary table: {state.primary}; copies: {others}",
            f"verified: {'yes' if state.is_verified else 'no'}",
            f"writes in progress: {count(state.waiting)}; poison: {count(state.poison)}",
            f"next: {following}",
        ),
        int(dry_run and state.poison > 0),
    )


def _walked(name: str, storage: str | None, work: str, resume: Path | None, **pace: Any) -> Result:
    """Return the result of `copy` or `verify`, which show their progress and can be resumed."""
    walks = Walks(f"rekey {work}", resume)

    def over(move: Any) -> Coroutine[Any, Any, RekeyReport]:
        call = getattr(move, work)
        return walks.over(
            work,
            lambda token, after: call(resume=token, progress=after, **pace),
            lambda report: {"entities": report.entities, "copies": report.copies},
        )

    report = _run(name, storage, over, walks)
    entities, copies = counted(report.entities, "entity"), counted(report.copies, "copy")
    line = f"{count(report.copies)} of {entities} copied" if work == "copy" else f"{entities} and {copies} compared"
    differences = [{**asdict(each), "mismatch": each.mismatch.value} for each in report.differences]
    result = {"entities": report.entities, "copies": report.copies, "differences": differences}
    return Result(result, (line, *first_lines(map(_line, report.differences))), 0 if report.is_clean else 1)


def _line(difference: Difference) -> str:
    other = f" and {difference.other}" if difference.other else ""
    copied = f" -> {difference.copy}" if difference.copy else ""
    reason = f": {difference.reason}" if difference.reason else ""
    return f"{difference.mismatch.value}: {difference.entity or 'no entity'}{other}{copied}{reason}"
