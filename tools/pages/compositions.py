"""Write the page on compositions, from the combinations that tests run and the designs that they reject."""

from __future__ import annotations

from collections.abc import Sequence

from compositions.deeds import DEEDS, READERS
from compositions.derived import DERIVED
from compositions.homes import HOMES
from compositions.mappings import MAPPINGS
from compositions.pairs import PAIRS
from compositions.part import Part
from compositions.refused import REFUSED, reason
from compositions.wide import WideHome
from tools.pages.data_file import DataFile
from tools.pages.markdown import introduction, page, table

PAGE = "docs/compositions.md"

Parts = Sequence[type[Part]]


def render() -> str:
    """Return the page."""
    return page(
        introduction("compositions", pairs=len(PAIRS), refused=len(REFUSED)),
        "## Two kinds of derived data in one set",
        _matrix(DERIVED, DERIVED),
        "## Sets, and recipes that contain sets",
        _matrix((*DERIVED, *MAPPINGS, *HOMES), (*HOMES, WideHome)),
        "## Encrypted and large properties",
        _matrix((*DERIVED, *MAPPINGS), MAPPINGS),
        "## Operations on whole entities",
        _matrix((*DERIVED, *MAPPINGS, *HOMES, WideHome), DEEDS),
        "## Readers",
        _matrix((*MAPPINGS, *HOMES), READERS),
    )


def _matrix(rows: Parts, columns: Parts) -> str:
    """Return which of the columns the rows work with, those that work with the same ones together."""
    groups = dict[str, list[type[Part]]]()
    for row in rows:
        groups.setdefault(_works_with(row, columns), []).append(row)
    if rows is columns and [*groups] == ["all"]:
        return f"Any two work together, of {_names(rows)}."
    heads = ("Recipes", "Work with")
    return f"Of {_names(columns)}:\n\n{table(heads, [(_names(group), works) for works, group in groups.items()])}"


def _names(parts: Parts) -> str:
    names = [part.name for part in parts]
    if {*parts} > {*DERIVED}:
        names = ["any derived data", *(part.name for part in parts if part not in DERIVED)]
    return "; ".join(names)


def _works_with(row: type[Part], columns: Parts) -> str:
    others = [other for other in columns if other is not row]
    working = [other.name for other in others if {(row, other), (other, row)} & {*PAIRS}]
    lacking = [other.name for other in others if other.name not in working]
    if not lacking:
        return "all"
    return f"all but {'; '.join(lacking)}" if len(lacking) < len(working) else "; ".join(working) or "none"


def _refused() -> list[tuple[str, str, str, str]]:
    return sorted((*each.parts, each.what, reason(each)) for each in REFUSED)


REJECTED = DataFile("docs/data/rejected-designs.tsv", ("Recipe", "With", "How", "Error"), _refused)
