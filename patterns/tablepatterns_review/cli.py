"""The commands `tablepatterns explain` and `tablepatterns review`.

What reviews and reports is loaded where it is used, so that other commands begin without it.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from enum import Enum
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer
from rich.console import Console
from rich.text import Text

from tablepatterns.cli.output import (
    WRONG_USE,
    Result,
    command,
    console,
    fail,
    new_app,
    print_document,
    progress_bars,
    shows_progress,
)
from tablepatterns.errors import BadInput
from tablepatterns.extras import importing
from tablepatterns.figures import count
from tablepatterns.filters import FilterSyntaxError

from .design.model import Design
from .result import Reviewed, Severity

if TYPE_CHECKING:
    from .capacity.price import PriceTable

_MANY: Final = 300
"""A review of so many access patterns takes so long that it is announced."""
_FIRST: Final = 12
"""The number of findings from estimates that are shown while a review measures."""


class Form(str, Enum):
    TEXT = "text"
    MARKDOWN = "markdown"
    JSON = "json"
    HTML = "html"


class FailOn(str, Enum):
    """From which severity on the status is 1."""

    SERIOUS = "serious"
    WARNING = "warning"
    NOTE = "note"
    NEVER = "never"


_ENDINGS: Final = {".md": Form.MARKDOWN, ".json": Form.JSON, ".html": Form.HTML, ".htm": Form.HTML}


@dataclass(frozen=True)
class _Review:
    """The arguments of a review; without a `given_form`, the extension of `output` decides."""

    source: str
    given_form: Form | None
    output: Path | None
    prices_file: Path | None
    console: Console

    @property
    def form(self) -> Form:
        return self.given_form or (_ENDINGS.get(self.output.suffix.lower(), Form.TEXT) if self.output else Form.TEXT)

    @property
    def prices(self) -> PriceTable | None:
        from .capacity.price import PriceTable

        return None if self.prices_file is None else PriceTable.read(self.prices_file)

    def run(self) -> Reviewed:
        """Review the design and write the report; for a file, the console gets one line."""
        from .report import text
        from .report.formatting import plain, verdict
        from .reviewer import review

        design, prices = design_of(self.source), self.prices
        with _progress(design) as show:
            reviewed = review(design, prices=prices, on_measured=show)
        if self.output is not None:
            # Line breaks as they are, on every system
            self.output.write_bytes(_written(reviewed, self.form).encode("utf-8"))
            self._say(f"{plain(reviewed.design.name)}: {verdict(reviewed)}; {self.output}")
        elif self.form is Form.TEXT:
            self.console.print(text(reviewed))
        else:
            print_document(_written(reviewed, self.form), self.console)
        return reviewed

    def fix(self, number: int) -> None:
        """Write the design file with a change of the report, by its number there; comments and order are kept."""
        from .advice.fix import fixed_text
        from .report.formatting import plain
        from .reviewer import review_with_changes

        source = self._file("changed")
        prices = self.prices
        reviewed, changes = review_with_changes(design_of(self.source), prices=prices)
        numbers = [finding.fix for finding in reviewed.findings if finding.fix]
        change = changes[number - 1] if number in numbers else None
        if change is None:
            offered = ", ".join(map(str, numbers)) or "none"
            raise BadInput("fix", number, f"the report has no such change; it has {offered}", "give one of these")
        text = fixed_text(source.read_text(encoding="utf-8-sig"), change)
        (self.output or source).write_bytes(text.encode("utf-8"))
        self._say(f"{plain(change.set)}: {plain(change.says)}; {self.output or self.source}")

    def code(self) -> None:
        """Write the design file as Python to the folder `output`, or to the current one."""
        from .code.module import written

        source, folder = self._file("written as Python"), self.output or Path()
        files = {folder / name: text for name, text in written(design_of(self.source), source.stem).items()}
        for path in files:
            if path.exists():
                raise BadInput("output", str(path), "there is such a file", "move it, or give another folder")
        folder.mkdir(parents=True, exist_ok=True)
        for path, text in files.items():
            path.write_bytes(text.encode("utf-8"))
            self.console.print(str(path), markup=False, highlight=False, soft_wrap=True)

    def compare(self, before: str) -> None:
        from .report.markdown import comparison_markdown
        from .report.tables import comparison
        from .report.text import sheet_parts
        from .reviewer import review

        prices = self.prices
        if self.given_form not in (None, Form.TEXT, Form.MARKDOWN):
            raise BadInput("format", self.given_form, "a comparison is printed as text or Markdown", "use one of these")
        sheets = comparison(*(review(design_of(source), prices=prices) for source in (before, self.source)))
        if self.given_form is Form.MARKDOWN:
            print_document(comparison_markdown(sheets), self.console)
            return
        for sheet in sheets:
            for part in sheet_parts(sheet):
                self.console.print(part)
            self.console.print()

    def _file(self, use: str) -> Path:
        if not Path(self.source).is_file():
            raise BadInput("design", self.source, f"only a design file can be {use}", "give a TOML file")
        return Path(self.source)

    def _say(self, text: str) -> None:
        self.console.print(text, markup=False, soft_wrap=True)


@contextmanager
def _progress(design: Design) -> Generator[Callable[[int], None], None, None]:
    """Show how many access patterns have been measured; without a terminal, announce a review that takes long."""
    from .report.formatting import SEVERITIES, plain
    from .reviewer import MAX_TESTS, first_findings

    err, declared = console(stderr=True), sum(1 for _ in design.accesses())
    if not shows_progress(err):
        if declared >= _MANY:
            text = f"Reviewing {count(declared)} access patterns takes a second for about 10 of them,"
            err.print(f"{text} and tests of changes end after {count(MAX_TESTS)} measurements.", soft_wrap=True)
        yield lambda measured: None
        return
    for finding in first_findings(design)[:_FIRST]:
        err.print(f"estimated: {SEVERITIES[finding.severity]}: {plain(finding.subject)}: {finding.rule}", style="dim")
    with progress_bars(transient=True) as progress:
        task = progress.add_task(f"Measuring {count(declared)} access patterns", total=declared)

        def show(measured: int) -> None:
            progress.update(task, completed=measured)
            if measured > declared:
                tests = f"{count(measured - declared)} of at most {count(MAX_TESTS)} measurements"
                progress.update(task, description=f"Testing changes: {tests}", total=None)

        yield show


def design_of(source: str) -> Design:
    """Return the design of a TOML file, or one in Python; modules are looked for in the working folder, too."""
    from .design_file.reader import read_design

    module, _, attribute = source.partition(":")
    if Path(source).suffix == ".toml" or Path(source).is_file() or not attribute:
        if not Path(source).is_file():
            raise BadInput("design", source, "there is no such file", "give a TOML file, or package.module:design")
        return read_design(Path(source))
    return _in_python(source, module, attribute)


def _in_python(source: str, module: str, attribute: str) -> Design:
    hint = "give package.module:design, where design is a Design, or a function that returns one"
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        value = getattr(import_module(module), attribute, None)
        design: object = value() if callable(value) else value
    except BadInput:
        raise
    except Exception as error:  # Whatever code of the user's raises is no finding
        rule = f"it cannot be loaded: {type(error).__name__}: {error}"
        raise BadInput("design", source, rule, hint) from error
    if not isinstance(design, Design):
        raise BadInput("design", source, f"{module} has no Design of that name", hint)
    return design


def _written(reviewed: Reviewed, form: Form) -> str:
    from .report import as_json, html, markdown, text
    from .report.text import plain_text

    match form:
        case Form.MARKDOWN:
            return markdown(reviewed)
        case Form.JSON:
            return as_json(reviewed)
        case Form.HTML:
            return html(reviewed)
        case Form.TEXT:
            return plain_text(text(reviewed))


def mcp() -> None:
    """Offer reviews, query plans, patterns, costs and errors to an assistant, over the Model Context Protocol (MCP).

    An assistant starts it, and talks to it by standard input and output. It reads TOML files below the folder in which
    it is started, if it is given their path, and nothing else.

    Example: claude mcp add tablepatterns -- tablepatterns mcp
    """
    with importing("the MCP server needs", extra="mcp"):
        from .mcp_server import server
    server().run()


def explain(
    text: Annotated[str, typer.Argument(metavar="FILTER", help="The value of $filter; '' asks for every entity.")],
    as_json: bool = False,
) -> Result:
    """Explain a query: its class and why, what the service reads, what it costs, and a better query.

    Example: tablepatterns explain "PartitionKey eq 'Sales' and (RowKey eq '121' or RowKey eq '322')"
    """
    from .plans.explain import explain as plan_of

    try:
        plan = plan_of(text)
    except FilterSyntaxError as error:
        marked = Text(f"  {text}\n  {' ' * max(error.position - 1, 0)}^", style="dim")
        fail(error, WRONG_USE, marked, as_json=as_json)
    return Result({**asdict(plan), "query_class": plan.query_class.label}, (plan,))


def review(
    design: Annotated[
        str | None, typer.Argument(help="A TOML file, or package.module:design for a Design in Python.")
    ] = None,
    form: Annotated[Form | None, typer.Option("--format", help="By default, from the file's extension.")] = None,
    output: Annotated[
        Path | None, typer.Option(help="The file to write: .html, .md, .json, or text; with --code, the folder.")
    ] = None,
    prices: Annotated[Path | None, typer.Option(help="A price table of your own, in TOML.")] = None,
    fail_on: Annotated[FailOn, typer.Option(help="Exit with status 1 from this severity on.")] = FailOn.SERIOUS,
    fix: Annotated[
        int | None, typer.Option(help="Make this change of the report, in --output or in the file itself.")
    ] = None,
    diff: Annotated[
        str | None, typer.Option(help="Compare with this design, by access pattern: --diff before.toml after.toml.")
    ] = None,
    code: Annotated[
        bool, typer.Option("--code", help="Write the design as Python, with tests that hold its costs to the review.")
    ] = False,
    json_schema: Annotated[
        bool, typer.Option("--json-schema", help="Print the JSON Schema of design files, for editors, and stop.")
    ] = False,
    as_json: bool = False,
) -> Result | None:
    """Review a design: run every access pattern in memory, simulate a day, and report what to improve.

    The exit status is 1 for findings of the --fail-on severity or worse, 2 for an invalid file or command.
    """
    with importing("a review needs", extra="review"):
        for package in ("jinja2", "pydantic", "tomlkit"):
            import_module(package)
    if json_schema:
        from .design_file.format import schema

        print_document(schema())
        return None
    if design is None:
        fail("no design is given: name a TOML file, or package.module:design", WRONG_USE, as_json=as_json)
    prints_report = as_json and output is None and diff is None and fix is None and not code
    form = Form.JSON if prints_report else form
    text = io.StringIO() if as_json and not prints_report else None
    request, exit_status = _Review(design, form, output, prices, console(file=text)), 0
    try:
        if diff is not None:
            request.compare(diff)
        elif fix is not None:
            request.fix(fix)
        elif code:
            request.code()
        else:
            worst, least = request.run().severity, Severity.__members__.get(fail_on.name)
            exit_status = int(worst is not None and least is not None and worst >= least)
    except OSError as error:
        fail(error, WRONG_USE, as_json=as_json)
    if text is not None:
        return Result({"text": text.getvalue()}, status=exit_status)
    raise typer.Exit(exit_status)


app = new_app()
command(app)(explain)
command(app)(review)
command(app)(mcp)
