"""Build HTML and SVG in which text cannot become markup."""

from __future__ import annotations

from html import escape
from typing import Final

_VOID: Final = frozenset({"input"})
"""Elements that have no content, and no end."""


class Markup(str):
    """HTML, as opposed to text that is still to be escaped."""

    __slots__ = ()


def element(tag: str, /, *children: str, **attributes: str) -> Markup:
    """Return an element; children that are no `Markup` are text.

    A blank attribute is left out. A trailing underscore in an attribute's name goes, others become hyphens.

    >>> element("p", "1 < 2 ", element("b", "&"), class_="note", data_label='"')
    '<p class="note" data-label="&quot;">1 &lt; 2 <b>&amp;</b></p>'
    """
    told = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(value)}"' for key, value in attributes.items() if value
    )
    return Markup(f"<{tag}{told}>" if tag in _VOID else f"<{tag}{told}>{joined(*children)}</{tag}>")


def joined(*children: str) -> Markup:
    """Return one after the other, those that are text escaped."""
    return Markup("".join(each if isinstance(each, Markup) else escape(each, quote=False) for each in children))
