"""Render the recorded stories as HTML: all frames, of which the script of the page shows one."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Final

from jinja2 import Environment, FileSystemLoader

from .recording import record_crash, record_race

STORIES: Final = {"crash": record_crash, "race": record_race}
_TITLES: Final = {
    "crash": {"plain": "Plain SDK calls", "patterned": "With tablepatterns"},
    "race": {"plain": "Without an ETag", "patterned": "With tablepatterns, which sends it"},
}
_TEMPLATES: Final = Environment(
    loader=FileSystemLoader(Path(__file__).parent), autoescape=True, trim_blocks=True, lstrip_blocks=True
)


def render(name: str, size: int) -> str:
    """Return a story as HTML, with its last frame visible.

    :param size: the megabytes that the playground loads
    """
    # During a build, everything that is logged is printed
    logging.getLogger("azure").setLevel(logging.WARNING)
    acts = asyncio.run(STORIES[name]())
    template = _TEMPLATES.get_template("story.html.jinja")
    return template.render(name=name, acts=acts, shown=acts[-1].frames[-1], titles=_TITLES[name], size=size)
