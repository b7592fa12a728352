"""Writes the pages."""

from pathlib import Path

from proof import budgets, catalogue, compositions, errors, exploring, guarantees, pattern_map, readme, sections

ROOT = Path(__file__).parents[2]
PAGES = (compositions, budgets, guarantees, catalogue, pattern_map, errors, exploring, readme)

if __name__ == "__main__":
    for each in PAGES:
        (ROOT / each.PAGE).write_text(each.render(), encoding="utf-8")
    for path in sections.pages():
        path.write_text(sections.render(path), encoding="utf-8")
