"""IPython's shell, as in Jupyter's kernel, with the outputs of its cells in place of messages."""

from __future__ import annotations

import io
import sys
from base64 import b64encode
from collections.abc import Iterable, Mapping
from typing import Any

from ipykernel.compiler import XCachingCompiler
from IPython.core.displayhook import DisplayHook
from IPython.core.displaypub import DisplayPublisher
from IPython.core.interactiveshell import InteractiveShell
from traitlets import Type
from traitlets.config import Config


class CellError(Exception):
    """A cell raised an error."""


class _Results(DisplayHook):
    """Records the value of a cell's last expression."""

    def write_output_prompt(self) -> None: ...

    def write_format_data(self, format_dict: dict[str, Any], md_dict: Any = None) -> None:
        self.shell.record("execute_result", format_dict, execution_count=self.shell.number)


class _Displays(DisplayPublisher):
    """Records what a cell displays."""

    def publish(self, data: dict[str, Any], metadata: Any = None, **_: Any) -> None:
        self.shell.record("display_data", data)

    def clear_output(self, wait: bool = False) -> None:
        self.shell.outputs.clear()


class _Stream(io.TextIOBase):
    """Records what a cell prints."""

    def __init__(self, shell: Shell, name: str) -> None:
        self._shell, self._name = shell, name

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self._shell.print(self._name, text)
        return len(text)


class Shell(InteractiveShell):
    """A shell without history, whose cells run on an event loop, as in a kernel."""

    displayhook_class = Type(_Results)
    display_pub_class = Type(_Displays)
    # The cells have the file names that readers see in tracebacks
    compiler_class = Type(XCachingCompiler)

    def __init__(self) -> None:
        self.number = 0  # of the cell
        self.outputs: list[dict[str, Any]] = []
        super().__init__(config=Config(HistoryManager={"enabled": False}, InteractiveShell={"colors": "nocolor"}))
        InteractiveShell._instance = Shell._instance = self

    def record(self, kind: str, data: Mapping[str, Any], **more: Any) -> None:
        """Add what a cell shows to its outputs."""
        texts = {key: b64encode(each).decode() if isinstance(each, bytes) else each for key, each in data.items()}
        self.outputs.append({"output_type": kind, "data": texts, "metadata": {}, **more})

    def print(self, name: str, text: str) -> None:
        """Add a text to a stream of the cell's outputs."""
        last = self.outputs[-1] if self.outputs else {}
        if last.get("name") == name:
            last["text"] += text
        elif text:
            self.outputs.append({"output_type": "stream", "name": name, "text": text})

    async def run_cells(self, cells: Iterable[str]) -> list[list[dict[str, Any]]]:
        """Run cells, and return the outputs of each.

        :raises CellError: a cell raised an error
        """
        sys.stdout, sys.stderr = _Stream(self, "stdout"), _Stream(self, "stderr")
        return [await self._outputs_of(cell) for cell in cells]

    async def _outputs_of(self, cell: str) -> list[dict[str, Any]]:
        self.number, self.outputs = self.number + 1, []
        transformed = self.transform_cell(cell)
        if self.should_run_async(cell, transformed_cell=transformed):
            result = await self.run_cell_async(cell, store_history=True, transformed_cell=transformed)
            self.events.trigger("post_execute")
            self.events.trigger("post_run_cell", result)
        else:
            result = self.run_cell(cell, store_history=True)
        if not result.success:
            raise CellError("".join(each["text"] for each in self.outputs if "text" in each))
        return self.outputs
