"""What a pattern's page has from elsewhere, as directives: its rows of costs, its proof, its entry, its schedules.

A page says what is meant by its own name: docs/patterns/archive.md has the rows of what the catalogue's entry
`archive` is made of. What a directive finds nothing for is an error of the page.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from docutils import nodes
from proof import budgets, guarantees
from sphinx.util.docutils import SphinxDirective

from budgeting.budget import BUDGETS
from tablepatterns.catalogue import entry, related

if TYPE_CHECKING:
    from sphinx.application import Sphinx

    from tablepatterns.catalogue import CatalogueEntry

SCHEDULES = Path(__file__).parents[1] / "patterns" / "schedules"
NOTEBOOKS = Path(__file__).parents[2] / "notebooks"


class FromData(SphinxDirective):
    """A part of a page that is written from data: Markdown, which is parsed in its place."""

    optional_arguments = 20

    @property
    def entry(self) -> CatalogueEntry:
        return entry(Path(self.env.docname).name)

    @property
    def recipes(self) -> tuple[str, ...]:
        """The recipes that the page names here, or else those of its entry."""
        return tuple(self.arguments) or self.entry.classes

    def markdown(self) -> Iterator[str]:
        """Give the parts, between which an empty line comes."""
        raise NotImplementedError

    def run(self) -> list[nodes.Node]:
        found = list(self.markdown())
        if not found:
            raise self.error(f"{self.name}: nothing is known of {', '.join(self.recipes)}")
        return self.parse_text_to_nodes("\n\n".join(found))


class Facts(FromData):
    """What the page is about, at a glance."""

    def markdown(self) -> Iterator[str]:
        found = self.entry
        classes = ", ".join(f"{{py:obj}}`~tablepatterns.{name}`" for name in found.classes)
        notebook = ", ".join(f"`notebooks/{path.name}`" for path in NOTEBOOKS.glob(f"[0-9][0-9]_{found.name}.ipynb"))
        rows = [("In the guide", found.guide), ("Here", classes), ("Notebook", notebook), ("Status", found.status)]
        yield "\n".join(f"- **{name}**: {value}" for name, value in rows if value)


class Costs(FromData):
    """The rows of the budgets."""

    def markdown(self) -> Iterator[str]:
        rows = [row for name in self.recipes for row in BUDGETS if row.recipe == name]
        if rows:
            yield budgets.table_of(rows)
            yield "Measured by the account's ledger in every run of the tests: [what each call costs](/budgets.md)."


class Guarantees(FromData):
    """What was explored, and what is not promised."""

    def markdown(self) -> Iterator[str]:
        proof = guarantees.Proof.read()
        known = [name for name in self.recipes if name in proof.recipes]
        for name in known:
            if len(known) > 1:
                yield f"`{name}`:"
            yield guarantees.table_of(proof, name)
            yield from guarantees.not_promised(proof, name)
        if known:
            yield "What the columns mean, and which tests explore it: [what is guaranteed](/guarantees.md)."


class Words(FromData):
    """A list from the catalogue."""

    field = ""

    def markdown(self) -> Iterator[str]:
        found: tuple[str, ...] = getattr(self.entry, self.field)
        if found:
            yield "\n".join(f"- {each}" for each in found)


class UseWhen(Words):
    """When to use it."""

    field = "use_when"


class AvoidWhen(Words):
    """When not."""

    field = "avoid_when"


class TradeOffs(Words):
    """The guide's issues and considerations."""

    field = "trade_offs"


class Related(FromData):
    """The patterns that the catalogue relates this one to."""

    def markdown(self) -> Iterator[str]:
        found = [self._line(each) for each in related(self.entry.name)]
        if found:
            yield "\n".join(found)

    def _line(self, found: CatalogueEntry) -> str:
        page = f"patterns/{found.name}"
        title = f"[{found.title}](/{page}.md)" if page in self.env.found_docs else found.title
        return f"- {title}: {found.solution}"


class PartOfProgram(SphinxDirective):
    """A part of the page's program: what lies between `# -- part` and the next such comment."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        part, path = self.arguments[0], _program(self).with_suffix(".py")
        self.env.note_dependency(str(path))
        parts = re.split(r"^ *# -- (.+)\n", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
        found = dict(zip(parts[1:-2:2], parts[2:-2:2], strict=True))
        if part not in found:
            raise self.error(f"{path.name} has no part {part!r} with another mark, such as '# -- end', behind it")
        return [_block(textwrap.dedent(found[part]), "python")]


class Printed(SphinxDirective):
    """What the page's program prints, and where the whole of it is."""

    def run(self) -> list[nodes.Node]:
        path = _program(self).with_suffix(".txt")
        if not path.exists():
            raise self.error(f"{path.name} is not in {path.parent.name}: make schedules writes it")
        self.env.note_dependency(str(path))
        program = self.parse_text_to_nodes(f"The whole program: [code/{path.stem}.py](code/{path.stem}.py).")
        return [_block(path.read_text(encoding="utf-8"), "text"), *program]


class Schedule(SphinxDirective):
    """A schedule as the explorer told it, from docs/patterns/schedules; by default the one with the page's name."""

    optional_arguments = 1

    def run(self) -> list[nodes.Node]:
        name = next(iter(self.arguments), Path(self.env.docname).name)
        path = SCHEDULES / f"{name}.txt"
        if not path.exists():
            raise self.error(f"{path.name} is not in {path.parent.name}: add it to tests/scheduling, make schedules")
        self.env.note_dependency(str(path))
        return [_block(path.read_text(encoding="utf-8"), "text", "schedule")]


def _program(asking: SphinxDirective) -> Path:
    """Return where the page's program is, without its suffix: in the folder `code` beside the page."""
    page = Path(asking.env.doc2path(asking.env.docname))
    return page.parent / "code" / page.stem.replace("-", "_")


def _block(text: str, language: str, *classes: str) -> nodes.literal_block:
    shown = text.strip("\n")
    return nodes.literal_block(shown, shown, language=language, classes=list(classes))


def setup(app: Sphinx) -> dict[str, Any]:
    """Give Sphinx the directives."""
    app.add_directive("facts", Facts)
    app.add_directive("costs", Costs)
    app.add_directive("guarantees", Guarantees)
    app.add_directive("use-when", UseWhen)
    app.add_directive("avoid-when", AvoidWhen)
    app.add_directive("trade-offs", TradeOffs)
    app.add_directive("related", Related)
    app.add_directive("part", PartOfProgram)
    app.add_directive("printed", Printed)
    app.add_directive("schedule", Schedule)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
