"""The page on guarantees, from the marks of the tests, the record of what they explored, and the limits."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tablepatterns.catalog import ENTRIES
from tools import DATA, ROOT
from tools.pages.data_file import DataFile
from tools.pages.homes import recipes_on_pages
from tools.pages.markdown import introduction, page
from tools.pages.marks import Mark, marks

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # pytest brings it to Python 3.10

PAGE = "docs/guarantees.md"
RECORD = DATA / "explored.json"
LIMITS = DATA / "limits.toml"

Seen = Mapping[str, Any]


@dataclass(frozen=True)
class Proof:
    """The data of the page: the marked tests, what they explored, and the limits."""

    marks: tuple[Mark, ...]
    variants: Mapping[str, str]
    """The recipe of a broken variant, for tests whose file does not determine it."""
    record: Mapping[str, list[dict[str, Any]]]
    limits: Mapping[str, Mapping[str, Any]]

    @classmethod
    def read(cls, root: Path = ROOT) -> Proof:
        record = json.loads(RECORD.read_text(encoding="utf-8"))
        variants = {mark.test: mark.recipe for mark in marks(root, "broken")}
        return cls(marks(root), variants, record, limits())

    @property
    def recipes(self) -> list[str]:
        return sorted({mark.recipe for mark in self.marks})

    def explored(self, test: str) -> list[Seen]:
        return [seen for seen in self.record.get(test, ()) if "found" not in seen]

    def found(self, test: str) -> list[str]:
        return list(dict.fromkeys(seen["found"] for seen in self.record.get(test, ()) if "found" in seen))

    def home(self, test: str) -> str:
        """Return the recipe of a test: the one that it states, or that of most tests in its file."""
        if test in self.variants:
            return self.variants[test]
        named = [mark.recipe for mark in self.marks if mark.path == test.partition("::")[0]]
        return max(sorted(set(named)), key=named.count)

    def broken(self, recipe: str) -> list[str]:
        """Return the tests of deliberately broken variants."""
        others = {mark.test for mark in self.marks} | {limit.get("test") for limit in self.limits.values()}
        found = [test for test in self.record if self.found(test) and test not in others]
        return [test for test in found if self.home(test) == recipe]


def limits() -> dict[str, dict[str, Any]]:
    """Return the limits of each recipe: those of its catalog entry, and of the file for what has no entry."""
    stated: dict[str, dict[str, Any]] = {name: {"not": each.limits} for each in ENTRIES for name in each.classes}
    others = tomllib.loads(LIMITS.read_text(encoding="utf-8"))
    return stated | {name: {**stated.get(name, {}), **limit} for name, limit in others.items()}


def render() -> str:
    """Return the page."""
    proof = Proof.read()
    every = [seen for mark in proof.marks for seen in proof.explored(mark.test)]
    numbers = {
        "recipes": len(proof.recipes),
        "schedules": f"{sum(seen['schedules'] for seen in every):,}",
        "pruned": f"{sum(seen['pruned'] for seen in every):,}",
        "broken": sum(len(proof.found(test)) for recipe in proof.recipes for test in proof.broken(recipe)),
    }
    elsewhere = recipes_on_pages()
    here = (f"## {name}\n\n{promised(proof, name)}" for name in proof.recipes if name not in elsewhere)
    return page(introduction("guarantees", **numbers), *here)


def promised(proof: Proof, recipe: str) -> str:
    """Return what a recipe guarantees and what it does not, as lists."""
    clauses = dict.fromkeys(mark.clause for mark in proof.marks if mark.recipe == recipe)
    guaranteed = "\n".join(f"- {clause}" for clause in clauses)
    return f"Guaranteed:\n\n{guaranteed}\n\n{not_promised(proof, recipe)}"


def explored() -> Iterator[tuple[str, ...]]:
    """Yield each guarantee, how far it was explored, and the test."""
    proof = Proof.read()
    for recipe in proof.recipes:
        for mark in (each for each in proof.marks if each.recipe == recipe):
            yield recipe, *_cells(mark, proof.explored(mark.test)), mark.test


def variants() -> Iterator[tuple[str, ...]]:
    """Yield each test of deliberately broken variants, and the failures that the explorer finds."""
    proof = Proof.read()
    for recipe in proof.recipes:
        for test in proof.broken(recipe):
            yield recipe, test, str(len(proof.found(test)))


def limits_of_recipes() -> Iterator[tuple[str, ...]]:
    """Yield what each recipe does not promise, with the schedules that show it."""
    proof = Proof.read()
    for recipe in proof.recipes:
        limit = proof.limits[recipe]
        yield from ((recipe, text, "", "") for text in limit["not"])
        yield from (
            (recipe, "the limit that the schedule shows", line, limit["test"]) for line in _schedules(proof, recipe)
        )


def _schedules(proof: Proof, recipe: str) -> list[str]:
    return proof.found(proof.limits[recipe].get("test", ""))


EXPLORED = DataFile(
    "docs/data/guarantees.tsv",
    ("Recipe", "Guaranteed", "Bound", "Schedules run", "Pruned (state already seen)", "Test"),
    explored,
)
LIMITED = DataFile("docs/data/limits.tsv", ("Recipe", "Limit", "Schedule", "Test"), limits_of_recipes)
VARIANTS = DataFile("docs/data/broken-variants.tsv", ("Recipe", "Test", "Failures found"), variants)


def _cells(mark: Mark, explored: list[Seen]) -> tuple[str, ...]:
    bounds = "; or ".join(dict.fromkeys(map(_bound, explored)))
    return (
        mark.clause,
        bounds,
        f"{sum(seen['schedules'] for seen in explored):,}",
        f"{sum(seen['pruned'] for seen in explored):,}",
    )


def _bound(seen: Seen) -> str:
    parts = [_count(seen["actors"], "actor")]
    if seen["crashes"]:
        parts.append(_count(seen["crashes"], "crash", "crashes"))
    if seen["lost_responses"]:
        parts.append(_count(seen["lost_responses"], "lost response"))
    if seen["stalls"]:
        parts.append("a stall of " + ", ".join(f"{stall:g}" for stall in seen["stalls"]) + " s")
    if seen["actors"] > 1:
        preemptions = seen["preemptions"]
        parts.append("any number of preemptions" if preemptions is None else _count(preemptions, "preemption"))
    if not seen["exhaustive"]:
        parts.append("not all" if seen["samples"] == 0 else f"{seen['samples']:,} at random")
    elif seen["samples"]:
        parts.append(f"and {seen['samples']:,} at random with more preemptions")
    return ", ".join(parts)


def _count(number: int, one: str, many: str | None = None) -> str:
    return f"{number or 'no'} {one if number == 1 else many or one + 's'}"


def not_promised(proof: Proof, recipe: str) -> str:
    """Return the limits of a recipe as a list."""
    limits = proof.limits[recipe]
    lines = [f"- {text}" for text in limits["not"]]
    lines += [f"- The schedule: `{line}`, in `{limits['test']}`." for line in _schedules(proof, recipe)]
    return "Not promised:\n\n" + "\n".join(lines)
