"""Open the jinja2 templates of a package."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup


def environment(
    module: str, *, is_html: bool = False, show_text: Callable[[str], str] = str, **names: object
) -> Environment:
    """Return the environment of the templates in the folder `templates` beside a module.

    :param show_text: applied to each text that a template inserts, before it is escaped, unless it is `Markup`
    :param names: filters and globals
    """

    def finalize(value: object) -> object:
        return show_text(value) if isinstance(value, str) and not isinstance(value, Markup) else value

    opened = Environment(
        loader=PackageLoader(module.rpartition(".")[0], "templates"),
        autoescape=is_html,  # noqa: S701 - other formats have their own escapes
        undefined=StrictUndefined,
        finalize=finalize,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    functions: dict[str, Any] = {name: value for name, value in names.items() if callable(value)}
    filters: Any = opened.filters
    filters.update(functions)
    # Its type is that of the globals which every template has
    everywhere: Any = opened.globals
    everywhere.update(names)
    return opened
