"""The pictures of docs/tables-in-pictures.md and of other pages; each is drawn for light and dark."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from html import escape
from typing import NamedTuple

from tablepatterns import connect
from tablepatterns.filters import QueryClass, classify, parse
from tablepatterns_review import PriceTable

_STYLE = """\
text { font: 13px system-ui, sans-serif; fill: #1f2328; }
.code { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
.title { font-weight: 600; font-size: 15px; } .note { fill: #59636e; } .mid { text-anchor: middle; }
.paper { fill: #ffffff; } .box { fill: #f0f3f6; stroke: #afb8c1; } .hit { fill: #b6e3ff; } .read { fill: #fff1b8; }
.line { stroke: #59636e; fill: none; } .good { fill: #1a7f37; } .bad { fill: #b42318; } .bar { fill: #0969da; }
.lane { stroke: #afb8c1; stroke-dasharray: 4 4; } .head { fill: #59636e; }
@media (prefers-color-scheme: dark) {
  text { fill: #f0f6fc; } .note { fill: #9198a1; } .paper { fill: #0d1117; } .box { fill: #161b22; stroke: #3d444d; }
  .hit { fill: #0c4a7a; } .read { fill: #5c4813; } .line { stroke: #9198a1; } .lane { stroke: #3d444d; }
  .good { fill: #3fb950; } .bad { fill: #ff7b72; } .bar { fill: #4493f8; } .head { fill: #9198a1; }
}"""
_ARROW = (
    '<defs><marker id="to" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
    '<path class="head" d="M0 0 L8 4 L0 8 z"/></marker></defs>'
)
_ROWS = (
    ("IT", "empid_000007", "Age=29"),
    ("Sales", "email_ann@contoso.com", "Age=51"),
    ("Sales", "email_jonesj@contoso.com", "Age=34"),
    ("Sales", "empid_000152", "Age=51"),
    ("Sales", "empid_000223", "Age=34"),
    ("Support", "empid_000310", "Age=44"),
)


Drawing = tuple[int, int, str, Sequence[str]]


def _text(x: float, y: float, text: str, kind: str = "") -> str:
    return f'<text class="{kind}" x="{x:g}" y="{y:g}">{escape(text, quote=False)}</text>'


def _box(x: float, y: float, width: float, height: float, kind: str = "box") -> str:
    return f'<rect class="{kind}" x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="4"/>'


def _line(x: float, y: float, to_x: float, to_y: float, kind: str = "line", arrow: bool = True) -> str:
    end = ' marker-end="url(#to)"' if arrow else ""
    return f'<path class="{kind}" d="M{x:g} {y:g} L{to_x:g} {to_y:g}"{end}/>'


def _node(x: float, y: float, width: float, *lines: str) -> list[str]:
    height = 18 * len(lines) + 12
    parts = [_box(x, y, width, height)]
    return parts + [_text(x + width / 2, y + 21 + 18 * at, line, "mid") for at, line in enumerate(lines)]


def account() -> Drawing:
    """An account has tables, a table has partitions, a partition has sorted rows."""
    parts = [_box(8, 8, 744, 300), _text(20, 30, "Storage account contoso", "title")]
    parts += [_box(20, 44, 530, 252), _text(32, 66, "Table Employees", "title")]
    y = 94
    previous = ""
    for partition, row, properties in _ROWS:
        if partition != previous:
            y += 8
            count = sum(each[0] == partition for each in _ROWS)
            parts += [_box(32, y, 506, 24 * count + 8, "paper"), _text(44, y + 21, partition, "code")]
            previous = partition
            y += 4
        parts += [_text(150, y + 17, row, "code"), _text(400, y + 17, properties, "code")]
        y += 24
        if partition != "Sales" or row.endswith("223"):
            y += 4
    parts += [
        _text(44, 92, "PartitionKey", "note"),
        _text(150, 92, "RowKey, sorted", "note"),
        _text(400, 92, "Properties", "note"),
    ]
    parts += [
        _box(566, 44, 174, 60),
        _text(578, 66, "Table Orders", "title"),
        _text(578, 90, "other partitions", "note"),
    ]
    parts += [_box(566, 116, 174, 60), _text(578, 138, "Queue", "title"), _text(578, 162, "messages", "note")]
    parts += [_box(566, 188, 174, 60), _text(578, 210, "Container", "title"), _text(578, 234, "blobs", "note")]
    return 760, 316, "A storage account with tables; a table has partitions, and each has rows sorted by RowKey", parts


_FILTERS = (
    "PartitionKey eq 'Sales' and RowKey eq 'empid_000223'",
    "PartitionKey eq 'Sales' and RowKey ge 'empid_' and RowKey lt 'empid`'",
    "PartitionKey eq 'Sales' and Age gt 40",
    "Age gt 40",
)


def _lines(x: float, y: float, text: str) -> list[str]:
    """Write a filter, with a line break after the partition."""
    first, is_longer, rest = text.partition(" and ")
    return [_text(x, y, first, "code note"), _text(x, y + 16, f"and {rest}" if is_longer else "", "code note")]


def query_classes() -> Drawing:
    """The rows that the service reads and returns for each query class, according to the engine."""
    storage = connect()
    table = storage.tables.create_table("Employees")
    for partition, row, age in _ROWS:
        table.create_entity({"PartitionKey": partition, "RowKey": row, "Age": int(age.removeprefix("Age="))})
    parts: list[str] = []
    assert storage.engine is not None  # noqa: S101 - it is in memory
    for number, text in enumerate(_FILTERS):
        x, y = 8 + 380 * (number % 2), 8 + 224 * (number // 2)
        ledger = storage.engine.ledger
        found = {(row["PartitionKey"], row["RowKey"]) for row in table.query_entities(text)}
        examined = ledger.records[-1].examined
        kind = classify(parse(text)).query_class
        label = f"{kind.label}: reads {examined}, returns {len(found)}"
        parts += [_text(x, y + 14, label, "title"), *_lines(x, y + 34, text)]
        for at, (partition, row, age) in enumerate(_ROWS):
            is_read = kind is QueryClass.TABLE_SCAN or (kind is QueryClass.PARTITION_SCAN and partition == "Sales")
            shade = "hit" if (partition, row) in found else "read" if is_read else "box"
            parts += [_box(x, y + 60 + 24 * at, 366, 22, shade), _text(x + 10, y + 76 + 24 * at, partition, "code")]
            parts += [_text(x + 80, y + 76 + 24 * at, row, "code"), _text(x + 300, y + 76 + 24 * at, age, "code")]
    parts += [
        _box(8, 460, 18, 14, "hit"),
        _text(32, 472, "read and returned"),
        _box(170, 460, 18, 14, "read"),
        _text(194, 472, "read, not returned"),
    ]
    return (
        760,
        482,
        "The rows that four queries read: a point query, a range query, a partition scan, a table scan",
        parts,
    )


def _lanes(names: Sequence[tuple[str, float]], bottom: float) -> list[str]:
    parts = []
    for name, x in names:
        parts += [_text(x, 24, name, "title mid"), _line(x, 34, x, bottom, "lane", arrow=False)]
    return parts


def _calls(steps: Sequence[tuple[float, float, str, str]], top: float = 56, gap: float = 38) -> list[str]:
    parts = []
    for at, (start, end, text, kind) in enumerate(steps):
        y = top + gap * at
        parts += [_line(start, y, end, y), _text((start + end) / 2, y - 6, text, f"mid {kind}")]
    return parts


def etag_race() -> Drawing:
    """Two writers read the same version; the second conditional write is rejected."""
    ann, table, bob = 110.0, 380.0, 650.0
    steps = [
        (ann, table, "get jones", ""),
        (table, ann, "Age 34, ETag 1", "note"),
        (bob, table, "get jones", ""),
        (table, bob, "Age 34, ETag 1", "note"),
        (ann, table, "replace, If-Match: 1", ""),
        (table, ann, "204, ETag 2", "good"),
        (bob, table, "replace, If-Match: 1", ""),
        (table, bob, "412: the row has changed", "bad"),
        (bob, table, "get again, apply the change, If-Match: 2", ""),
        (table, bob, "204, ETag 3", "good"),
    ]
    parts = _lanes((("ann", ann), ("table", table), ("bob", bob)), 420)
    return (
        760,
        428,
        "Two writers read the same ETag; the second write is rejected, reads again and succeeds",
        [*parts, *_calls(steps)],
    )


def intent() -> Drawing:
    """Intent, write, reconcile, and what a crash after each step leaves."""
    steps = [
        ("1 send the message", "hidden for 60 s", "nothing has changed", "a worker deletes it"),
        ("2 write the entity", "on its ETag", "the copy is stale", "a worker writes the copy"),
        ("3 write the copy", "in its partition", "all rows match", "a worker confirms it"),
        ("4 read the entity again", "repeat 3 if it changed", "all rows match", "a worker confirms it"),
        ("5 delete the message", "done", "all rows match", "nothing is left to do"),
    ]
    parts = [
        _text(8, 20, "The writer"),
        _text(8, 118, "A crash after this step leaves", "bad"),
        _text(8, 170, "Repaired by", "good"),
    ]
    for at, (step, how, left, repair) in enumerate(steps):
        x = 8 + 184 * at
        parts += _node(x, 30, 168, step, how)
        if at:
            parts.append(_line(x - 16, 54, x - 2, 54))
        parts += [
            _line(x + 84, 78, x + 84, 98),
            _text(x + 84, 138, left, "mid bad"),
            _text(x + 84, 190, repair, "mid good"),
        ]
    return 924, 204, "Intent, write, reconcile: five steps, what a crash after each leaves, and what repairs it", parts


def message() -> Drawing:
    """The life of a message."""
    parts = [*_node(8, 60, 110, "sent"), *_node(190, 60, 130, "visible"), *_node(400, 60, 150, "leased by a worker")]
    parts += [*_node(640, 60, 112, "deleted"), *_node(400, 180, 150, "poison queue")]
    parts += [_line(118, 75, 186, 75), _line(320, 68, 396, 68), _line(550, 75, 636, 75)]
    parts += [
        _text(358, 52, "receive", "mid"),
        _text(593, 52, "handled", "mid good"),
        _text(484, 140, "failed too often", "bad"),
    ]
    parts += [
        _line(470, 90, 470, 176),
        '<path class="line" d="M430 90 C410 134 290 134 262 94" marker-end="url(#to)"/>',
    ]
    parts += [
        _text(340, 146, "failed, or the worker crashed:", "bad mid"),
        _text(340, 164, "visible again after the lease", "bad mid"),
    ]
    parts += [
        '<path class="line" d="M500 58 C520 16 440 16 450 56" marker-end="url(#to)"/>',
        _text(540, 24, "renew the lease"),
    ]
    parts += [
        '<path class="line" d="M398 200 C240 236 180 160 205 94" marker-end="url(#to)"/>',
        _text(214, 216, "requeue", "mid"),
    ]
    return (
        760,
        236,
        "A message is sent, leased, and deleted, or visible again after the lease, or moved to the poison queue",
        parts,
    )


def choosing() -> Drawing:
    """A flow chart from a query to a pattern."""
    rows = [
        (("Do you know both keys?",), ("Point query:", "EntitySet.get")),
        (("Same partition, other", "unique value?"), ("Intra-partition", "secondary index")),
        (("Unknown or busy partition,", "other unique value?"), ("Inter-partition", "secondary index")),
        (("A value that many share?",), ("Index entities",)),
        (("Newest first?",), ("Log tail",)),
        (("A count or a sum?",), ("Summary",)),
    ]
    parts: list[str] = []
    for at, (question, answer) in enumerate(rows):
        y = 8 + 70 * at
        parts += [*_node(8, y, 230, *question), *_node(330, y, 180, *answer)]
        middle = y + 9 * len(question) + 6
        parts += [_line(238, middle, 326, middle), _text(282, middle - 6, "yes", "mid good")]
        bottom = y + 18 * len(question) + 12
        parts += [_line(123, bottom, 123, y + 68), _text(132, y + 64, "no", "note")]
    y = 8 + 70 * len(rows)
    parts += [*_node(8, y, 230, "A scan: reconsider the keys", "or allow it explicitly")]
    return 520, y + 60, "A flow chart: from what you know of an entity to the pattern that finds it", parts


_PRICED = {
    "table_reads": "table transactions",
    "queue_operations": "queue operations",
    "blob_reads": "reads of blobs",
    "blob_writes": "writes of blobs",
}


def prices() -> Drawing:
    """The price of a million of each operation, from the price table of the review."""
    table = PriceTable.default()
    bars = [(_PRICED[name], 100 * table.operations[name]) for name in _PRICED]
    bars = [(f"a million {name}", 100 * cents) for name, cents in bars]
    bars += [
        ("a GB of tables for a month", 100 * table.capacity.tables),
        ("a GB of blobs for a month", 100 * table.capacity.blobs),
    ]
    largest = max(cents for _, cents in bars)
    parts = [_text(8, 20, f"US cents, {table.region}, {table.redundancy}, {table.dated}", "note")]
    for at, (name, cents) in enumerate(bars):
        y, width = 34 + 30 * at, max(2.0, 360 * cents / largest)
        parts += [
            _text(8, y + 16, name),
            _box(250, y + 2, width, 20, "bar"),
            _text(258 + width, y + 16, f"{cents:,.1f}"),
        ]
    return 700, 46 + 30 * len(bars), "What a million operations and a gigabyte cost in tables, queues and blobs", parts


def sas_range() -> Drawing:
    """The rows that a SAS with a key range reaches."""
    start, end = ("Sales", "empid_"), ("Sales", "empid`")
    parts = [_text(8, 20, "grant: PartitionKey Sales, RowKey from empid_ to empid`", "title")]
    for at, (partition, row, age) in enumerate(_ROWS):
        inside = start <= (partition, row) <= end
        y = 34 + 26 * at
        parts += [_box(8, y, 560, 24, "hit" if inside else "box"), _text(20, y + 17, partition, "code")]
        parts += [_text(110, y + 17, row, "code"), _text(380, y + 17, age, "code")]
        parts.append(_text(584, y + 17, "reached" if inside else "403", "good" if inside else "bad"))
    return 700, 198, "The rows that a shared access signature with a key range reaches", parts


class Picture(NamedTuple):
    """A picture, and the file that it is written to."""

    PAGE: str
    render: Callable[[], str]


def _svg(draw: Callable[[], Drawing]) -> str:
    width, height, title, parts = draw()
    size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">'
    body = "\n".join([_ARROW, f'<rect class="paper" width="{width}" height="{height}"/>', *parts])
    return f"{head}\n<title>{escape(title)}</title>\n<style>\n{_STYLE}\n</style>\n{body}\n</svg>\n"


PICTURES = [
    Picture(f"docs/images/{draw.__name__.replace('_', '-')}.svg", partial(_svg, draw))
    for draw in (account, query_classes, etag_race, intent, message, choosing, prices, sas_range)
]
