"""A notebook as the checks see it: its cells, its headings, its switch, and the answers to its exercises."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import nbformat

FOLDER: Final = Path(__file__).parents[2] / "notebooks"
HEADINGS: Final = (
    "Problem",
    "Pattern",
    "Result",
    "Crashes and concurrent writers",
    "Cost",
    "Limits",
    "When not to use it",
    "Exercises",
    "Clean up",
)
HELPERS: Final = "notebook_helpers"
"""The module beside the notebooks that each of them imports."""
SWITCH: Final = 'STORAGE = "memory://"  # or "azurite"'
_HEADING: Final = re.compile(r"^(#+) (.+)$", re.MULTILINE)
_FENCED: Final = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
_DETAILS: Final = re.compile(r"<details>(.*?)</details>", re.DOTALL)
_CODE: Final = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Book:
    """One notebook.

    :param name: its file's name without the suffix
    :param node: what the file holds
    """

    name: str
    node: Any

    @classmethod
    def read(cls, path: Path) -> Book:
        """Read a file; one that is no valid notebook is refused."""
        node = nbformat.read(path, as_version=4)
        nbformat.validate(node)
        return cls(path.stem, node)

    @property
    def code(self) -> list[Any]:
        """The cells of code."""
        return [cell for cell in self.node.cells if cell.cell_type == "code"]

    @property
    def prose(self) -> list[str]:
        """The texts of the cells of Markdown."""
        return [cell.source for cell in self.node.cells if cell.cell_type == "markdown"]

    @property
    def outputs(self) -> list[Any]:
        """All outputs, in order."""
        return [output for cell in self.code for output in cell.outputs]

    def headings(self, level: int) -> list[str]:
        """Return the headings of a level, in order."""
        found = [_HEADING.findall(_FENCED.sub("", text)) for text in self.prose]
        return [text for each in found for marks, text in each if len(marks) == level]

    @property
    def answers(self) -> list[str]:
        """The code of the answers to the exercises, one text for each answer; it is folded away in `<details>`."""
        folded = [found for text in self.prose for found in _DETAILS.findall(text)]
        return ["".join(_CODE.findall(each)) for each in folded]


def books() -> list[Path]:
    """Return the notebooks' files, in their order."""
    return sorted(FOLDER.glob("*.ipynb"))


def texts_of(cell: Any) -> list[str]:
    """Return what a cell printed and showed as text, pictures left out."""
    found: list[str] = []
    for output in cell.outputs:
        if output.output_type == "stream":
            found.append(output.text)
        elif output.output_type in ("execute_result", "display_data") and "image/png" not in output.data:
            found.append(output.data.get("text/plain", ""))
    return found
