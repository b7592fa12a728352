"""Write a review as one self-contained HTML page."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256
from importlib.resources import files
from typing import Final

from ...extras import how_to_install
from ...figures import money, number, plural, share
from ..capacity.growth import grown
from ..measure.log_pace import entries_of
from ..model import Finding, Reviewed, part_of
from .explorer import explorer
from .fine import fine
from .formatting import SEVERITIES, lines, loads, plain, subject_of, verdict
from .markup import Markup, element, joined
from .pins import Pins
from .plots import NEEDED, Plot, Plots, available, plots
from .scale import scale
from .tables import Cell, Sheet, sheets

GUIDE: Final = "https://learn.microsoft.com/azure/storage/tables/table-storage-design-guide"
_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; script-src {}; base-uri 'none'; form-action 'none'"
_RELOAD: Final = """\
new EventSource("/events").onmessage = (event) => {
  if (event.data !== document.documentElement.dataset.version) location.reload();
};
"""
"""Runs only on a page that `--watch` serves."""
_LONG: Final = 24
_NO_PLOTS: Final = Plots(None, None, ())


def html(reviewed: Reviewed, *, version: str = "") -> str:
    """Return the report as a single HTML page, with plots if matplotlib is installed.

    Without matplotlib, the page says how to install it; the tables have the same figures. The page of a detailed review
    also shows the design: its map, its stored tables, each access pattern request by request, and sliders for entities,
    rates and years.

    Guarantees: the page makes no request, and names from the design cannot become markup. Without scripts, everything
    is shown at once. The same review gives the same page, with the same version of matplotlib.

    Cost: nothing.

    :param reviewed: the result of `review`
    :param version: the version of a served page, which reloads when its server has another version
    """
    drawn = plots(reviewed) if available() else _NO_PLOTS
    pins = Pins(reviewed.findings)
    shown = [explorer(reviewed, pins), scale(reviewed)]
    parts = [
        _findings(reviewed),
        element("section", element("h2", "No findings"), *fine(reviewed), id="fine"),
    ]
    account = pins.on("account", reviewed.design.name, kinds=["account"])
    parts += shown
    parts += [
        _section(sheet, _plots_of(sheet, drawn), account if sheet.name == "heat" else joined())
        for sheet in sheets(reviewed)
    ]
    title = f"Design review: {plain(reviewed.design.name)}"
    opening = _opening(reviewed, [part for part in ("design", "scale") if any(shown)])
    return page(title, opening, element("main", *parts), _closing(), version=version)


def page(title: str, *body: Markup, version: str = "") -> str:
    """Return a complete page with the style and the script of a report."""
    own = [_file("page.js"), *([_RELOAD] if version else [])]
    hashes = [b64encode(sha256(each.encode()).digest()).decode() for each in own]
    policy = _POLICY.format(" ".join(f"'sha256-{each}'" for each in hashes))
    policy += "; connect-src 'self'" if version else ""
    head = joined(
        Markup('<meta charset="utf-8">'),
        Markup(f'<meta http-equiv="Content-Security-Policy" content="{policy}">'),
        Markup('<meta name="viewport" content="width=device-width, initial-scale=1">'),
        element("title", title),
        element("style", Markup(_file("page.css"))),
    )
    scripts = [element("script", Markup(each)) for each in own]
    parts = element("head", head), element("body", *body, *scripts)
    return f"<!DOCTYPE html>\n{element('html', *parts, lang='en', data_version=version)}\n"


def _file(name: str) -> str:
    return (files(__name__.rpartition(".")[0]) / name).read_text(encoding="utf-8")


def _opening(reviewed: Reviewed, parts: Sequence[str]) -> Markup:
    shown = [("findings", "Findings"), ("fine", "No findings"), *((each, each.capitalize()) for each in parts)]
    shown += [(each.name, each.title) for each in sheets(reviewed)]
    links = [element("li", element("a", title, href=f"#{name}")) for name, title in shown]
    return element(
        "header",
        element("p", "Design review", class_="kicker"),
        element("h1", plain(reviewed.design.name)),
        element("p", f"{verdict(reviewed).capitalize()}.", class_="verdict"),
        element("dl", *_facts(reviewed), class_="facts"),
        element("nav", element("ul", *links), aria_label="Parts of this report"),
    )


def _facts(reviewed: Reviewed) -> list[Markup]:
    design, bill, currency = reviewed.design, reviewed.bill, plain(reviewed.bill.currency)
    entities = sum(each.shape.count for each in design.sets)
    then = sum(grown(each.shape, design.years) for each in design.sets)
    horizon = f"after {plural(design.years, 'year')}"
    hottest, *_ = loads(reviewed)
    return [
        _fact("Sets", number(len(design.sets)), plural(len(reviewed.measured), "access pattern")),
        *_logs_fact(reviewed),
        _fact("Entities", number(entities), f"{number(then)} {horizon}"),
        _fact("Cost a month", money(bill.total, currency), f"{money(bill.then, currency)} {horizon}"),
        _fact("Nearest to its target", share(hottest.share), hottest.name),
    ]


def _logs_fact(reviewed: Reviewed) -> list[Markup]:
    logs, years = reviewed.design.logs, reviewed.design.years
    if not logs:
        return []
    now, then = (sum(entries_of(log, after) for log in logs) for after in (0.0, years))
    entries = f"{number(now)} entries, {number(then)} after {plural(years, 'year')}"
    return [_fact("Blob logs", number(len(logs)), entries)]


def _fact(name: str, value: str, more: str) -> Markup:
    return element("div", element("dt", name), element("dd", value, element("span", more)))


def _findings(reviewed: Reviewed) -> Markup:
    findings = reviewed.findings
    if not findings:
        said = element("p", element("span", "clean", class_="label clean"), " No findings.")
        return element("section", element("h2", "Findings"), said, id="findings")
    said = element("p", "The most serious findings first." if len(findings) > 1 else "", class_="quiet")
    shown = [_finding(number, each, _call_of(each, reviewed)) for number, each in enumerate(findings, start=1)]
    return element("section", element("h2", "Findings"), said, *shown, id="findings")


def _call_of(finding: Finding, reviewed: Reviewed) -> Markup:
    """Return a link to the access pattern that a finding is about, if any."""
    calls = enumerate(reviewed.measured if reviewed.simulation else ())
    found = [
        at
        for at, call in calls
        if part_of(call.of.name, call.access.name) == finding.subject and finding.about in ("query", "write")
    ]
    return joined(*(element("a", "Show its rows", href=f"#call-{at}") for at in found[:1]))


def _finding(number: int, finding: Finding, link: Markup) -> Markup:
    severity = SEVERITIES[finding.severity]
    terms = [joined(element("dt", name), *(element("dd", each) for each in words)) for name, words in lines(finding)]
    return element(
        "article",
        element(
            "header",
            element("span", str(number), class_=f"pin {severity}", aria_hidden="true"),
            element("span", severity, class_="label"),
            element("h3", subject_of(finding)),
            element("code", plain(finding.rule)),
            link,
        ),
        element("p", plain(finding.says), class_="says"),
        element("dl", *terms),
        class_=f"finding {severity}",
        id=f"finding-{number}",
    )


def _plots_of(sheet: Sheet, drawn: Plots) -> Markup:
    """Return the plots that belong to a part of the report."""
    shown = {"access-patterns": [drawn.cost], "heat": [drawn.load, *drawn.heats]}.get(sheet.name, [])
    if shown and drawn is _NO_PLOTS:
        how = element("code", how_to_install("plot"))
        return element("p", f"There are no plots, because {NEEDED} is not installed: ", how, class_="quiet")
    return joined(*(_figure(each) for each in shown if each is not None))


def _figure(plot: Plot) -> Markup:
    named = f"{plot.name}-title"
    pictures = [
        element("div", Markup(svg), class_=width, role="img", aria_labelledby=named)
        for width, svg in (("wide", plot.wide), ("narrow", plot.narrow))
    ]
    caption = element("figcaption", element("strong", plot.title, id=named), element("span", plot.reading))
    return element("figure", caption, *pictures, id=plot.name)


def _section(sheet: Sheet, pictures: Markup, links: Markup) -> Markup:
    parts = [element("h2", sheet.title, links), element("p", sheet.says), pictures]
    if sheet.rows:
        parts.append(_table(sheet))
        parts += [element("p", note, class_="quiet") for note in sheet.notes]
    return element("section", *parts, id=sheet.name)


def _table(sheet: Sheet) -> Markup:
    heads = [element("th", each.name, scope="col", class_="figures" if each.figures else "") for each in sheet.columns]
    rows = [element("tr", *_fields(sheet, row)) for row in sheet.rows]
    total = [element("tr", *_fields(sheet, sheet.total), class_="total")] if sheet.total else []
    return element("table", element("thead", element("tr", *heads)), element("tbody", *rows, *total))


def _fields(sheet: Sheet, row: tuple[Cell, ...]) -> list[Markup]:
    return [
        element(
            "td",
            _words(cell),
            data_label=column.name,
            class_="figures" if column.figures else "",
        )
        for column, cell in zip(sheet.columns, row, strict=True)
    ]


def _words(cell: Cell) -> Markup:
    look: list[str] = [cell.tone] if cell.tone != "plain" else []
    look += ["long"] if max(map(len, cell.text.split()), default=0) > _LONG else []
    text = element("span", cell.text, class_=" ".join(look)) if cell.text else Markup("")
    code = element("code", cell.code) if cell.code else Markup("")
    note = element("small", cell.note) if cell.note else Markup("")
    if not code and not note:
        return text
    return element("div", text, code, note)


def _closing() -> Markup:
    link = element("a", "Microsoft's Azure Table storage design guide", href=GUIDE)
    said = element("p", "Sections are those of ", link, ". Written by tablepatterns.", class_="quiet")
    return element("footer", said)
