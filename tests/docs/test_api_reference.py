"""The API reference lists every public name once, and no others, for readers of the site and of the files."""

from __future__ import annotations

import doctest
import importlib
import inspect
import re
from collections import Counter
from pathlib import Path
from typing import Any, get_origin

import pytest
from tools.pages import api
from tools.sphinx_extensions.markdown_pages import site_text

from support.page_programs import DOCS
from tablepatterns.catalog import ENTRIES

PAGES = {path.stem: path.read_text(encoding="utf-8") for path in (DOCS / "api").glob("*.md")}
PACKAGE: Any = importlib.import_module("tablepatterns")
ON_OTHER_PAGES = set(PACKAGE.__all__)
"""Names of the package too, which are listed as such."""
OF_KIND = {"pattern": "patterns", "relationship": "relationships", "implementation": "implementations"}
MODULES = [
    "tablepatterns.aio",
    "tablepatterns.filters",
    "tablepatterns.jobs",
    "tablepatterns.testing",
    "tablepatterns.traffic",
    "tablepatterns_engine",
    "tablepatterns_explore",
    "tablepatterns_review",
]


def listed(module: str = "tablepatterns") -> Counter[str]:
    targets = [target for page in PAGES.values() for target in api.targets_of(page)]
    unlisted = [target for kind in OF_KIND for _, found in api.unlisted(kind) for target in found]
    return Counter(target.name for target in [*targets, *unlisted] if target.module == module)


def test_every_public_name_is_listed_once_and_no_other() -> None:
    assert listed() == Counter([*PACKAGE.__all__, "limits"])


def test_every_error_is_listed() -> None:
    errors: Any = importlib.import_module("tablepatterns.errors")
    classes = {
        name for name, value in vars(errors).items() if isinstance(value, type) and value.__module__ == errors.__name__
    }
    assert set(listed("tablepatterns.errors")) == classes - {"TablePatternsError", "ServiceError"}


@pytest.mark.parametrize("module_name", MODULES)
def test_every_name_of_a_public_module_is_listed_once(module_name: str) -> None:
    module: Any = importlib.import_module(module_name)
    # A TypeAlias has nothing to document but its name; before Python 3.11, some are instances of type
    members = {name: getattr(module, name) for name in module.__all__}
    classes = {name for name, member in members.items() if isinstance(member, type) and not get_origin(member)}
    kept = {name for name in members if name.islower() or name in classes}
    found = listed(module_name)
    assert set(found) >= kept - ON_OTHER_PAGES
    assert max(found.values()) == 1


@pytest.mark.parametrize("kind", OF_KIND)
def test_a_class_is_on_the_page_of_its_kind(kind: str) -> None:
    wanted = {name for each in ENTRIES if each.kind == kind for name in each.classes}
    near = [target.name for page in (OF_KIND[kind], "sets", "review") for target in api.targets_of(PAGES[page])]
    near += [target.name for _, found in api.unlisted(kind) for target in found]
    assert wanted - set(near) == set()


def test_a_name_has_its_signature_its_methods_and_their_errors() -> None:
    shown = "\n".join(api.as_markdown(api.read_targets(["Key.*", "tablepatterns.jobs:", "verify"])))
    assert "### `Key`" in shown
    assert "[Members](/data/members.tsv): `format`, `keys_of`, " in shown
    [of_format] = [row for row in api.MEMBERS.rows() if row[:2] == ("tablepatterns.Key", "format(fields)")]
    assert of_format[3] == "BadKey"
    assert "[`verify(entity_set" in shown
    assert "](/../patterns/tablepatterns/jobs/derived_data.py): Compare derived data" in shown


def test_a_member_that_a_class_shares_with_sets_is_described_once() -> None:
    shown = "\n".join(api.as_markdown(api.read_targets(["LogTail.**"])))
    assert "`append`, `latest`, " in shown
    assert "insert_or_replace" not in shown
    assert "All members of [`EntitySet`](/api/sets.md#entityset)." in shown
    assert "insert_or_replace" not in {row[1] for row in api.MEMBERS.rows() if row[0] == "tablepatterns.LogTail"}


def test_the_members_that_a_class_lacks_or_has_otherwise_are_named() -> None:
    *_, shared = api.as_markdown(api.read_targets(["WideEntity.**"]))
    assert shared.startswith("All other members of [`EntitySet`]")
    assert shared.endswith(", except `create_table`, `drop_table`, `reconciler`, `process_intents`.")


def test_the_members_of_a_set_are_in_a_table_on_its_page() -> None:
    shown = "\n".join(api.as_markdown(api.read_targets(["EntitySet.**"])))
    assert "| `get(…)` | Return the entity with this primary key, or None. | `BadKey` |" in shown


def test_the_table_of_members_has_every_class_whose_members_a_page_lists() -> None:
    listed = [target for page in PAGES.values() for target in api.targets_of(page)]
    wanted = {f"{target.module}.{target.name}" for target in listed if any(target.member_rows)}
    assert wanted
    assert wanted <= {row[0] for row in api.MEMBERS.rows()}


def test_values_of_an_enumeration_and_members_without_text_of_their_own_are_listed_in_one_line() -> None:
    shown = list(
        api.as_markdown(api.read_targets(["Period.*", "tablepatterns.recipes.rekey.entities:", "RekeyedEntities.*"]))
    )
    assert "Values: `HOUR`, `DAY`, `WEEK`, `MONTH`." in shown
    assert any(part.startswith("Not supported: `inserting`, ") for part in shown)
    assert not any("`rejected" in part for part in shown)


def test_an_error_leads_to_its_section_of_the_page_on_errors() -> None:
    shown = list(api.as_markdown(api.read_targets(["tablepatterns.errors:", "BadKey"])))
    assert shown == ["Errors: [`BadKey`](/errors.md#badkey)."]
    many = api.as_markdown(api.read_targets(["tablepatterns.errors:", "errors.*"]))
    assert list(many) == ["[A page](/errors.md) has a section for each."]


def test_the_site_shows_all_of_the_docstrings() -> None:
    shown = site_text("<!-- make pages: names Key.* -->\n\nin short\n\n<!-- end -->\n")
    assert shown == "```{eval-rst}\n.. autoclass:: tablepatterns.Key\n   :members:\n```\n"


def test_the_site_shows_no_empty_line_at_the_end_of_a_console() -> None:
    shown = site_text("```pycon\n>>> 1\n1\n\n>>> 2\n2\n\n```\n\n```python\n1\n\n```\n")
    assert shown == "```pycon\n>>> 1\n1\n\n>>> 2\n2\n```\n\n```python\n1\n\n```\n"


def test_the_site_has_the_pages_of_a_part_in_its_menu() -> None:
    shown = site_text("<!-- toctree: Learn\nstart-here\n-->")
    assert shown.splitlines() == ["```{toctree}", ":hidden:", ":glob:", ":caption: Learn", "", "start-here", "```"]


def test_no_page_shows_directives_to_readers_of_the_files() -> None:
    pages = [path for path in DOCS.rglob("*.md") if not {"_build", "notebooks"}.intersection(path.parts)]
    shown = [path.relative_to(DOCS).as_posix() for path in pages if "```{" in path.read_text(encoding="utf-8")]
    assert shown == []


@pytest.mark.parametrize("page", sorted((DOCS / "api").glob("*.md")), ids=lambda page: page.stem)
def test_the_examples_of_a_page_of_the_reference_run(page: Path) -> None:
    assert doctest.testfile(str(page), module_relative=False).failed == 0


def test_every_name_of_the_package_has_an_example() -> None:
    # With the paragraph before it, which says what the example shows
    examples = re.compile(r"^([^\n]+)\n\n```pycon\n(.*?)^```", re.MULTILINE | re.DOTALL)
    shown = "\n".join("\n".join(found) for page in PAGES.values() for found in examples.findall(page))
    members = {name: getattr(PACKAGE, name) for name in PACKAGE.__all__}
    lacking = [name for name, value in members.items() if ">>>" not in (inspect.getdoc(value) or "")]
    assert [name for name in lacking if not re.search(rf"\b{name}\b", shown)] == []
