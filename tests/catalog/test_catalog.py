"""The catalog has one entry for each recipe, consistent with the package, the guide and the budgets."""

from __future__ import annotations

import inspect
import re
from collections import Counter
from pathlib import Path
from typing import get_args

import pytest
from tools.pages import catalog as page
from typer.testing import CliRunner

import tablepatterns
from budgets.budget import all_budgets
from budgets.statements import STATED
from tablepatterns.catalog import ENTRIES, RELATIONS, CatalogEntry, Concern, Kind, entry, related
from tablepatterns.cli.main import main
from tablepatterns.cost import Cost
from tablepatterns.errors import BadInput

RECIPES = Path(tablepatterns.__file__).parent / "recipes"
SHARED = {"stored_entities", "wide_parts"}
"""Modules that several recipes share."""
ROOT = Path(__file__).parents[2]
WORDS_ON_A_LINE = 66
NAMED = {each.name: each for each in ENTRIES}
COST = re.compile(
    r"(?:`(?:(?P<recipe>[A-Z]\w+)\.)?(?P<call>[\w()]+)`|(?P<words>one move, by a worker)) "
    rf"(?P<cost>{STATED}|\d+)"
)
MEASURE = re.compile(r"[\d,]+ (?:entities|partitions|buckets|large value|MB)\b")

GUIDE_SECTIONS = {
    "Intra-partition secondary index pattern",
    "Inter-partition secondary index pattern",
    "Eventually consistent transactions pattern",
    "Index entities pattern",
    "Denormalization pattern",
    "Compound key pattern",
    "Log tail pattern",
    "High volume delete pattern",
    "Data series pattern",
    "Wide entities pattern",
    "Large entities pattern",
    "Prepend/append anti-pattern",
    "Log data anti-pattern",
    "Table design patterns",
    "Entity group transactions",
    "Designing your Table service solution to be write efficient",
    "One-to-many relationships",
    "One-to-one relationships",
    "Join in the client",
    "Inheritance relationships",
    "Encrypting table data",
    "Working with heterogeneous entity types",
    "Controlling access with shared access signatures",
    "Asynchronous and parallel operations",
    "Retrieving entities",
    "Modifying entities",
    "Merge or replace",
}

PATTERN_MAP = """
intra_partition_index -> inter_partition_index listed
intra_partition_index -> compound_key listed and text
inter_partition_index -> intra_partition_index listed
inter_partition_index -> eventual_transaction listed and text
inter_partition_index -> compound_key listed and text
index_entities -> compound_key listed
index_entities -> eventual_transaction listed and text
denormalize -> compound_key listed
compound_key -> eventual_transaction listed
log_tail -> prepend_append listed
prepend_append -> log_tail listed
prepend_append -> compound_key listed and text
log_data -> prepend_append text
data_series -> large_properties listed
data_series -> eventual_transaction listed
large_properties -> eventual_transaction listed and text
large_properties -> wide_entity listed
"""

ADVICE = {
    "entity_group_transaction": {
        "intra_partition_index",
        "inter_partition_index",
        "eventual_transaction",
        "index_entities",
        "denormalize",
        "compound_key",
        "period_tables",
        "wide_entity",
    },
    "entity_types": {
        "intra_partition_index",
        "inter_partition_index",
        "index_entities",
        "denormalize",
        "compound_key",
    },
    "merge_or_replace": {"eventual_transaction", "data_series", "wide_entity"},
    "modifying_entities": {"period_tables", "prepend_append"},
    "retrieving_entities": {"log_tail"},
}

BY_CONCERN = {
    "lookup": {"intra_partition_index", "inter_partition_index", "index_entities"},
    "order": {"intra_partition_index", "inter_partition_index", "log_tail"},
    "modification": {"period_tables", "data_series", "wide_entity", "large_properties"},
    "consistency": {
        "intra_partition_index",
        "inter_partition_index",
        "eventual_transaction",
        "index_entities",
        "denormalize",
        "data_series",
    },
    "query-versus-modification": {"compound_key", "log_tail"},
}


def every(entries: tuple[CatalogEntry, ...] = ENTRIES) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("each", entries, ids=lambda each: each.name)


def test_every_module_of_recipes_belongs_to_one_entry() -> None:
    modules = sorted(
        path.stem for path in RECIPES.iterdir() if not path.name.startswith("_") and path.stem not in SHARED
    )
    assert sorted(module for each in ENTRIES for module in each.modules) == modules


def test_every_name_and_title_is_that_of_one_entry() -> None:
    names = Counter([each.name for each in ENTRIES] + [each.title for each in ENTRIES])
    assert [name for name, count in names.items() if count > 1] == []


def entry_files() -> list[str]:
    """Return the modules of recipes, and of each package the file of the same name."""
    return [path.stem if path.is_file() else f"{path.name}.{path.name}" for path in RECIPES.iterdir()]


def test_every_public_class_of_a_recipe_is_in_an_entry() -> None:
    offered = {name: getattr(tablepatterns, name) for name in tablepatterns.__all__}
    recipes = {
        name
        for name, value in offered.items()
        if (inspect.isclass(value) or inspect.isfunction(value))
        and value.__module__ in (f"tablepatterns.recipes.{each}" for each in entry_files())
    }
    assert recipes
    assert recipes - {name for each in ENTRIES for name in each.classes} == set()


@every()
class TestEveryEntry:
    def test_names_public_classes_only(self, each: CatalogEntry) -> None:
        assert [name for name in each.classes if name not in tablepatterns.__all__] == []

    def test_is_named_for_its_module_if_it_has_one(self, each: CatalogEntry) -> None:
        assert not each.modules or each.modules[0] == each.name
        assert each.modules[:1] == ((each.name,) if each.modules else ())

    def test_is_of_a_section_of_the_guide(self, each: CatalogEntry) -> None:
        assert each.guide in GUIDE_SECTIONS

    def test_is_about_known_things_each_once(self, each: CatalogEntry) -> None:
        assert each.kind in get_args(Kind)
        assert set(each.concerns) <= set(get_args(Concern))
        assert len(set(each.concerns)) == len(each.concerns) > 0

    def test_says_in_sentences_what_it_is(self, each: CatalogEntry) -> None:
        sentences = (each.problem, each.solution, each.guarantee, each.cost)
        sentences = (*sentences, *each.limits, *each.use_when, *each.avoid_when, *each.trade_offs)
        assert [text for text in sentences if not text.endswith((".", "?"))] == []
        assert each.keys
        assert 0 < len(each.summary) <= WORDS_ON_A_LINE
        assert each.limits
        assert each.use_when
        assert each.avoid_when

    def test_is_related_to_another(self, each: CatalogEntry) -> None:
        assert related(each.name)
        assert each not in related(each.name)


def test_every_section_of_the_guide_that_is_known_is_used() -> None:
    assert {each.guide for each in ENTRIES} == GUIDE_SECTIONS


def test_the_map_has_the_eleven_patterns_and_the_two_anti_patterns() -> None:
    assert Counter(each.kind for each in ENTRIES if each.on_map) == {"pattern": 11, "anti-pattern": 2}


@every(tuple(each for each in ENTRIES if each.modules or COST.search(each.cost)))
def test_every_figure_of_a_cost_is_measured(each: CatalogEntry) -> None:
    measured = {(row.recipe, row.call, _shown(row.cost)) for row in all_budgets()}
    stated = [found.groupdict() for found in COST.finditer(each.cost)]
    assert stated
    wrong = []
    for figure in stated:
        recipes = [figure["recipe"]] if figure["recipe"] else each.classes
        rows = {(recipe, figure["call"] or figure["words"], figure["cost"]) for recipe in recipes}
        wrong += [] if rows & measured else [figure]
    assert wrong == []
    assert re.findall(r"\d+", MEASURE.sub("", COST.sub("", each.cost))) == []


def _shown(cost: Cost) -> str:
    """Return a cost as the catalog states it: by service where it is not of tables alone."""
    return str(cost) if cost.table != cost.transactions else f"{cost.table:g}"


def test_every_relation_is_between_two_entries_and_is_there_once() -> None:
    assert [each for each in RELATIONS if not {each.source, each.target} <= NAMED.keys()] == []
    assert [each for each in RELATIONS if each.source == each.target] == []
    assert [each for each, count in Counter(RELATIONS).items() if count > 1] == []


def test_the_arrows_between_patterns_are_the_guides() -> None:
    ours = {
        f"{each.source} -> {each.target} {each.basis}"
        for each in RELATIONS
        if NAMED[each.source].on_map and NAMED[each.target].on_map and each.basis != "remedy"
    }
    assert ours == set(PATTERN_MAP.strip().splitlines())


@pytest.mark.parametrize("advice", ADVICE)
def test_the_patterns_that_point_to_advice_are_the_guides(advice: str) -> None:
    pointing = {each.source for each in RELATIONS if each.target == advice and each.basis == "listed"}
    assert pointing == ADVICE[advice]


def test_relationships_lead_where_the_guide_says() -> None:
    assert {(each.source, each.target) for each in RELATIONS if each.basis == "relationship"} == {
        ("one_to_many", "denormalize"),
        ("one_to_one", "large_properties"),
        ("one_to_one", "grant"),
        ("inheritance", "entity_types"),
    }


def test_an_anti_pattern_points_to_what_to_do_instead() -> None:
    remedies = {(each.source, each.target) for each in RELATIONS if each.basis == "remedy"}
    assert remedies == {
        ("prepend_append", "partition_spread"),
        ("prepend_append", "log_tail"),
        ("prepend_append", "compound_key"),
        ("log_data", "blob_log"),
    }
    assert {source for source, _ in remedies} == {each.name for each in ENTRIES if each.kind == "anti-pattern"}


@pytest.mark.parametrize(
    ("one", "other"), [("intra_partition_index", "inter_partition_index"), ("log_tail", "prepend_append")]
)
def test_what_is_listed_both_ways_is_related_both_ways(one: str, other: str) -> None:
    listed = {(each.source, each.target) for each in RELATIONS if "listed" in each.basis}
    assert {(one, other), (other, one)} <= listed
    assert entry(other) in related(one)
    assert entry(one) in related(other)


@pytest.mark.parametrize("concern", BY_CONCERN)
def test_the_patterns_of_a_concern_are_the_guides_and_maybe_more(concern: str) -> None:
    assert {each.name for each in ENTRIES if concern in each.concerns} >= BY_CONCERN[concern]


@pytest.mark.parametrize("concern", get_args(Concern))
def test_every_concern_has_entries(concern: Concern) -> None:
    assert any(concern in each.concerns for each in ENTRIES)


@every()
def test_an_entry_is_found_by_all_its_names(each: CatalogEntry) -> None:
    for name in (
        each.name,
        each.name.replace("_", "-"),
        each.title,
        each.title.upper(),
        f" {each.name} ",
        *each.modules,
    ):
        assert entry(name) is each
    for name in each.classes:
        assert name in entry(name).classes


def test_a_name_that_is_not_known_is_rejected_with_those_that_are_near() -> None:
    with pytest.raises(BadInput, match="did you mean intra_partition_index or inter_partition_index"):
        entry("intra_partition_indx")
    with pytest.raises(BadInput, match="lists them all"):
        entry("zzz")
    with pytest.raises(BadInput):
        related("zzz")


def said(*arguments: str) -> tuple[str, ...]:
    """Return what the command prints, word by word, however its lines are broken."""
    result = CliRunner().invoke(main, ["patterns", *arguments])
    assert result.exit_code == 0, result.output
    assert [line for line in result.output.splitlines() if len(line) > 100 or not line.isprintable()] == []
    return tuple(result.output.split())


def test_the_command_lists_every_entry_on_a_line_of_its_own() -> None:
    assert said()
    lines = CliRunner().invoke(main, ["patterns"]).output.splitlines()
    listed = [line.split(maxsplit=1) for line in lines if line.startswith("  ") and line.strip()]
    assert sorted((name, words.strip()) for name, words in listed) == sorted(
        (each.name, each.summary) for each in ENTRIES
    )


@every()
def test_the_command_prints_a_complete_entry(each: CatalogEntry) -> None:
    whole = " ".join(word for word in said(each.name) if word != "-")
    facts = (each.title, each.kind, each.problem, each.solution, each.keys, each.guarantee, each.cost, each.guide)
    facts = (*facts, *each.limits, *each.use_when, *each.avoid_when, *each.trade_offs, *each.classes)
    assert [fact for fact in facts if fact not in whole] == []
    assert [near.name for near in related(each.name) if near.name not in whole] == []


def test_the_command_takes_any_spelling() -> None:
    assert said("log_tail") == said("log-tail") == said("LogTail") == said("Log tail")


@pytest.mark.parametrize("name", ["log_trail", ""])
def test_the_command_rejects_an_unknown_name_in_words(name: str) -> None:
    result = CliRunner().invoke(main, ["patterns", name])
    assert result.exit_code == 2
    assert result.stdout == ""
    assert "there is no pattern with this name" in result.stderr
    assert ("did you mean log_tail?" in result.stderr) == (name == "log_trail")


def anchors_of(text: str) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^a-z0-9 -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_every_link_of_the_page_leads_to_a_heading_of_it_or_to_a_page() -> None:
    text = page.render()
    links = set(re.findall(r"\]\(([^)]+)\)", text)) | set(re.findall(r'href="([^"]+)"', text))
    assert [entry for entry in ENTRIES if f"[{entry.title}](" not in text and f"### {entry.title}" not in text] == []
    pages = {link: link.partition("#") for link in links}
    texts = {file: (ROOT / "docs" / file).read_text("utf-8") if file else text for file, _, _ in pages.values()}
    assert [link for link, (file, _, anchor) in pages.items() if anchor and anchor not in anchors_of(texts[file])] == []
