"""Wording: a request in the words of the recipes, for those who read a schedule."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Final
from urllib.parse import parse_qs, unquote, urlsplit

_ENTITY: Final = re.compile(r"(?P<table>\w+)\(PartitionKey='(?P<partition>.*)',\s*RowKey='(?P<row>.*)'\)", re.DOTALL)
_TABLE_ENTRY: Final = re.compile(r"Tables\('(?P<table>\w+)'\)")
_WORDS: Final = {"GET": "get", "PUT": "replace", "PATCH": "merge", "MERGE": "merge", "DELETE": "delete"}


def described(request: Any) -> str:
    """Return what a request of an SDK asks for.

    >>> from azure.core.rest import HttpRequest
    >>> url = "https://contoso.table.core.windows.net/Employees(PartitionKey='Sales',RowKey='empid_000223')"
    >>> described(HttpRequest("PATCH", url, headers={"If-Match": "*"}))
    "merge Employees('Sales', 'empid_000223')"
    >>> described(HttpRequest("PUT", "https://contoso.blob.core.windows.net/logs/2014/07/31/1800.log?comp=appendblock"))
    'PUT logs/2014/07/31/1800.log (appendblock)'
    """
    parts = list(_parts(request))
    if parts:
        return f"transaction of {len(parts)}: {', '.join(map(described, parts))}"
    address = urlsplit(str(request.url))
    path = unquote(address.path).lstrip("/")
    of_tables = ".table." in address.netloc or not address.netloc
    return (_of_tables(request, path) if of_tables else None) or f"{request.method} {path}{_component(address.query)}"


def changes(request: Any) -> bool:
    """Tell whether a request may change anything.

    Receiving messages does: it hides them.
    """
    if request.method in ("GET", "HEAD"):
        return ".queue." in request.url and "/messages" in request.url and "peekonly" not in request.url
    return True


def _parts(request: Any) -> Iterator[Any]:
    """Yield the requests of a transaction, which come in a changeset within the batch."""
    info = request.multipart_mixed_info
    for part in info[0] if info else ():
        yield from _parts(part) if part.multipart_mixed_info else (part,)


def _of_tables(request: Any, path: str) -> str | None:
    """Return the words for a request about tables or entities, None for any other."""
    if found := _ENTITY.fullmatch(path):
        keys = (found[name].replace("''", "'") for name in ("partition", "row"))
        return f"{_word(request)} {found['table']}({', '.join(map(repr, keys))})"
    if found := _TABLE_ENTRY.fullmatch(path):
        return f"{_WORDS[request.method]} table {found['table']}"
    if request.method == "POST" and path == "Tables":
        return f"create table {_given(request, 'TableName')}"
    if request.method == "POST" and path.isalnum():
        return f"insert {path}({_given(request, 'PartitionKey')!r}, {_given(request, 'RowKey')!r})"
    if request.method == "GET" and path.endswith("()"):
        wanted = parse_qs(urlsplit(str(request.url)).query).get("$filter")
        return f"query {path[:-2]}" + (f" where {wanted[0]}" if wanted else "")
    return None


def _component(query: str) -> str:
    """Return which part of a queue or a blob a request is about, or what it does with it; "" where none is said."""
    said = parse_qs(query).get("comp")
    return f" ({said[0]})" if said else ""


def _word(request: Any) -> str:
    word = _WORDS[request.method]
    is_upsert = request.method in ("PUT", "PATCH", "MERGE") and "If-Match" not in request.headers
    return f"insert or {word}" if is_upsert else word


def _given(request: Any, name: str) -> Any:
    """Return a field of what a request sends, None where there is none."""
    with suppress(ValueError, AttributeError):
        return json.loads(request.content).get(name)
    return None
