"""Writes the page."""

from pathlib import Path

from fidelity.page import PAGE, render

ROOT = Path(__file__).parents[2]

if __name__ == "__main__":
    (ROOT / PAGE).write_text(render(ROOT), encoding="utf-8")
