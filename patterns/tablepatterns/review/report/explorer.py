"""Show a design on the page: its map, its stored tables, and each access pattern request by request."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Final

from ...figures import counted, number, rate, sum_of_money
from .formatting import plain
from .map import SYMBOLS, design_map
from .markup import Markup, element, joined
from .pins import Pins

Part = Mapping[str, Any]
_MARKS: Final = ("read", "returned", "written")
_BLOBS: Final = {"blob_reads": "read", "blob_writes": "written or listed", "blob_deletes": "deleted"}
_ENTITIES: Final = {"examined": "read", "returned": "returned", "written": "written"}


def explorer(document: Part, pins: Pins) -> Markup:
    """Return the section that shows the design; empty if the review was not detailed.

    :param document: the report as in JSON
    :param pins: the findings of the report
    """
    simulation = document["simulation"]
    if simulation is None:
        return joined()
    stored = sum(row["stored"] for table in simulation["tables"] for row in table["rows"])
    entities = sum(simulation["entities"].values())
    says = (
        f"A sample of {counted(entities, 'entity')} as the recipes store it, in {counted(stored, 'row')}. Choose an "
        "access pattern to see which rows it reads, returns and writes, and what a crash between two requests leaves."
    )
    return element(
        "section",
        element("h2", "Design"),
        element("p", says),
        element("figure", _caption(), design_map(simulation["places"]), class_="map"),
        element("div", _chooser(document, pins), _tables(document, pins), class_="explorer"),
        id="design",
    )


def _caption() -> Markup:
    lines = "A solid line: changed in the transaction of the entity. A dashed line: changed later, by a message."
    return element("figcaption", element("strong", "Sets, indexes, queues and blobs"), element("span", lines))


def _chooser(document: Part, pins: Pins) -> Markup:
    """Return the selection of an access pattern, with a description of each."""
    calls = list(_calls(document))
    choices = [_choice("all", "all rows", joined(), chosen=True)]
    choices += [
        _choice(str(at), f"{plain(call['set'])}: {plain(call['name'])}", pins.on(f"{call['set']}: {call['name']}"))
        for at, (call, _, _) in enumerate(calls)
    ]
    panels = [_panel(at, *call, pins) for at, call in enumerate(calls)]
    legend = element("legend", "Access pattern")
    return element("div", element("fieldset", legend, *choices), element("div", *panels), class_="chooser")


def _calls(document: Part) -> Iterator[tuple[Part, Part, Part]]:
    """Yield the figures, the consistency and the requests of each access pattern."""
    walks = {(each["set"], each["name"]): each for each in document["simulation"]["walkthroughs"]}
    promised = {(each["set"], each["name"]): each for each in document["consistency"]}
    for call in document["access_patterns"]:
        key = call["set"], call["name"]
        yield call, promised.get(key, {}), walks[key]


def _choice(value: str, name: str, links: Markup, *, chosen: bool = False) -> Markup:
    own, checked = f"choose-{value}", "checked" if chosen else ""
    radio = element("input", type="radio", name="call", value=value, id=own, checked=checked)
    return element("div", radio, element("label", name, for_=own), links, class_="choice")


def _panel(at: int, call: Part, promised: Part, walk: Part, pins: Pins) -> Markup:
    subject = f"{call['set']}: {call['name']}"
    facts = [
        ("Call", element("code", plain(call["how"]))),
        ("Class", plain(call["query_class"] or ("read of blobs" if call["kind"] == "query" else call["kind"]))),
        ("Rate", f"{rate(call['rate'])}, at the busiest time {rate(call['peak'])}"),
        ("Requests", f"{number(call['requests'])}; billed: {number(call['transactions'])}"),
        _touched(call),
    ]
    if call["cost_a_month"] is not None:
        facts.append(("Cost a month", sum_of_money(call["cost_a_month"])))
    if promised:
        facts += [("Readers see", plain(promised["reads"])), ("A crash leaves", plain(promised["crash"]))]
        facts.append(("Repaired by", plain(promised["repaired_by"])))
    terms = [joined(element("dt", name), element("dd", text)) for name, text in facts]
    found = pins.on(subject)
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
        **_rows_of(walk["steps"]),
    )


def _touched(call: Part) -> tuple[str, str]:
    """Return what a call reads and writes: entities, or the blobs of a log."""
    if any(call[key] for key in _ENTITIES) or not any(call[key] for key in _BLOBS):
        return "Entities", ", ".join(f"{number(call[key])} {word}" for key, word in _ENTITIES.items())
    return "Blobs", ", ".join(f"{number(call[key])} {word}" for key, word in _BLOBS.items() if call[key])


def _rows_of(steps: Sequence[Part]) -> dict[str, str]:
    """Return the numbers of the rows that requests read, returned and wrote, as attributes of an element."""
    return {
        f"data_{mark}": " ".join(map(str, dict.fromkeys(number for step in steps for number in step[mark])))
        for mark in _MARKS
    }


def _steps(call: Part, walk: Part) -> Markup:
    if walk["rejected"] is not None:
        return element("p", f"Rejected: {plain(walk['rejected'])}", class_="bad")
    steps = walk["steps"]
    parts = [element("h4", "In the sample"), element("ol", *(_step(step) for step in steps), class_="steps")]
    if call["kind"] == "query":
        parts.append(element("p", "It only reads: a crash changes nothing.", class_="quiet"))
    elif not any(step["crash"] for step in steps):
        said = "A single request makes all changes: after a crash there are all of them, or none."
        parts.append(element("p", said, class_="quiet"))
    return joined(*parts)


def _step(step: Part) -> Markup:
    done = [
        *([step["query_class"]] if step["query_class"] else []),
        *(f"{counted(len(step[mark]), 'row')} {mark}" for mark in _MARKS if step[mark]),
    ]
    parts = [
        element(
            "button", element("code", plain(step["request"])), type="button", aria_pressed="false", **_rows_of([step])
        )
    ]
    if done:
        parts.append(element("small", ", ".join(map(plain, done))))
    if step["crash"]:
        parts.append(element("p", element("b", "Crash after this request: "), plain(step["crash"])))
    if step["recovery"]:
        parts.append(element("p", element("b", "After the lease: "), plain(step["recovery"])))
    return element("li", *parts)


def _tables(document: Part, pins: Pins) -> Markup:
    simulation = document["simulation"]
    sets = {each["name"]: each for each in document["design"]["sets"]}
    tables = groupby(simulation["tables"], key=lambda table: _family(table, sets))
    shown = [_table(name, list(group), sets, simulation["places"], pins) for name, group in tables]
    status = element("p", "", class_="status", role="status")
    return element("div", _legend(simulation), status, *shown, class_="tables")


def _family(table: Part, sets: Mapping[str, Part]) -> str:
    """Return the name of a table; for period tables, the common prefix of their names."""
    of = {row["set"] for row in table["rows"]}
    declared = sets.get(next(iter(of), "")) if len(of) == 1 else None
    if declared is not None and declared["pattern"] == "period_tables":
        return str(declared["table"])
    return str(table["name"])


def _legend(simulation: Part) -> Markup:
    kinds = {row["kind"] for table in simulation["tables"] for row in table["rows"]}
    items = [element("li", _symbol(kind), f" {called}") for kind, (_, called) in SYMBOLS.items() if kind in kinds]
    return element("ul", *items, class_="legend", aria_label="Kinds of rows")


def _symbol(kind: str) -> Markup:
    symbol, called = SYMBOLS[kind]
    return element("span", symbol, class_=f"symbol {kind}", role="img", aria_label=called, title=called)


def _table(name: str, tables: Sequence[Part], sets: Mapping[str, Part], places: Sequence[Part], pins: Pins) -> Markup:
    rows = [row for table in tables for row in table["rows"]]
    here = list(dict.fromkeys(row["set"] for row in rows if row["set"]))
    many = len(tables) > 1
    title = f"Tables {plain(name)}…, one for each period" if many else f"Table {plain(name)}"
    links = pins.on(name, *(each for each in here if each != name))
    partitions = groupby(
        ((table["name"], row) for table in tables for row in table["rows"]),
        key=lambda each: (each[0], each[1]["partition"]),
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


def _templates(rows: Sequence[Part], places: Sequence[Part], pins: Pins) -> Iterator[Markup]:
    """Yield each kind of row with its key template."""
    kinds = dict.fromkeys((row["kind"], row["set"], row["derived"], row["template"]) for row in rows)
    for kind, of, derived, template in kinds:
        name = plain(f"{of}: {derived}" if derived else of)
        place = next((each for each in places if each["set"] == of and each["name"] == (derived or of)), None)
        late = ", updated later" if place is not None and place["is_eventual"] else ""
        links = pins.on(f"{of}: {derived}") if derived else joined()
        yield element("li", _symbol(kind), f" {name}{late} ", element("code", plain(template)), links)


def _fields(declared: Part, pins: Pins) -> Markup:
    """Return the fields of a set, each with the findings that name it."""
    items = [
        element("li", element("code", plain(name)), f" {_field(field)}", pins.on_field(declared["name"], name))
        for name, field in declared["shape"]["fields"].items()
    ]
    summary = element("summary", f"Fields of {plain(declared['name'])}")
    return element("details", summary, element("ul", *items), class_="fields")


def _field(field: Part) -> str:
    size = f" of {number(field['size'])}" if field["type"] in ("string", "binary") else ""
    values = f", {number(field['distinct'])} values" if field["distinct"] is not None else ""
    return f"{field['type']}{size}{values}{', rising' if field['order'] == 'rising' else ''}"


def _band(partition: str, rows: Sequence[Part]) -> Markup:
    stored = sum(row["stored"] for row in rows)
    count = element("small", counted(stored, "row"))
    head = element("th", element("span", plain(partition)), count, colspan="4", scope="rowgroup")
    hidden = "" if stored else "hidden"
    return element("tbody", element("tr", head, class_="band"), *map(_row, rows), hidden=hidden)


def _row(row: Part) -> Markup:
    return element(
        "tr",
        element("td", _symbol(row["kind"])),
        element("td", element("code", plain(row["key"]), title=plain(row["template"]))),
        element("td", plain(row["properties"]), title=plain(row["properties"])),
        element("td", "", class_="mark"),
        class_=f"row {row['kind']}",
        data_row=str(row["number"]),
        data_stored="yes" if row["stored"] else "no",
        hidden="" if row["stored"] else "hidden",
    )
