"""Show the figures of a design for other numbers of entities, other rates and years of growth."""

from __future__ import annotations

import json
from collections.abc import Sequence
from math import isfinite
from typing import Any

from ...figures import money, number, plural, share
from ..model import Projections, Reviewed
from .formatting import plain
from .markup import Markup, element, joined


def scale(reviewed: Reviewed) -> Markup:
    """Return the section with the sliders; empty if the review was not detailed.

    The review has computed the figures of each slider position, as text: the script only shows them.

    :param reviewed: the result of `review`
    """
    found = reviewed.projections
    if found is None:
        return joined()
    sets = reviewed.design.sets
    entities = sum(each.shape.count for each in sets)
    growth = sum(each.shape.net_growth for each in sets)
    axes = {
        "entities": [f"× {number(each)}: {number(entities * each)}" for each in found.entities],
        "rates": [f"× {number(each)}" for each in found.rates],
        "years": [plural(each, "year") for each in found.years],
    }
    starts = [found.entities.index(1), found.rates.index(1), 0]
    fields = [_slider(name, texts, at) for (name, texts), at in zip(axes.items(), starts, strict=True)]
    if len(found.years) == 1:
        fields.append(element("p", "No growth is declared, so the years make no difference.", class_="quiet"))
    says = (
        "The figures of the design with other numbers of entities, at other rates, and after years of growth, all "
        f"computed by this review. The design has {number(entities)} entities, and grows by {number(growth)} a year."
    )
    if reviewed.design.logs:
        says += " A blob log grows with the rates."
    shown = points(found, plain(reviewed.bill.currency))
    return element(
        "section",
        element("h2", "Scale"),
        element("p", says),
        element("div", element("div", *fields, class_="sliders"), _figures(shown, found, starts), class_="scale"),
        _data({"axes": list(axes.values()), "points": shown}),
        id="scale",
    )


def points(found: Projections, currency: str) -> list[list[Any]]:
    """Return the texts of each point (cost, partition, account, limits), and which limits are exceeded."""
    shown: list[list[Any]] = []
    for at, cost in enumerate(found.cost):
        used = [each if isfinite(each) else 0 for each in found.used[at]]
        shown.append(
            [
                money(cost, currency),
                share(found.busiest[at]),
                plain(found.partition[at]),
                share(found.account[at]),
                [share(each) for each in used],
                [int(each > 1) for each in (found.busiest[at], found.account[at], *used)],
            ]
        )
    return shown


def _slider(name: str, texts: Sequence[str], at: int) -> Markup:
    label = element("label", name.capitalize(), for_=f"scale-{name}")
    slider = element(
        "input",
        type="range",
        id=f"scale-{name}",
        min="0",
        max=str(len(texts) - 1),
        step="1",
        value=str(at),
        aria_valuetext=texts[at],
        disabled="disabled" if len(texts) == 1 else "",
    )
    return element("div", label, slider, element("output", texts[at], for_=f"scale-{name}"))


def _figures(shown: Sequence[Sequence[Any]], found: Projections, starts: Sequence[int]) -> Markup:
    entities, rates, years = starts
    at = (entities * len(found.rates) + rates) * len(found.years) + years
    cost, busiest, partition, account, used, over = shown[at]
    facts = [
        ("Cost a month", cost, "cost", 0),
        ("Busiest partition, share of its target", busiest, "busiest", over[0]),
        ("Account, share of its target", account, "account", over[1]),
    ]
    items = [
        joined(element("dt", name), element("dd", element("span", text, id=f"at-{key}", class_="bad" if bad else "")))
        for name, text, key, bad in facts
    ]
    name = element("p", "The busiest partition: ", element("span", partition, id="at-partition"), class_="quiet")
    limits = [
        element("li", f"{plain(limit)}: ", element("span", text, class_="bad" if bad else ""))
        for limit, text, bad in zip(found.limits, used, over[2:], strict=True)
    ]
    listed = (
        element("ul", *limits, id="at-limits")
        if limits
        else element("p", "No limit is nearly reached at any of these settings.", class_="quiet")
    )
    return element(
        "div", element("dl", *items, class_="facts"), name, element("h3", "Used share of each limit"), listed
    )


def _data(data: Any) -> Markup:
    """Return data for the script. `<` is escaped, so that no text can close the element."""
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=True).replace("<", "\\u003c").replace(">", "\\u003e")
    return element("script", Markup(text), type="application/json", id="points")
