"""The folder of an export: its files, and the manifest, which is written last and says what they contain."""

from __future__ import annotations

import hashlib
import heapq
import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import datetime
from itertools import chain, groupby, pairwise
from operator import itemgetter
from pathlib import Path
from typing import Any, Final, NamedTuple, cast
from uuid import uuid4

from tablepatterns.edm import key_order
from tablepatterns.entity import Entity
from tablepatterns.entity_set.derived import Keys, keys_of

from .arrow import ParquetWriter, read_parquet
from .errors import BadExport
from .lines import LineWriter, read_lines

MANIFEST: Final = "manifest.json"
CHECKPOINT: Final = "unfinished.json"
ROWS: Final = "rows"
"""The folder of the files with rows, which programs that read whole folders of Parquet files can be given."""
BLOBS: Final = "blobs"
"""The folder of the blobs of the rows."""
DELETED: Final = "deleted.keys"
"""The file with the keys of the rows that were deleted since another export, as JSON Lines."""
_VERSION: Final = 1
_BLOCK: Final = 1 << 20


class BlobEntry(NamedTuple):
    """A file with the content of a blob."""

    name: str
    sha256: str
    blob: str
    content_type: str | None


@dataclass(frozen=True)
class FileEntry:
    """One file of an export: the rows of one range of keys, in the order of their keys.

    :param first: the PartitionKey and the RowKey of the first row
    :param newest: the latest Timestamp of its rows, in the service's format
    :param blobs: those of its rows, if they are exported
    """

    name: str
    rows: int
    sha256: str
    first: Keys
    last: Keys
    newest: str | None
    blobs: tuple[BlobEntry, ...] = ()

    @classmethod
    def of(cls, content: dict[str, Any]) -> FileEntry:
        blobs = tuple(BlobEntry(*blob) for blob in content.get("blobs", ()))
        return cls(**_frozen(content) | {"blobs": blobs})

    @property
    def names(self) -> list[str]:
        """The names of the file, and of those with the blobs of its rows."""
        return [self.name, *(blob.name for blob in self.blobs)]


@dataclass(frozen=True)
class Manifest:
    """What an export contains.

    :param account: what tells the account from others: its address
    :param table: the name of the table
    :param content: `rows`, as they are stored; `entities`, as a set reads them; or `stored` entities, not decrypted
    :param started: when the export started, by the clock of the account, and when it was `finished`
    :param where: the filter, and the properties that were selected; None for all
    :param newest: the latest Timestamp
    :param base: the export whose changes this one has, as a path from its folder, and its digest; None if it is whole
    :param deleted: the keys of the rows that were deleted since that one
    :param blobs: the container of the blobs that are exported, and the properties with their addresses; None without
    :param form: how the exported set stores its entities; None for the rows of a table
    """

    account: str
    table: str
    content: str
    format: str
    started: str
    finished: str
    where: str | None
    select: tuple[str, ...] | None
    newest: str | None
    rows: int
    files: tuple[FileEntry, ...]
    base: tuple[str, str] | None = None
    deleted: FileEntry | None = None
    blobs: tuple[str, tuple[str, ...]] | None = None
    form: tuple[Any, ...] | None = None
    version: int = _VERSION

    @property
    def all_files(self) -> Iterator[FileEntry | BlobEntry]:
        """The files with rows, those with blobs, and the one with the keys of deleted rows."""
        for file in (*self.files, *([self.deleted] if self.deleted else [])):
            yield file
            yield from file.blobs

    @property
    def digest(self) -> str:
        """What tells this manifest from any other one."""
        return _digest(asdict(self))

    def text(self) -> str:
        """Return the manifest as JSON, with its digest."""
        return json.dumps(asdict(self) | {"sha256": self.digest}, indent=1)

    @classmethod
    def parse(cls, text: str, place: str) -> Manifest:
        """Return the manifest of a text; `BadExport` if it is not one, or was changed."""
        try:
            content = json.loads(text)
            stated, version = content.pop("sha256"), content["version"]
            if version == _VERSION and stated == _digest(content):
                files, deleted = tuple(map(FileEntry.of, content["files"])), content["deleted"]
                return cls(**_frozen(content) | {"files": files, "deleted": deleted and FileEntry.of(deleted)})
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise BadExport(place, "its manifest cannot be read", "export the table again") from error
        rule = "its manifest was changed" if version == _VERSION else f"its format has the version {version!r}"
        raise BadExport(place, rule, "use the export as it was written, with this version of the library")


def _frozen(value: Any) -> Any:
    """Return a value of JSON with tuples in place of its lists."""
    if isinstance(value, dict):
        return {name: _frozen(part) for name, part in cast("dict[str, Any]", value).items()}
    return tuple(map(_frozen, cast("Iterable[Any]", value))) if isinstance(value, list) else value


def _digest(content: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()


class FileWriter:
    """Writes the rows of one range to a hidden file, which the process that started the export gives its name.

    So the file of a worker that died, or was taken for dead and returned, never becomes a part of it.
    """

    def __init__(self, folder: Path, file_format: str, compression: str = "gzip", name: str | None = None) -> None:
        ending = ".parquet" if file_format == "parquet" else ".jsonl.zst" if compression == "zstd" else ".jsonl.gz"
        self._name = name or f"{ROWS}/{uuid4().hex}{ending}"
        self._folder, self._path = folder, hidden(folder / self._name)
        self.blobs: list[BlobEntry] = []
        """The blobs of its rows."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        is_parquet = file_format == "parquet"
        self._writer = ParquetWriter(self._path) if is_parquet else LineWriter(self._path, compression)
        self._keys: list[Keys] = []
        self._rows = 0
        self._newest: datetime | None = None

    def write(self, rows: Sequence[Entity]) -> None:
        """Append rows, at least one."""
        self._writer.write(rows)
        self._rows += len(rows)
        self._keys = [*self._keys[:1], *map(keys_of, (rows[0], rows[-1]))]
        times = [time for row in rows if (time := row.timestamp) is not None]
        self._newest = max(times if self._newest is None else [*times, self._newest], default=None)

    def close(self) -> FileEntry:
        self._writer.close()
        newest, first, last = None if self._newest is None else self._newest.isoformat(), self._keys[0], self._keys[-1]
        return FileEntry(self._name, self._rows, _sha256(self._path), first, last, newest, tuple(self.blobs))

    def discard(self) -> None:
        # A full disk, which ended the export of the range, also fails here
        with suppress(OSError):
            self._writer.close()
        for path in (self._path, *(hidden(self._folder / blob.name) for blob in self.blobs)):
            path.unlink(missing_ok=True)


def hidden(path: Path) -> Path:
    """Return the path of an incomplete file: Arrow and Spark ignore its first letter, and patterns its ending."""
    return path.with_name(f".{path.name}.partial")


@dataclass(frozen=True)
class Export:
    """A complete export in a folder.

    Opening it checks the manifest, and that each file is the one that was written, also those of the exports that it
    continues. Cost: each file is read once.

    :raises BadExport: the export is incomplete, or a file is missing, was changed, added or exchanged
    """

    folder: Path
    manifest: Manifest
    base: Export | None = None

    @classmethod
    def open(cls, folder: Path, *, is_checked: bool = False) -> Export:
        """Open an export, and check it.

        :param is_checked: whether its files were checked already
        """
        path = folder / MANIFEST
        if not path.is_file():
            hint = (
                f"run the export again to finish it: {CHECKPOINT}"
                if (folder / CHECKPOINT).is_file()
                else "check the folder"
            )
            raise BadExport(str(folder), "it has no manifest, which is written when an export is complete", hint)
        manifest = Manifest.parse(path.read_text(encoding="utf-8"), str(folder))
        files = sorted(manifest.files, key=lambda file: key_order(file.first))
        if (
            list(manifest.files) != files
            or any(key_order(a.last) >= key_order(b.first) for a, b in pairwise(files))
            or sum(file.rows for file in files) != manifest.rows
        ):
            raise BadExport(str(folder), "its manifest contradicts itself", "export the table again")
        for file in manifest.all_files:
            content = folder / file.name
            if content.parent not in (folder, folder / ROWS, folder / BLOBS) or not content.is_file():
                raise BadExport(
                    str(content), "a file of the manifest is missing", "copy the whole folder, or export again"
                )
            if not is_checked and _sha256(content) != file.sha256:
                raise BadExport(str(content), "it is not the file that was written", "copy it again, or export again")
        if manifest.base is None:
            return cls(folder, manifest)
        base = cls.open(folder / manifest.base[0], is_checked=is_checked)
        if base.manifest.digest != manifest.base[1]:
            raise BadExport(str(base.folder), "it is not the export that was continued", "put that one there")
        return cls(folder, manifest, base)

    def rows(self, file: FileEntry) -> Iterator[Entity]:
        read = read_lines if self.manifest.format == "jsonl" else read_parquet
        yield from read(self.folder / file.name)

    def all_rows(self) -> Iterator[Entity]:
        """Yield all rows in the order of their keys: those of the exports that it continues, with its changes."""
        own = chain.from_iterable(map(self.rows, self.manifest.files))
        if self.base is None:
            return own
        return _changed(self.base.all_rows(), own, self.deleted_rows())

    def blob_files(self) -> dict[str, tuple[Path, BlobEntry]]:
        """Return the files with blobs by the names of the blobs, also those of the exports that it continues."""
        known = {} if self.base is None else self.base.blob_files()
        blobs = (blob for file in self.manifest.files for blob in file.blobs)
        return known | {blob.blob: (self.folder / blob.name, blob) for blob in blobs}

    def deleted_rows(self) -> Iterator[Entity]:
        """Yield the keys of the rows that were deleted since the export that this one continues, as rows."""
        return iter(()) if self.manifest.deleted is None else read_lines(self.folder / self.manifest.deleted.name)


def _changed(*sources: Iterator[Entity]) -> Iterator[Entity]:
    """Yield the rows of a base, with those that changed since, and without those that were deleted since."""
    ranked = [_with_rank(rows, rank) for rank, rows in enumerate(sources)]
    by_key = groupby(heapq.merge(*ranked, key=itemgetter(0, 1)), key=itemgetter(0))
    for _, versions in by_key:
        # A row may be in all three: it changed, and was deleted later
        *_, (_, rank, row) = versions
        if rank < len(sources) - 1:
            yield row


def _with_rank(rows: Iterator[Entity], rank: int) -> Iterator[tuple[tuple[str, str], int, Entity]]:
    return ((key_order(keys_of(row)), rank, row) for row in rows)
