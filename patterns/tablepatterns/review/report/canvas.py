"""Canvas: where plots are drawn, in two widths, as SVG whose text is text and whose colours are the page's.

matplotlib knows no colours that change with the page. So each is drawn in a colour that nothing else has, and replaced
by the page's name for it.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final

Axes = Any
"""matplotlib's own type, which the type checkers know only in part."""
Figure = Any
"""The same."""

NEEDED: Final = "matplotlib"
FONT_POINTS: Final = 8.5
_WIDTHS: Final = (("wide", 7.0), ("narrow", 3.6))

# Each is the name of a colour of page.css
_NAMES: Final = (
    "ink", "muted", "line", "page",
    "point", "range", "partition-scan", "table-scan", "write",
    "cool", "warm", "hot", "over", "under",
)  # fmt: skip
COLOURS: Final = {name: f"#0102{number:02x}" for number, name in enumerate(_NAMES, start=16)}
_BY_COLOUR: Final = {value: name for name, value in COLOURS.items()}
_DRAWN: Final = re.compile("|".join(_BY_COLOUR))
_STYLE: Final = {
    "svg.fonttype": "none",
    "text.parse_math": False,
    "axes.unicode_minus": False,
    "font.family": ["DejaVu Sans"],
    "font.size": FONT_POINTS,
    "text.color": COLOURS["ink"],
    "axes.edgecolor": COLOURS["muted"],
    "axes.labelcolor": COLOURS["muted"],
    "axes.linewidth": 0.6,
    "xtick.color": COLOURS["muted"],
    "ytick.color": COLOURS["muted"],
    "xtick.labelsize": FONT_POINTS,
    "ytick.labelsize": FONT_POINTS,
    "hatch.linewidth": 0.7,
}


@dataclass(frozen=True)
class Size:
    """How wide a plot is, in inches, and whether that is the width of a phone."""

    width: float
    narrow: bool


@dataclass(frozen=True)
class Plot:
    """One plot.

    :param name: its name on the page
    :param title: what it shows, as a sentence
    :param reading: how it is read
    :param wide: the SVG for desks and paper
    :param narrow: the SVG for phones
    """

    name: str
    title: str
    reading: str
    wide: str
    narrow: str


def available() -> bool:
    """Tell whether plots can be drawn, which takes the extra `plot`."""
    return find_spec(NEEDED) is not None


def matplotlib(part: str = "") -> Any:
    """Return matplotlib, or a part of it. It is loaded only where something is drawn.

    :raises ModuleNotFoundError: it is not installed
    """
    return import_module(f"{NEEDED}.{part}".rstrip("."))


def plot(name: str, title: str, reading: str, draw: Callable[[Size], Figure]) -> Plot:
    """Return a plot, drawn in both widths.

    :param draw: makes the figure for a width
    """
    wide, narrow = (_svg(f"{name}-{word}", draw, Size(width, word == "narrow")) for word, width in _WIDTHS)
    return Plot(name, title, reading, wide, narrow)


def figure(size: Size, inches: float, *, left: float, right: float, bottom: float, top: float = 0.1) -> Axes:
    """Return the axes of an empty figure with so many inches around them.

    :param inches: how high the figure is
    """
    made = matplotlib("figure").Figure(figsize=(size.width, inches))
    across = 1 - (left + right) / size.width
    axes = made.add_axes((left / size.width, bottom / inches, across, 1 - (bottom + top) / inches))
    made.patch.set_visible(False)
    axes.patch.set_visible(False)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.tick_params(length=0)
    return axes


def scale(axes: Axes, ticks: Sequence[float], words: Callable[[float], str], label: str = "") -> None:
    """Write a scale; the words at its ends stay within it, where they cannot be cut off."""
    low, high = axes.get_xlim()
    shown = [each for each in ticks if low <= each <= high]
    axes.set_xticks(shown, [words(each) for each in shown])
    axes.minorticks_off()
    axes.set_xlabel(label)
    for tick, told in zip(shown, axes.get_xticklabels(), strict=True):
        if tick in (low, high):
            told.set_horizontalalignment("left" if tick == low else "right")


def _svg(name: str, draw: Callable[[Size], Figure], size: Size) -> str:
    target = io.StringIO()
    with matplotlib().rc_context({**_STYLE, "svg.hashsalt": name}), warnings.catch_warnings():
        # A name in a script that the font lacks: the browser has it
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        draw(size).savefig(target, format="svg", metadata={"Date": None, "Creator": None})
    return _for_page(target.getvalue(), name)


def _for_page(svg: str, name: str) -> str:
    """Return an SVG as a part of a page: its names its own, its colours the page's, its size the reader's."""
    svg = svg[svg.index("<svg") :].strip()
    svg = re.sub(r"\s*<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'^<svg ([^>]*?)width="[^"]*pt" height="[^"]*pt"', r"<svg \1", svg)
    # Only within tags: what the design names is text, and stays as it is
    return re.sub(r"<[^>]*>", lambda tag: _own(tag[0], name), svg)


def _own(tag: str, name: str) -> str:
    tag = re.sub(r'(\bid="|url\(#|xlink:href="#)', rf"\g<1>{name}-", tag)
    return _DRAWN.sub(lambda found: f"var(--{_BY_COLOUR[found[0]]})", tag)
