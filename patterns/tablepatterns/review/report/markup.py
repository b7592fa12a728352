"""Build HTML and SVG in which text cannot become markup."""

from __future__ import annotations

from html import escape
from typing import Final

_VOID: Final = frozenset({"input"})
"""Elements without content and closing tag."""


class Markup(str):
    """HTML that needs no escaping, unlike text."""

    __slots__ = ()


def element(tag: str, /, *children: str, **attributes: str) -> Markup:
    """Return an element. Children are escaped unless they are `Markup`.

    Empty attributes are left out. In attribute names, a trailing underscore is removed and others become hyphens.

    >>> element("p", "1 < 2 ", element("b", "&"), class_="note", data_label='"')
    '<p class="note" data-label="&quot;">1 &lt; 2 <b>&amp;</b></p>'
    """
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(value)}"' for key, value in attributes.items() if value
    )
    return Markup(f"<{tag}{written}>" if tag in _VOID else f"<{tag}{written}>{joined(*children)}</{tag}>")


def joined(*children: str) -> Markup:
    """Concatenate markup and text; text is escaped."""
    return Markup("".join(each if isinstance(each, Markup) else escape(each, quote=False) for each in children))
