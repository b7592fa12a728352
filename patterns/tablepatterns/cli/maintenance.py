"""Commands that maintain a declared set: verify, check, repair, backfill, migrate, rotate, collect-orphans and others.

Each names an object of your code, such as `app:employees`, and takes any target. A command that walks a table shows its
progress, keeps a token in the resume file after each page, and continues from that file.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from datetime import timedelta
from functools import partial
from typing import Annotated, Any, Final

import typer
from rich.console import RenderableType
from rich.table import Table

from ..edm import ordinal
from ..entity_set.derived import Derived
from ..entity_set.entity_set import EntitySet
from ..entity_set.reconcile import Finding
from ..errors import BadInput
from ..figures import count, counted
from ..filters import Filter, QueryClass, parse
from ..jobs import counting, derived_data, migration
from ..jobs.counting import Counts
from ..jobs.derived_data import Report
from ..jobs.migration import RowCheck, check_rows
from ..key import Key
from ..recipe import bound_async
from ..recipes.bulk_delete import BulkDelete
from ..recipes.encrypted_properties.key_rotation import KeyRotation
from ..recipes.large_properties.large_values import LargePropertyStore
from ..recipes.period_tables.period_tables import PeriodTables
from ..recipes.rekey.rekey import Rekey
from ..recipes.wide_entity.wide_entity import WideEntity
from ..storage import connect
from .declared import load, run
from .output import FAILED, DryRun, Result, Yes, command, confirm, console, new_app
from .walks import Target, Walks, run_or_report, walking

SHOWN: Final = 10
DIFFERENCES: Final = (Finding.MISSING, Finding.STALE, Finding.ORPHANED, Finding.CONTESTED)
Encryptable: Final = (EntitySet, WideEntity)

SetName = Annotated[
    str, typer.Argument(metavar="MODULE:SET", help="The set, such as app:employees, or a function that returns it.")
]
Names = Annotated[
    list[str] | None, typer.Option("--derived", help="The name of derived data; several times; by default, all.")
]


def verify(name: SetName, derived: Names = None, *, walks: Walks) -> Result:
    """Compare derived data with all entities, and report differences; nothing is written.

    The exit status is 1 if there are differences. With --resume it continues where an interrupted command stopped, and
    reports what it finds from there on.
    """
    return _differences(_over_derived("verify", name, derived, walks))


def check(
    name: Annotated[str, typer.Argument(metavar="MODULE:SET", help="The set, or a Rekey, whose two sets it checks.")],
    *,
    walks: Walks,
) -> Result:
    """Read the whole table, and report the rows that fit neither the key nor the model; nothing is written.

    The exit status is 1 if there are such rows. Rows of the set's derived data, and of other sets that the module
    declares in this table, belong there. With --resume it reports what it finds from there on.
    """
    checked: Any = walks.load(name, (EntitySet, Rekey), "set")
    sets: dict[str, EntitySet[Any, Any]] = {"check": checked}
    if not isinstance(checked, EntitySet):
        if "workers" in walks.pace:
            raise BadInput("--workers", name, "a Rekey has two sets", "check each set by its name")
        sets = {"check old set": checked.old_set, "check new set": checked.new_set}
    checks = walks.run(_check_all(sets, walks), *(entities.account for entities in sets.values()))
    data = {
        work.removeprefix("check ").replace(" ", "_"): {
            "rows": rows.rows,
            "entities": rows.entities,
            "earlier_versions": rows.earlier,
            "misfits": [{"row": misfit.row, "reason": misfit.reason} for misfit in rows.misfits],
        }
        for work, rows in checks.items()
    }
    lines: list[RenderableType] = []
    for work, rows in checks.items():
        table = "" if len(sets) == 1 else f"{sets[work].table.name}: "
        read = f"{counted(rows.rows, 'row')} read, {counted(rows.entities, 'entity')}"
        lines.append(f"{table}{read}, {count(len(rows.misfits))} do not fit")
        lines += first_lines(f"{misfit.row}: {misfit.reason}" for misfit in rows.misfits)
    return Result(data.get("check", data), lines, int(any(rows.misfits for rows in checks.values())))


def repair(name: SetName, derived: Names = None, dry_run: DryRun = False, *, walks: Walks) -> Result:
    """Compare derived data with all entities, and correct the differences.

    Rows that two entities claim are left as they are; the exit status is then 1. It is safe to run again.
    """
    if dry_run:
        return _differences(_over_derived("verify", name, derived, walks))
    result = {
        kind.name: {
            "repaired": len({drift.row for drift in report.repairable}),
            "contested": len(report.of(Finding.CONTESTED)),
        }
        for kind, report in _over_derived("repair", name, derived, walks)
    }
    lines = (
        f"{kind}: {count(of['repaired'])} repaired, {count(of['contested'])} contested" for kind, of in result.items()
    )
    return Result(result, lines, int(any(of["contested"] for of in result.values())))


def backfill(name: SetName, derived: Names = None, dry_run: DryRun = False, *, walks: Walks) -> Result:
    """Create the derived rows that older entities lack, after you added derived data to a set.

    Correct rows stay as they are, so it is safe to run again.
    """
    if dry_run:
        return _differences(_over_derived("verify", name, derived, walks))
    reports = _over_derived("backfill", name, derived, walks)
    result = {kind.name: {"entities": report.entities} for kind, report in reports}
    return Result(result, (f"{kind}: {counted(of['entities'], 'entity')} checked" for kind, of in result.items()))


def rotate(name: SetName, dry_run: DryRun = False, *, walks: Walks) -> Result:
    """Re-encrypt the entities that are not under the current key yet, and count the rows under each key."""
    entities: Any = walks.load(name, Encryptable, "set")
    rotation: Any = bound_async(KeyRotation(entities, max_concurrency=walks.pace.pop("max_concurrency")))

    async def work() -> dict[str, Any]:
        if dry_run:
            return {"rows_by_key": await rotation.in_use()}
        done = await walks.over("rotate", rotation.rotate, {"read": "seen", "re-encrypted": "rewritten"})
        return {"rewritten": done.rewritten, "rows_by_key": await rotation.in_use()}

    result = walks.run(work(), entities.account)
    keys = (
        f"key {key!r}: {counted(rows, 'row')}" if key else f"not encrypted: {counted(rows, 'row')}"
        for key, rows in result["rows_by_key"].items()
    )
    done = [] if dry_run else [f"{counted(result['rewritten'], 'entity')} re-encrypted"]
    return Result(result, [*done, *keys])


def migrate(name: SetName, dry_run: DryRun = False, *, walks: Walks) -> Result:
    """Rewrite the entities of earlier versions of a set's model in its current version.

    Writers may keep running, and it is safe to run again.
    """
    entities: EntitySet[Any, Any] = walks.load(name, EntitySet, "set")
    if dry_run:
        rows = walks.run(_check_all({"check": entities}, walks), entities.account)["check"]
        line = f"{counted(rows.entities, 'entity')} checked, {count(rows.earlier)} of earlier versions"
        return Result({"entities": rows.entities, "earlier_versions": rows.earlier}, (line,))
    call = partial(migration.migrate, bound_async(entities))
    done = walks.run(walks.over("migrate", call, {"read": "seen", "rewritten": "rewritten"}), entities.account)
    result = {"entities": done.seen, "rewritten": done.rewritten}
    return Result(result, (f"{counted(done.seen, 'entity')} checked, {count(done.rewritten)} rewritten",))


def collect_orphans(
    name: SetName,
    grace_hours: Annotated[float, typer.Option(min=0, help="How long a blob must have been unused.")] = 24,
    dry_run: DryRun = False,
    *,
    walks: Walks,
) -> Result:
    """Mark the blobs of large properties that no entity uses, and delete those marked long enough ago."""
    entities: Any = walks.load(name, Encryptable, "set")
    values: Any = bound_async(LargePropertyStore(entities))
    grace = timedelta(hours=grace_hours)
    if dry_run:
        orphans: Sequence[str] = run(values.verify(grace=grace), entities.account).orphans
        return Result({"orphans": list(orphans)}, [f"{counted(len(orphans), 'blob')} unused", *first_lines(orphans)])
    call = partial(values.collect_orphans, grace=grace)
    figures = {"seen": "seen", "marked": "marked", "deleted": "deleted"}
    report = walks.run(walks.over("collect-orphans", call, figures), entities.account)
    line = f"{counted(report.seen, 'blob')} seen, {count(report.marked)} marked, {count(report.deleted)} deleted"
    names = [
        *(f"marked: {blob}" for blob in report.marked_names),
        *(f"deleted: {blob}" for blob in report.deleted_names),
    ]
    data = asdict(report)
    del data["token"]
    return Result(data, [line, *first_lines(names)])


def bulk_delete(
    name: SetName,
    where: Annotated[str, typer.Option(help='Which entities to delete, such as "Age gt 30".')],
    dry_run: DryRun = False,
    yes: Yes = False,
    *,
    walks: Walks,
) -> Result:
    """Delete the entities that match a filter, with their derived rows, after asking; a dry run counts them.

    The whole table is read, unless the filter names a partition.
    """
    entities: Any = walks.load(name, EntitySet, "set")
    matching = parse(where)
    if not where.strip():
        raise BadInput("--where", where, "it matches every entity", "to delete everything, delete the table")
    if dry_run:
        return _counted(entities, walks, matching, (), by_partition=False)
    confirm(f"Delete the entities of {entities.table.name} where {matching}?", yes=yes)

    del walks.pace["max_concurrency"]
    deletion: Any = bound_async(BulkDelete(entities, max_per_second=walks.pace.pop("max_per_second")))
    delete = partial(deletion.delete, matching, allow=QueryClass.TABLE_SCAN)
    figures = {"deleted": "entities", "left": "left"}
    done = walks.run(walks.over("bulk-delete", delete, figures), entities.account)
    line = f"{counted(done.entities, 'entity')} deleted, {count(done.left)} left that changed during the deletion"
    return Result({"deleted": done.entities, "left": done.left}, (line,))


def count_entities(
    name: Annotated[str, typer.Argument(metavar="TABLE|MODULE:SET", help="The table, or a set such as app:employees.")],
    where: Annotated[str | None, typer.Option(help='A filter, such as "Age gt 30".')] = None,
    sum_of: Annotated[list[str] | None, typer.Option("--sum", help="A property to add up; several times.")] = None,
    by_partition: Annotated[bool, typer.Option("--by-partition", help="Count each partition by itself, too.")] = False,
    *,
    walks: Walks,
) -> Result:
    """Count the rows of a table, or the entities of a set, and add up properties; the whole table is read."""
    entities = walks.load(name, EntitySet, "set") if ":" in name else walks.load_by(partial(_whole_table, name))
    return _counted(entities, walks, None if where is None else parse(where), sum_of or (), by_partition=by_partition)


def _whole_table(name: str, storage: str | None) -> EntitySet[Any, Any]:
    return EntitySet(connect(storage or "env"), name, Key("{PartitionKey}", "{RowKey}"))


def _counted(entities: Any, walks: Walks, where: Filter | None, sum_of: Sequence[str], *, by_partition: bool) -> Result:
    del walks.pace["max_concurrency"]
    call = partial(counting.count, bound_async(entities), where, sum_of=sum_of, by_partition=by_partition)
    done = walks.run(walks.over("count", call, {"entities": "entities"}), entities.account)
    partitions: dict[str, Counts] = dict(sorted(done.partitions.items(), key=lambda item: ordinal(item[0])))
    table = Table("PartitionKey", "entities", *(f"sum of {name}" for name in sum_of))
    for partition_key, counts in {**partitions, "(all)": done}.items():
        table.add_row(partition_key, count(counts.entities), *(str(counts.sums.get(name, 0)) for name in sum_of))
    by_key = {key: {"entities": counts.entities, "sums": counts.sums} for key, counts in partitions.items()}
    data = {"entities": done.entities, "sums": done.sums, **({"partitions": by_key} if by_partition else {})}
    return Result(data, [table] if sum_of or by_partition else [counted(done.entities, "entity")])


def drop_expired(
    name: Annotated[str, typer.Argument(metavar="MODULE:TABLES", help="The PeriodTables, such as app:logins.")],
    storage: Target = None,
    dry_run: DryRun = False,
    yes: Yes = False,
) -> Result:
    """Drop the tables of all expired periods, after asking."""
    periods: PeriodTables[Any, Any] = load(name, PeriodTables, "tables", storage)
    bound: Any = bound_async(periods)
    done: dict[str, list[str]] = {"dropped": []}

    async def work() -> list[str]:
        starts = await bound.expired()
        names = [f"{periods.table_prefix}{periods.period.label(start)}" for start in starts]
        if dry_run or not starts:
            return names
        confirm(f"Drop {', '.join(names)}?", yes=yes)
        # No other than those: a period may have expired since
        for start in starts:
            done["dropped"] += [await bound.drop(start)]
        return done["dropped"]

    tables = run_or_report(work(), done, periods.account)
    return Result({"expired" if dry_run else "dropped": tables}, tables or ("no period has expired",))


def _over_derived(work: str, name: str, names: Sequence[str] | None, walks: Walks) -> list[tuple[Derived, Report]]:
    entities: EntitySet[Any] = walks.load(name, EntitySet, "set")
    kinds = {kind.name: kind for kind in entities.derived}
    for kind_name in names or ():
        if kind_name not in kinds:
            rule = f"the set derives {', '.join(kinds) or 'nothing'}"
            raise BadInput("--derived", kind_name, rule, "name one of these")
    chosen = [kinds[kind_name] for kind_name in names or ()]
    if not chosen:
        chosen = [kind for kind in entities.derived if kind.is_verifiable] or list(entities.derived)
        if left_out := ", ".join(kind.name for kind in entities.derived if kind not in chosen):
            console(stderr=True).print(f"without {left_out}, of which each row combines several entities: use recount")
    job = partial(getattr(derived_data, work), bound_async(entities))
    figures = {"entities": "entities", "differences": "drifts"}

    async def over_all() -> list[tuple[Derived, Report]]:
        return [(kind, await walks.over(f"{work} {kind.name}", partial(job, kind), figures)) for kind in chosen]

    return walks.run(over_all(), entities.account)


async def _check_all(sets: dict[str, Any], walks: Walks) -> dict[str, RowCheck]:
    figures = {"rows": "rows", "misfits": "misfits"}
    return {
        work: await walks.over(work, partial(check_rows, bound_async(entities)), figures)
        for work, entities in sets.items()
    }


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
    texts = list(lines)
    more = [f"and {count(len(texts) - SHOWN)} more; --json lists all"] if len(texts) > SHOWN else []
    return [*texts[:SHOWN], *more]


app = new_app()
for walk in (verify, check, repair, backfill, migrate, rotate, collect_orphans, bulk_delete):
    command(app)(walking(walk.__name__.replace("_", "-"))(walk))
command(app, "count")(walking("count")(count_entities))
command(app)(drop_expired)
