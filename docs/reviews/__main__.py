"""Writes the reports of the designs in this folder, and the page that compares them: `make reviews`."""

from __future__ import annotations

from reviews.reports import DESIGNS, FOLDER, comparison, reports

if __name__ == "__main__":
    for design in DESIGNS:
        for name, text in reports(design).items():
            (FOLDER / name).write_text(text, encoding="utf-8", newline="\n")
    (FOLDER / "index.md").write_text(comparison(), encoding="utf-8", newline="\n")
