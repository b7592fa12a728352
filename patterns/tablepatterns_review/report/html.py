"""Write a review as one self-contained HTML page."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files
from itertools import groupby
from typing import Any, Final

from jinja2 import Environment
from markupsafe import Markup

from tablepatterns import figures

from ..capacity.growth import grown
from ..design.model import Design, Field, part_of
from ..result import About, Finding, Measured, Reviewed, Simulation, Step, StoredRow, StoredTable
from ..templates import environment
from .formatting import (
    SEVERITIES,
    deciding,
    effect_of_all,
    heat_sentence,
    hottest_first,
    lines,
    name_of,
    nearest_to_target,
    plain,
    subject_of,
    verdict,
)
from .tables import review_sheet, sheets

GUIDE: Final = "https://learn.microsoft.com/azure/storage/tables/table-storage-design-guide"
SYMBOLS: Final = {
    "primary": ("●", "entity"),
    "copy": ("◆", "index copy"),
    "list": ("☰", "list"),
    "summary": ("Σ", "summary"),
    "part": ("▤", "further row of an entity"),
}
"""The symbol and the name of each kind of row."""
_LONG: Final = 24
"""A text with a longer word may be broken anywhere."""
_SECTIONS: Final[Mapping[About, str]] = {
    "query": "access-patterns",
    "write": "access-patterns",
    "table": "heat",
    "account": "heat",
}
"""The section of the page beside which a finding is shown, by what it is about; the others are about keys."""
_MAX_ROWS: Final = 24
_WARM: Final = 0.1
HEAT: Final = ((1.0, "over", "over the target"), (0.5, "hot", "over half"), (_WARM, "warm", "over a tenth"))
"""The least share of the target, the class, and its description; less is `cool`."""
_MARKS: Final = ("read", "returned", "written")
_ENTITIES: Final = {"examined": "read", "returned": "returned", "written": "written"}
_BLOBS: Final = {"blob_reads": "blobs read", "blob_writes": "blobs written or listed", "blob_deletes": "blobs deleted"}


def html(reviewed: Reviewed) -> str:
    """Return the report as a single HTML page: first the design, with the findings that decide, then the rest.

    The page makes no request, and names from the design cannot become markup. Without scripts, everything is shown at
    once. Printed, it is the review sheet, one page.
    """
    simulation, decide = reviewed.simulation, deciding(reviewed.findings)
    walks = {name_of(walk): walk for walk in simulation.walkthroughs} if simulation else {}
    findings = [
        ShownFinding(number, finding, finding in decide, _call_of(finding, reviewed))
        for number, finding in enumerate(reviewed.findings, start=1)
    ]
    page = _environment().get_template("page.html.jinja")
    return page.render(
        reviewed=reviewed,
        verdict=verdict(reviewed).capitalize(),
        facts=list(_facts(reviewed)),
        findings=findings,
        together=effect_of_all(reviewed),
        simulation=simulation,
        calls=[(call, walks[name_of(call)]) for call in reviewed.measured if simulation],
        tables=list(_tables(reviewed.design, simulation)) if simulation else [],
        sheets=sheets(reviewed),
        heat=heat_chart(reviewed),
        printed=review_sheet(reviewed),
    )


@dataclass(frozen=True)
class ShownFinding:
    """A finding on the page.

    :param number: its place in the review
    :param decides: whether it is shown, not folded
    :param call: the number of the access pattern that it is about, if the page shows its rows
    """

    number: int
    finding: Finding
    decides: bool
    call: int | None

    @property
    def section(self) -> str:
        return _SECTIONS.get(self.finding.about, "keys")

    @property
    def details(self) -> Mapping[str, Sequence[str]]:
        return dict(lines(self.finding))


def _file(name: str) -> str:
    return (files(__name__.rpartition(".")[0]) / name).read_text(encoding="utf-8")


@cache
def _environment() -> Environment:
    script = _file("page.js")
    formats = {name: getattr(figures, name) for name in ("number", "plural", "counted", "rate", "sum_of_money")}
    return environment(
        __name__,
        is_html=True,
        show_text=plain,
        **formats,
        style=Markup(_file("page.css")),  # noqa: S704 - a file of this package
        script=Markup(script),  # noqa: S704
        digest=b64encode(sha256(script.encode()).digest()).decode(),
        GUIDE=GUIDE,
        SEVERITIES=SEVERITIES,
        SYMBOLS=SYMBOLS,
        HEAT=HEAT,
        subject_of=subject_of,
        field_text=_field_text,
        text_class=_text_class,
        touched=_touched,
        rows_touched=_rows_touched,
    )


def _facts(reviewed: Reviewed) -> Iterator[tuple[str, str, str]]:
    """Yield the name, the value and a remark of each figure at the top of the page."""
    design, bill = reviewed.design, reviewed.bill
    horizon = f"after {figures.plural(design.years, 'year')}"
    entities = sum(declared_set.shape.count for declared_set in design.sets)
    then = sum(grown(declared_set.shape, design.years) for declared_set in design.sets)
    portion, name = nearest_to_target(reviewed)
    yield "Sets", figures.number(len(design.sets)), figures.plural(len(reviewed.measured), "access pattern")
    yield "Entities", figures.number(entities), f"{figures.number(then)} {horizon}"
    cost, grown_cost = (figures.money(value, bill.currency) for value in (bill.total, bill.then))
    yield "Cost a month", cost, f"{grown_cost} {horizon}"
    yield "Busiest, of its target", figures.share(portion), name


def _call_of(finding: Finding, reviewed: Reviewed) -> int | None:
    """Return the number of the access pattern that a finding is about, if the page shows it."""
    if not reviewed.simulation or finding.about not in ("query", "write"):
        return None
    return next((number for number, call in enumerate(reviewed.measured) if call.subject == finding.subject), None)


@dataclass(frozen=True)
class ShownTable:
    """A stored table of the page; the tables of all periods of a set are one.

    :param templates: each kind of row: what it belongs to, its key template, and whether it is updated later
    :param fields: the fields of each set that has rows in it, by the name of the set
    :param bands: the partitions with their rows
    """

    title: str
    templates: tuple[tuple[str, str, str, bool], ...]
    fields: Mapping[str, Mapping[str, Field]]
    bands: tuple[tuple[str, tuple[StoredRow, ...]], ...]


def _tables(design: Design, simulation: Simulation) -> Iterator[ShownTable]:
    sets = {declared_set.name: declared_set for declared_set in design.sets}
    late = {(of.name, derived.name) for of in design.sets for derived in of.derived if derived.is_eventual}

    def family(table: StoredTable) -> str:
        owners = {row.of for row in table.rows}
        declared_set = sets.get(owners.pop()) if len(owners) == 1 else None
        is_period = declared_set is not None and table.name.startswith(declared_set.table)
        return declared_set.table if declared_set is not None and is_period else table.name

    for name, group in groupby(simulation.tables, key=family):
        rows = [(table.name, row) for table in group for row in table.rows]
        is_one = len({table for table, _ in rows}) <= 1
        kinds = dict.fromkeys((row.kind, row.of, row.derived, row.template) for _, row in rows)
        yield ShownTable(
            f"Table {name}" if is_one else f"Tables {name}…, one for each period",
            tuple(
                (kind, part_of(of, derived) if derived else of, template, (of, derived or of) in late)
                for kind, of, derived, template in kinds
            ),
            {row.of: sets[row.of].shape.fields for _, row in rows if row.of in sets},
            tuple(
                (partition if is_one else f"{table} · {partition}", tuple(row for _, row in band))
                for (table, partition), band in groupby(rows, key=lambda pair: (pair[0], pair[1].partition))
            ),
        )


def _field_text(field: Field) -> str:
    size = f" of {figures.number(field.size)}" if field.type in ("string", "binary") else ""
    values = f", {figures.number(field.distinct)} values" if field.distinct is not None else ""
    return f"{field.type}{size}{values}{', rising' if field.order == 'rising' else ''}"


def _text_class(look: str, words: Sequence[str]) -> str:
    return " ".join(filter(None, [look, "long" if max(map(len, words), default=0) > _LONG else ""]))


def _touched(call: Measured) -> str:
    """Return what a call reads and writes in the declared design: entities, or blobs."""
    counts = [(getattr(call, name), word) for name, word in (_ENTITIES | _BLOBS).items()]
    return ", ".join(f"{figures.number(value)} {word}" for value, word in counts if value)


def _rows_touched(steps: Sequence[Step]) -> Mapping[str, list[Any]]:
    return {mark: list(dict.fromkeys(row for step in steps for row in getattr(step, mark))) for mark in _MARKS}


# ------------------------------------------------------------------ the load of the busiest partitions over a day


@dataclass(frozen=True)
class HeatChart:
    """The days of partitions: a sentence as its title, and how to read it.

    :param rows: each partition, the class of each hour by its highest rate, and the peak as a share of the target
    """

    title: str
    reading: str
    rows: tuple[tuple[str, tuple[str, ...], str], ...]


def heat_chart(reviewed: Reviewed) -> HeatChart | None:
    """Return the chart of the hottest table; None if no table has a load."""
    heat = next(iter(hottest_first(reviewed)), None)
    if heat is None or not heat.peak:
        return None
    loaded = [partition for partition in heat.partitions if partition.peak]
    rows = loaded[:_MAX_ROWS]
    if heat.follows_time:
        rows.sort(key=lambda partition: (partition.rates.index(partition.peak), partition.partition))
    left_out = heat.others + len(loaded) - len(rows)
    verb = "is" if left_out == 1 else "are"
    more = f" {figures.plural(left_out, 'partition')} with less load {verb} left out." if left_out else ""
    reading = (
        "Each row is the day of one partition, by the hour, with its peak at the right, as shares of the target of "
        f"{figures.number(heat.target)} entities a second. Blank: no load.{more}"
    )
    days = (
        (row.partition, heat_classes(row.peaks_by_hour, heat.target), figures.short_share(row.peak / heat.target))
        for row in rows
    )
    return HeatChart(f"{heat_sentence(heat)}.", reading, tuple(days))


def heat_classes(rates: Sequence[float], target: float) -> tuple[str, ...]:
    """Return the class of each rate, by its share of the target; empty if there is no load."""
    return tuple(
        next((name for least, name, _ in HEAT if rate / target > least), "cool") if rate > 0 else "" for rate in rates
    )
