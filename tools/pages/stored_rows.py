"""The stored rows of an account in key order, and a picture of them before and after a program."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from html import escape
from itertools import groupby
from typing import Any, NamedTuple

_RANDOM = re.compile(r"[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}")
_OWN = frozenset({"WriteId", "IntentId"})
"""Internal properties of the library, which pictures leave out."""
_MAX_ROWS = 9
_MAX_TEXT = 34
_WIDTH, _LINE, _COLUMNS = 820, 22, (16, 190, 450)
_STYLE = """\
text { font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; fill: #1f2328; }
.title { font: 600 14px system-ui, sans-serif; }
.note, .head { font: 12px system-ui, sans-serif; fill: #59636e; }
.paper { fill: #ffffff; } .band { fill: #f0f3f6; } .rule { stroke: #d1d9e0; }
.kind0 { fill: #0969da; } .kind1 { fill: #1a7f37; } .kind2 { fill: #9a6700; } .kind3 { fill: #8250df; }
.gone { text-decoration: line-through; } .new { font-weight: 700; }
@media (prefers-color-scheme: dark) {
  text { fill: #f0f6fc; } .note, .head { fill: #9198a1; }
  .paper { fill: #0d1117; } .band { fill: #161b22; } .rule { stroke: #3d444d; }
  .kind0 { fill: #4493f8; } .kind1 { fill: #3fb950; } .kind2 { fill: #d29922; } .kind3 { fill: #ab7df8; }
}"""


class Row(NamedTuple):
    """One row of a table, or one blob of a container, as shown in a picture."""

    partition: str
    key: str
    properties: str


Stored = Mapping[str, tuple[Row, ...]]
"""The rows of each table, and the blobs of each container, in key order."""


def stored_in(storage: Any) -> Stored:
    """Return what an account stores, without values that differ in each run."""
    found: dict[str, tuple[Row, ...]] = {}
    for table in storage.tables.list_tables():
        rows = storage.tables.get_table_client(table.name).list_entities()
        found[f"table {table.name}"] = _settled([_row(row) for row in rows])
    for container in storage.blobs.list_containers():
        names = (blob.name for blob in storage.blobs.get_container_client(container.name).list_blobs())
        found[f"container {container.name}"] = tuple(Row("", _short(name), "") for name in names)
    return found


def _settled(rows: list[Row]) -> tuple[Row, ...]:
    """Return rows in key order; rows whose keys differ only in a random part are ordered by their properties."""
    groups = groupby(rows, key=lambda row: (row.partition, row.key))
    return tuple(row for _, group in groups for row in sorted(group))


def _row(entity: Mapping[str, Any]) -> Row:
    shown = {name: value for name, value in entity.items() if name not in ("PartitionKey", "RowKey", *_OWN)}
    properties = ", ".join(f"{name}={_value(value)}" for name, value in shown.items())
    return Row(_short(entity["PartitionKey"]), _short(entity["RowKey"]), _short(properties, 44))


def _value(value: Any) -> str:
    if isinstance(value, bytes):
        return f"({len(value):,} bytes)"
    value = getattr(value, "value", value)
    return f"{value:g}" if isinstance(value, float) else str(value)


def _short(text: str, length: int = _MAX_TEXT) -> str:
    text = _RANDOM.sub("…", text)
    return text if len(text) <= length else text[: length - 1] + "…"


def picture(before: Stored, after: Stored) -> str:
    """Return an SVG of the rows, before and after the program if there are earlier rows."""
    panels = [("Before", before, after), ("After", after, before)] if before else [("Stored rows", after, after)]
    drawn, y = [], 0
    for title, stored, other in panels:
        body, height = _panel(title, stored, other)
        drawn.append(f'<g transform="translate(0 {y})">{body}</g>')
        y += height
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {y}" width="{_WIDTH}" height="{y}" role="img">'
    )
    return f"{head}\n<style>\n{_STYLE}\n</style>\n" + "\n".join(drawn) + "\n</svg>\n"


def _panel(title: str, stored: Stored, other: Stored) -> tuple[str, int]:
    lines, y, kinds = [f'<text class="title" x="{_COLUMNS[0]}" y="24">{title}</text>'], 34, {}
    for name, rows in stored.items():
        lines.append(f'<text class="note" x="{_COLUMNS[0]}" y="{y + 16}">{escape(name)}</text>')
        y += _LINE
        marks = _marks(title, rows, other.get(name, ()))
        for line, height in _rows(rows, marks, kinds):
            lines.append(f'<g transform="translate(0 {y})">{line}</g>')
            y += height
        y += 8
    paper = f'<rect class="paper" width="{_WIDTH}" height="{y + 6}"/>'
    return "\n".join([paper, *lines]), y + 6


def _marks(title: str, rows: tuple[Row, ...], other: tuple[Row, ...]) -> dict[Row, str]:
    """Return the rows that the program inserted or changed, and those that it deleted."""
    keys = {(row.partition, row.key) for row in other}
    if title == "Before":
        return {row: "gone" for row in rows if (row.partition, row.key) not in keys}
    return {row: "new" for row in rows if row not in other}


def _rows(rows: tuple[Row, ...], marks: Mapping[Row, str], kinds: dict[str, int]) -> Iterator[tuple[str, int]]:
    yield _cells(("PartitionKey", "RowKey", "properties"), "head", ("", "", "")), _LINE
    partition, shaded = None, False
    for row in rows[:_MAX_ROWS]:
        shaded = shaded != (row.partition != partition)
        kind = kinds.setdefault(re.split(r"[\d…_]", row.key)[0], len(kinds) % 4)
        mark = marks.get(row, "")
        cells = (row.partition if row.partition != partition else "", row.key, row.properties)
        band = f'<rect class="band" x="8" width="{_WIDTH - 16}" height="{_LINE}"/>' if shaded else ""
        rule = "" if row.partition == partition else f'<line class="rule" x1="8" x2="{_WIDTH - 8}"/>'
        yield band + rule + _cells(cells, mark, ("", f"kind{kind}", "")), _LINE
        partition = row.partition
    if len(rows) > _MAX_ROWS:
        yield _cells(("", f"and {len(rows) - _MAX_ROWS:,} more rows", ""), "note", ("", "", "")), _LINE
    elif not rows:
        yield _cells(("", "(empty)", ""), "note", ("", "", "")), _LINE


def _cells(texts: tuple[str, str, str], mark: str, classes: tuple[str, str, str]) -> str:
    marked = ("head" if mark == "head" else "", mark, mark)
    return "".join(
        f'<text class="{f"{each} {kind}".strip()}" x="{x}" y="15">{escape(text)}</text>'
        for x, text, kind, each in zip(_COLUMNS, texts, classes, marked, strict=True)
        if text
    )
