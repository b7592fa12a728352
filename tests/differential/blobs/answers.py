"""Comparable responses to operations on blobs, without values that must differ between two accounts."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Final
from xml.etree.ElementTree import Element

from conformance.raw import Answer
from differential.account import Heard
from differential.answers import Compared, Rejected, document, members, rejected
from differential.blobs.containers import ListBlobs, ListContainers
from differential.blobs.operations import Operation, Read, TakeSnapshot
from differential.blobs.terms import Place
from differential.counterparts import Counterparts, Own
from differential.raw_responses import headers_of, page_of, rows_apart

_UNCOMMITTED: Final = "UncommittedBlocks"
_NOT_MODIFIED: Final = 304
_MOMENTS: Final = ("last-modified", "x-ms-creation-time", "x-ms-copy-completion-time")
_MOMENTS_IN_LISTS: Final = ("Last-Modified", "Creation-Time", "CopyCompletionTime")


def normal(operation: Operation, heard: Heard, base: str) -> Compared:
    """Return what was heard as what can be compared."""
    if isinstance(operation, (ListContainers, ListBlobs)) and heard.error is None:
        return _list(operation, heard, base)
    return {"answers": [_answer(operation, answer, base) for answer in heard.answers]}


def note_versions(counterparts: Counterparts, operation: Operation, engine: Compared, azurite: Compared) -> None:
    """Note the versions and the snapshots that an operation made."""
    if isinstance(operation, (ListContainers, ListBlobs, Read)):
        return
    [ours], [theirs] = engine["answers"], azurite["answers"]
    if isinstance(ours, Rejected) or isinstance(theirs, Rejected):
        return
    # A snapshot may be a version of its own, which no condition on the blob means
    for name in ("x-ms-snapshot",) if isinstance(operation, TakeSnapshot) else ("etag",):
        one, other = ours["headers"].get(name), theirs["headers"].get(name)
        if one and other and counterparts.noted(one.of, 0) != (one.text, other.text):
            counterparts.note(one.of, one.text, other.text)


def _answer(operation: Any, answer: Answer, base: str) -> Any:
    if answer.status >= 400:
        return rejected(answer)
    place = operation.place if hasattr(operation, "place") else operation.container
    headers = {name: value.replace(base, "") for name, value in headers_of(answer).items()}
    _mark(headers, place)
    found: dict[str, Any] = {"status": answer.status, "headers": headers}
    if not isinstance(operation, Read) or operation.comp or answer.status == _NOT_MODIFIED:
        # It says where the body ends; an answer without one may say so or not
        headers.pop("content-length", None)
    if answer.text:
        is_content = isinstance(operation, Read)
        found["body"] = answer.text if is_content else _document(document(answer.text))
    return found


def _document(root: Element) -> dict[str, Any]:
    found = members(root)
    if found.get(_UNCOMMITTED):
        # The service lists them by their ids, Azurite as they came
        blocks = root.iterfind(f"{_UNCOMMITTED}/Block")
        found[_UNCOMMITTED] = {block.findtext("Name"): block.findtext("Size") for block in blocks}
    return found


def _mark(headers: dict[str, Any], place: Hashable) -> None:
    """Mark what each account makes for itself, and leave out what depends on the moment."""
    marks = {"etag": ("etag", place), "x-ms-snapshot": ("snapshot", place), "x-ms-copy-id": ("copy", place)}
    for name, of in marks.items():
        if name in headers:
            headers[name] = Own(of, headers[name])
    for name in _MOMENTS:
        if name in headers:
            headers[name] = True
    if "x-ms-lease-time" in headers:
        headers["x-ms-lease-time"] = int(headers["x-ms-lease-time"]) > 0
    if source := headers.get("x-ms-copy-source"):
        headers["x-ms-copy-source"] = source.partition("?")[0]


def _list(operation: ListContainers | ListBlobs, heard: Heard, base: str) -> Compared:
    def row(element: Element) -> dict[str, Any]:
        name = element.findtext("Name", "")
        return _row(members(element), Place(container, name) if container else name, base)

    container = operation.container if isinstance(operation, ListBlobs) else None
    pages = [page_of(document(answer.text), base, "Blobs" if container else "Containers") for answer in heard.answers]
    return rows_apart(pages, row)


def _row(found: dict[str, Any], place: Hashable, base: str) -> dict[str, Any]:
    said = found.get("Properties", {})
    if "Snapshot" in found:
        found["Snapshot"] = Own(("snapshot", place), found["Snapshot"])
    if "Etag" in said:
        said["Etag"] = Own(("etag", place), f'"{said["Etag"].strip(chr(34))}"')
    if "CopyId" in said:
        said["CopyId"] = Own(("copy", place), said["CopyId"])
    if "CopySource" in said:
        said["CopySource"] = said["CopySource"].replace(base, "").partition("?")[0]
    said |= {name: True for name in _MOMENTS_IN_LISTS if name in said}
    return found
