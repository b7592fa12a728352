"""Link names of public classes on pages to the pattern's page or to the API reference.

In the source they are plain code, so that pages are readable as files, and links stay correct when a page is added or
moved.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform

from tablepatterns.catalog import ENTRIES

if TYPE_CHECKING:
    from sphinx.application import Sphinx

_NAME = re.compile(r"[A-Za-z]\w*(?:\.\w+)?")
_OF_ALL = "api/sets"
_NOT_WITHIN = (nodes.reference, nodes.title, nodes.literal_block)


class LinkedNames(SphinxPostTransform):
    """Turns code that is a public name into a link, once for each name in a section, and everywhere in tables."""

    default_priority = 5

    def run(self, **_: Any) -> None:
        seen: set[tuple[int, str]] = set()
        for literal in list(self.document.findall(nodes.literal)):
            name = literal.astext().removesuffix("()")
            place = (id(_above(literal, nodes.section)), name)
            if not _NAME.fullmatch(name) or _above(literal, *_NOT_WITHIN) is not None or place in seen:
                continue
            target = self._target(name)
            if target is not None and not target.startswith(f"{self.env.docname}#"):
                if _above(literal, nodes.table) is None:
                    seen.add(place)
                self._link(literal, target)

    def _target(self, name: str) -> str | None:
        """Return the page and the anchor that explain a name best: on a pattern's own page, the reference."""
        found = self.env.domains["py"].data["objects"].get(f"tablepatterns.{name}")
        pages = (f"patterns/{entry.name}" for entry in ENTRIES if name in entry.classes)
        # The parts of every design are explained best on one page
        if found is None or found.docname != _OF_ALL:
            for page in pages:
                if page in self.env.found_docs and page != self.env.docname:
                    return f"{page}#"
        return f"{found.docname}#{found.node_id}" if found else None

    def _link(self, literal: nodes.literal, target: str) -> None:
        page, _, anchor = target.partition("#")
        uri = self.app.builder.get_relative_uri(self.env.docname, page) + (f"#{anchor}" if anchor else "")
        link = nodes.reference("", "", internal=True, refuri=uri)
        literal.replace_self(link)
        link += literal


def _above(node: nodes.Node, *kinds: type[nodes.Element]) -> nodes.Node | None:
    """Return the nearest ancestor of these kinds."""
    above = node.parent
    while above is not None and not isinstance(above, kinds):
        above = above.parent
    return above


def setup(app: Sphinx) -> dict[str, Any]:
    """Run it on each page."""
    app.add_post_transform(LinkedNames)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
