"""Split a page's program into consecutive code blocks, and record what each prints and stores."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import textwrap
from collections.abc import Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import cache
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tools.pages.stored_rows import Stored, stored_in

_MARK = re.compile(r"^ *# -- (.+?)(?: \(.+\))?\n", re.MULTILINE)
_LINE_LENGTH = 88


@dataclass(frozen=True)
class Block:
    """One part of a program, its output, and what the account stores after it."""

    part: str
    code: str
    output: str
    stored: Stored


@cache
def blocks(path: Path) -> tuple[Block, ...]:
    """Return the blocks of a program; each can be pasted and run after the previous ones.

    The program is a function `main(storage)` whose parts begin with a comment `# -- part`, or `# -- part (package)` if
    it needs a package that the site does not load. The first block gets the
    imports, the constants and the account, and a helper function stands in the first block that calls it.
    """
    namespace: dict[str, Any] = {"__name__": "__main__"}
    done = []
    for part, code in _parts(path):
        output = StringIO()
        with redirect_stdout(output):
            compiled = compile(code, f"{path.name}, block {part}", "exec", dont_inherit=True)
            exec(compiled, namespace)  # noqa: S102 - our own page
        done.append(Block(part, code, output.getvalue(), stored_in(namespace["storage"])))
    namespace["storage"].close()
    return tuple(done)


def _parts(path: Path) -> list[tuple[str, str]]:
    """Return the name and the code of each block."""
    source = path.read_text(encoding="utf-8")
    tree, lines = ast.parse(source, str(path)), source.splitlines(keepends=True)
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    main = functions.pop("main")
    helpers = {name: _text(lines, node) for name, node in functions.items() if node.lineno > main.lineno}
    head = "".join(lines[tree.body[0].end_lineno or 0 : main.lineno - 1])
    body = "".join(lines[main.lineno : main.end_lineno])
    flat = re.sub(r"^MEMORY_ONLY = .*\n", "", head, flags=re.MULTILINE) + textwrap.dedent(body)
    ahead, *marked = _MARK.split(flat)
    placed, parts = set[str](), []
    for name, code in zip(marked[::2], marked[1::2], strict=True):
        wanted = [each for each in helpers if each not in placed and _uses(each, code)]
        placed.update(wanted)
        if code.strip():
            parts.append((name, "\n\n".join([*(helpers[each] for each in wanted), code])))
    first, code = parts[0]
    parts[0] = first, _opened(ahead, "".join(code for _, code in parts)) + code
    formatted = _formatted([code for _, code in parts])
    return [(name, code) for (name, _), code in zip(parts, formatted, strict=True)]


def _opened(ahead: str, used: str) -> str:
    """Return the code before the first part, with the account and without names that only `main` uses."""
    tree, lines = ast.parse(ahead), ahead.splitlines(keepends=True)
    needed = used + "".join(_text(lines, node) for node in tree.body if not isinstance(node, ast.ImportFrom))
    account, opened, ends = "tp.connect()", "", 0
    for node in tree.body:
        text = _text(lines, node)
        if isinstance(node, ast.ImportFrom):
            text = _import(node, needed)
            account = "connect()" if _uses("connect", text) else account
        elif _uses("storage", text) and "storage = " not in opened:
            text = f"\nstorage = {account}\n{text}"
        gap = "\n" * min(node.lineno - ends, 2) if opened else ""
        opened, ends = (opened.rstrip("\n") + gap + text, node.end_lineno or 0) if text else (opened, ends)
    return f"{opened}\n\n" if "storage = " in opened else f"{opened}\n\nstorage = {account}\n\n"


def _import(node: ast.ImportFrom, used: str) -> str:
    names = [each.name for each in node.names if each.name == "connect" or _uses(each.name, used)]
    return f"from {node.module} import {', '.join(names)}\n" if names else ""


def _uses(name: str, text: str) -> bool:
    return re.search(rf"\b{name}\b", text) is not None


def _text(lines: list[str], node: ast.stmt) -> str:
    decorators = getattr(node, "decorator_list", [])
    first = min([node.lineno, *(each.lineno for each in decorators)])
    return "".join(lines[first - 1 : node.end_lineno])


def _formatted(codes: Sequence[str]) -> list[str]:
    """Format several programs in one process."""
    with TemporaryDirectory() as folder:
        paths = [Path(folder, f"{number}.py") for number in range(len(codes))]
        for path, code in zip(paths, codes, strict=True):
            path.write_text(code, encoding="utf-8")
        command = [sys.executable, "-m", "ruff", "format", "--isolated", f"--line-length={_LINE_LENGTH}", folder]
        subprocess.run(command, capture_output=True, check=True)  # noqa: S603
        texts = [path.read_text(encoding="utf-8").strip("\n") + "\n" for path in paths]
    return [re.sub(r"\n{3,}(?!@|def |class |async )", "\n\n", text) for text in texts]
