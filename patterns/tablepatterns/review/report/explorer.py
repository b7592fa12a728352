"""Show a design on the page: its map, its stored tables, and each access pattern request by request."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Final

from ...figures import counted, number, rate, sum_of_money
from ..design.model import DeclaredSet, Field
from ..model import Consistency, Measured, Place, Reviewed, Simulation, Step, StoredRow, StoredTable, Walkthrough
from .formatting import plain
from .map import SYMBOLS, design_map
from .markup import Markup, element, joined
from .pins import DERIVED, Pins

_MARKS: Final = ("read", "returned", "written")
_BLOBS: Final = {"blob_reads": "read", "blob_writes": "written or listed", "blob_deletes": "deleted"}
_ENTITIES: Final = {"examined": "read", "returned": "returned", "written": "written"}


def explorer(reviewed: Reviewed, pins: Pins) -> Markup:
    """Return the section that shows the design; empty if the review was not detailed.

    :param reviewed: the result of `review`
    :param pins: the findings of the report
    """
    simulation = reviewed.simulation
    if simulation is None:
        return joined()
    stored = sum(row.stored for table in simulation.tables for row in table.rows)
    entities = sum(simulation.entities.values())
    says = (
        f"A sample of {counted(entities, 'entity')} as the recipes store it, in {counted(stored, 'row')}. Choose an "
        "access pattern to see which rows it reads, returns and writes, and what a crash between two requests leaves."
    )
    return element(
        "section",
        element("h2", "Design"),
        element("p", says),
        element("figure", _caption(), design_map(simulation.places), class_="map"),
        element("div", _chooser(reviewed, simulation, pins), _tables(reviewed, simulation, pins), class_="explorer"),
        id="design",
    )


def _caption() -> Markup:
    lines = "A solid line: changed in the transaction of the entity. A dashed line: changed later, by a message."
    return element("figcaption", element("strong", "Sets, indexes, queues and blobs"), element("span", lines))


def _chooser(reviewed: Reviewed, simulation: Simulation, pins: Pins) -> Markup:
    """Return the selection of an access pattern, with a description of each."""
    calls = list(_calls(reviewed, simulation))
    choices = [_choice("all", "all rows", joined(), chosen=True)]
    choices += [
        _choice(
            str(at),
            f"{plain(call.of.name)}: {plain(call.access.name)}",
            _pins_of(call, pins),
        )
        for at, (call, _, _) in enumerate(calls)
    ]
    panels = [_panel(at, *call, pins) for at, call in enumerate(calls)]
    legend = element("legend", "Access pattern")
    return element("div", element("fieldset", legend, *choices), element("div", *panels), class_="chooser")


def _calls(reviewed: Reviewed, simulation: Simulation) -> Iterator[tuple[Measured, Consistency | None, Walkthrough]]:
    """Yield the figures, the consistency and the requests of each access pattern."""
    walks = {(each.of.name, each.access.name): each for each in simulation.walkthroughs}
    promised = {(each.of.name, each.access.name): each for each in reviewed.promises}
    for call in reviewed.measured:
        key = call.of.name, call.access.name
        yield call, promised.get(key), walks[key]


def _choice(value: str, name: str, links: Markup, *, chosen: bool = False) -> Markup:
    own, checked = f"choose-{value}", "checked" if chosen else ""
    radio = element("input", type="radio", name="call", value=value, id=own, checked=checked)
    return element("div", radio, element("label", name, for_=own), links, class_="choice")


def _panel(at: int, call: Measured, promised: Consistency | None, walk: Walkthrough, pins: Pins) -> Markup:
    subject = f"{call.of.name}: {call.access.name}"
    facts = [
        ("Call", element("code", plain(call.how))),
        ("Class", _class_of(call)),
        ("Rate", f"{rate(call.rate)}, at the busiest time {rate(call.busiest)}"),
        ("Requests", f"{number(call.requests)}; billed: {number(call.transactions)}"),
        _touched(call),
    ]
    if call.cost_a_month is not None:
        facts.append(("Cost a month", sum_of_money(call.cost_a_month)))
    if promised:
        facts += [("Readers see", plain(promised.reads)), ("A crash leaves", plain(promised.crash))]
        facts.append(("Repaired by", plain(promised.repaired_by)))
    terms = [joined(element("dt", name), element("dd", text)) for name, text in facts]
    found = _pins_of(call, pins)
    state = joined("Findings: ", found) if found else "No finding about this access pattern."
    return element(
        "article",
        element("h3", plain(subject)),
        element("p", state, class_="quiet"),
        element("dl", *terms),
        _steps(call, walk),
        id=f"call-{at}",
        class_="call",
        data_call=str(at),
        **_rows_of(walk.steps),
    )


def _class_of(call: Measured) -> str:
    if call.query_class is not None:
        return call.query_class.label
    return "read of blobs" if call.kind == "query" else call.kind


def _touched(call: Measured) -> tuple[str, str]:
    """Return what a call reads and writes: entities, or the blobs of a log."""
    if any(getattr(call, key) for key in _ENTITIES) or not any(getattr(call, key) for key in _BLOBS):
        return "Entities", ", ".join(f"{number(getattr(call, key))} {word}" for key, word in _ENTITIES.items())
    found = ((getattr(call, key), word) for key, word in _BLOBS.items())
    return "Blobs", ", ".join(f"{number(value)} {word}" for value, word in found if value)


def _pins_of(call: Measured, pins: Pins) -> Markup:
    kind = "query" if call.kind == "query" else "write"
    return pins.on(f"{call.of.name}: {call.access.name}", kinds=[kind])


def _rows_of(steps: Sequence[Step]) -> dict[str, str]:
    """Return the numbers of the rows that requests read, returned and wrote, as attributes of an element."""
    return {
        f"data_{mark}": " ".join(map(str, dict.fromkeys(number for step in steps for number in getattr(step, mark))))
        for mark in _MARKS
    }


def _steps(call: Measured, walk: Walkthrough) -> Markup:
    if walk.rejected is not None:
        return element("p", f"Rejected: {plain(walk.rejected)}", class_="bad")
    steps = walk.steps
    parts = [element("h4", "In the sample"), element("ol", *(_step(step) for step in steps), class_="steps")]
    if call.kind == "query":
        parts.append(element("p", "It only reads: a crash changes nothing.", class_="quiet"))
    elif not any(step.crash for step in steps):
        said = "A single request makes all changes: after a crash there are all of them, or none."
        parts.append(element("p", said, class_="quiet"))
    return joined(*parts)


def _step(step: Step) -> Markup:
    done = [
        *([step.query_class] if step.query_class else []),
        *(f"{counted(len(getattr(step, mark)), 'row')} {mark}" for mark in _MARKS if getattr(step, mark)),
    ]
    parts = [
        element("button", element("code", plain(step.request)), type="button", aria_pressed="false", **_rows_of([step]))
    ]
    if done:
        parts.append(element("small", ", ".join(map(plain, done))))
    if step.crash:
        parts.append(element("p", element("b", "Crash after this request: "), plain(step.crash)))
    if step.recovery:
        parts.append(element("p", element("b", "After the lease: "), plain(step.recovery)))
    return element("li", *parts)


def _tables(reviewed: Reviewed, simulation: Simulation, pins: Pins) -> Markup:
    sets = {each.name: each for each in reviewed.design.sets}
    tables = groupby(simulation.tables, key=lambda table: _family(table, sets))
    shown = [_table(name, list(group), sets, simulation.places, pins) for name, group in tables]
    status = element("p", "", class_="status", role="status")
    return element("div", _legend(simulation), status, *shown, class_="tables")


def _family(table: StoredTable, sets: Mapping[str, DeclaredSet]) -> str:
    """Return the name of a table; for period tables, the common prefix of their names."""
    of = {row.of for row in table.rows}
    declared = sets.get(next(iter(of), "")) if len(of) == 1 else None
    if declared is not None and declared.pattern == "period_tables":
        return declared.table
    return table.name


def _legend(simulation: Simulation) -> Markup:
    kinds = {row.kind for table in simulation.tables for row in table.rows}
    items = [element("li", _symbol(kind), f" {called}") for kind, (_, called) in SYMBOLS.items() if kind in kinds]
    return element("ul", *items, class_="legend", aria_label="Kinds of rows")


def _symbol(kind: str) -> Markup:
    symbol, called = SYMBOLS[kind]
    return element("span", symbol, class_=f"symbol {kind}", role="img", aria_label=called, title=called)


def _table(
    name: str, tables: Sequence[StoredTable], sets: Mapping[str, DeclaredSet], places: Sequence[Place], pins: Pins
) -> Markup:
    rows = [row for table in tables for row in table.rows]
    here = list(dict.fromkeys(row.of for row in rows if row.of))
    many = len(tables) > 1
    title = f"Tables {plain(name)}…, one for each period" if many else f"Table {plain(name)}"
    links = pins.on(name, *(each for each in here if each != name), kinds=("set", "table"))
    links = joined(links, *(_pins_of_others(sets[each], rows, pins) for each in here if each in sets))
    partitions = groupby(
        ((table.name, row) for table in tables for row in table.rows),
        key=lambda each: (each[0], each[1].partition),
    )
    bands = [
        _band(f"{table} · {key}" if many else key, [row for _, row in group]) for (table, key), group in partitions
    ]
    head = element("tr", *(element("th", each, scope="col") for each in ("Kind", "RowKey", "Properties", "Request")))
    return element(
        "details",
        element("summary", element("span", title), links),
        element("ul", *_templates(rows, places, pins), class_="templates"),
        *(_fields(sets[each], pins) for each in here if each in sets),
        element("table", element("thead", head), *bands, class_="stored"),
        open="open",
    )


def _pins_of_others(declared: DeclaredSet, rows: Sequence[StoredRow], pins: Pins) -> Markup:
    """Return links to the findings about what has no rows of its own: readers, and derived data that is not in rows."""
    shown = {(row.of, row.derived) for row in rows}
    derived = [each.name for each in declared.derived if (declared.name, each.name) not in shown]
    readers = [f"{declared.name}: {each.name}" for each in declared.access]
    in_table = {row.of for row in rows if row.derived is None}
    if declared.name not in in_table:
        return joined()
    return joined(
        pins.on(*readers, kinds=["reader"]), pins.on(*(f"{declared.name}: {each}" for each in derived), kinds=DERIVED)
    )


def _templates(rows: Sequence[StoredRow], places: Sequence[Place], pins: Pins) -> Iterator[Markup]:
    """Yield each kind of row with its key template."""
    kinds = dict.fromkeys((row.kind, row.of, row.derived, row.template) for row in rows)
    for kind, of, derived, template in kinds:
        name = plain(f"{of}: {derived}" if derived else of)
        place = next((each for each in places if each.of == of and each.name == (derived or of)), None)
        late = ", updated later" if place is not None and place.is_eventual else ""
        links = pins.on(f"{of}: {derived}", kinds=DERIVED) if derived else joined()
        yield element("li", _symbol(kind), f" {name}{late} ", element("code", plain(template)), links)


def _fields(declared: DeclaredSet, pins: Pins) -> Markup:
    """Return the fields of a set, each with the findings that name it."""
    items = [
        element("li", element("code", plain(name)), f" {_field(field)}", pins.on_field(declared.name, name))
        for name, field in declared.shape.fields.items()
    ]
    summary = element("summary", f"Fields of {plain(declared.name)}")
    return element("details", summary, element("ul", *items), class_="fields")


def _field(field: Field) -> str:
    size = f" of {number(field.size)}" if field.type in ("string", "binary") else ""
    values = f", {number(field.distinct)} values" if field.distinct is not None else ""
    return f"{field.type}{size}{values}{', rising' if field.order == 'rising' else ''}"


def _band(partition: str, rows: Sequence[StoredRow]) -> Markup:
    stored = sum(row.stored for row in rows)
    count = element("small", counted(stored, "row"))
    head = element("th", element("span", plain(partition)), count, colspan="4", scope="rowgroup")
    hidden = "" if stored else "hidden"
    return element("tbody", element("tr", head, class_="band"), *map(_row, rows), hidden=hidden)


def _row(row: StoredRow) -> Markup:
    return element(
        "tr",
        element("td", _symbol(row.kind)),
        element("td", element("code", plain(row.key), title=plain(row.template))),
        element("td", plain(row.properties), title=plain(row.properties)),
        element("td", "", class_="mark"),
        class_=f"row {row.kind}",
        data_row=str(row.number),
        data_stored="yes" if row.stored else "no",
        hidden="" if row.stored else "hidden",
    )
