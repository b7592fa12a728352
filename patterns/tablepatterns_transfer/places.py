"""Where exports are: in folders, or in a blob container of the account, such as `container:backups/monday`."""

from __future__ import annotations

import os
import posixpath
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, TypeAlias

from tablepatterns.errors import BadInput
from tablepatterns.jobs.walk import write_whole
from tablepatterns.recipe import Account, BlockingAccount
from tablepatterns.sdk.container import Container

from .errors import BadExport
from .manifest import MANIFEST, Export, FileEntry, Manifest, hidden

PREFIX: Final = "container:"


class Folder:
    """A folder, which workers on other machines share."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __str__(self) -> str:
        return str(self.path)

    @contextmanager
    def workspace(self) -> Generator[Path, None, None]:
        """Yield the folder in which a worker writes a file before `add`."""
        yield self.path

    async def add(self, folder: Path, file: FileEntry) -> None:
        """Hand over a file that a worker has written to the workspace."""

    async def publish(self, name: str) -> None:
        """Give a file its name; until then, no program that reads the folder sees it."""
        hidden(self.path / name).replace(self.path / name)

    async def names(self) -> set[str]:
        """Return the names of all files, also of those that no worker has finished."""
        return {path.relative_to(self.path).as_posix() for path in self.path.rglob("*") if path.is_file()}

    async def read(self, name: str) -> str | None:
        path = self.path / name
        return path.read_text(encoding="utf-8") if path.is_file() else None

    async def write(self, name: str, text: str) -> None:
        """Write a text whole or not at all."""
        self.path.mkdir(parents=True, exist_ok=True)
        write_whole(self.path / name, text)

    async def delete(self, name: str) -> None:
        (self.path / name).unlink(missing_ok=True)


class BlobFolder:
    """Blobs with a common prefix, which any worker can write: it uploads each file when it is complete.

    A worker that was taken for dead may upload a file late. The manifest does not list it, and imports ignore it.
    """

    def __init__(self, container: Container, prefix: str) -> None:
        self.container = container
        self.prefix = prefix

    def __str__(self) -> str:
        return f"{PREFIX}{self.container.name}/{self.prefix}"

    @contextmanager
    def workspace(self) -> Generator[Path, None, None]:
        with TemporaryDirectory(prefix="tablepatterns-") as folder:
            yield Path(folder)

    async def add(self, folder: Path, file: FileEntry) -> None:
        for name in file.names:
            with hidden(folder / name).open("rb") as content:
                await self.container.upload(self._blob(name), content)

    async def publish(self, name: str) -> None:
        """Do nothing: a blob appears as a whole."""

    async def names(self) -> set[str]:
        start = len(self._blob(""))
        return {blob.name[start:] async for blob in self.container.blobs(self._blob(""))}

    async def read(self, name: str) -> str | None:
        content = await self.container.download(self._blob(name))
        return None if content is None else content.decode("utf-8")

    async def write(self, name: str, text: str) -> None:
        await self.container.upload(self._blob(name), text.encode())

    async def delete(self, name: str) -> None:
        await self.container.delete(self._blob(name))

    async def download(self, name: str, path: Path) -> None:
        """Download a file; an empty one if there is none."""
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as file:
            async for chunk in self.container.chunks(self._blob(name)):
                file.write(chunk)

    def _blob(self, name: str) -> str:
        return f"{self.prefix}/{name}"


Place: TypeAlias = Folder | BlobFolder


def place_of(account: Account | None, name: str | Path) -> Place:
    text = str(name)
    if not text.startswith(PREFIX):
        return Folder(Path(name))
    container, _, prefix = text.removeprefix(PREFIX).partition("/")
    if not container or not prefix or posixpath.normpath(prefix) != prefix or prefix.startswith(("/", "..")):
        rule = "a place in a container is container:NAME/PATH, without . and .. in the path"
        raise BadInput("folder", text, rule, "name it as in container:backups/monday")
    if not isinstance(account, BlockingAccount):
        rule = "exports to and from containers need a sync account"
        raise BadInput("folder", text, rule, "use tablepatterns.connect, or a folder")
    return BlobFolder(account.container(container), prefix)


def path_between(place: Place, base: Place) -> str:
    """Return the path of an export from another one, which the manifest of its changes has."""
    if isinstance(place, Folder) and isinstance(base, Folder):
        return Path(os.path.relpath(base.path, place.path)).as_posix()
    if isinstance(place, BlobFolder) and isinstance(base, BlobFolder) and place.container.name == base.container.name:
        return posixpath.relpath(base.prefix, place.prefix)
    raise BadInput("since", str(base), "it is not beside this export", "keep both in folders, or in one container")


@asynccontextmanager
async def opened(account: Account | None, name: str | Path) -> AsyncGenerator[Export, None]:
    """Yield a checked export; that of a container, with those that it continues, from a temporary folder."""
    place = place_of(account, name)
    if isinstance(place, Folder):
        yield Export.open(place.path)
        return
    with place.workspace() as folder:
        source: BlobFolder | None = place
        while source is not None:
            source = await _download(source, folder)
        yield Export.open(folder / place.prefix)


async def _download(source: BlobFolder, folder: Path) -> BlobFolder | None:
    """Download one export, and return the one that it continues."""
    text = await source.read(MANIFEST)
    if text is None:
        return None
    own = folder / source.prefix
    own.mkdir(parents=True, exist_ok=True)
    (own / MANIFEST).write_text(text, encoding="utf-8")
    manifest = Manifest.parse(text, str(source))
    for name in (file.name for file in manifest.all_files):
        if posixpath.normpath(name) != name or name.startswith(("/", "..")):
            raise BadExport(f"{source}/{name}", "it is outside of the export", "export the table again")
        await source.download(name, own / name)
    if manifest.base is None:
        return None
    prefix = posixpath.normpath(posixpath.join(source.prefix, manifest.base[0]))
    if prefix.startswith(".."):
        raise BadExport(str(source), "the export that it continues is outside of its container", "export it again")
    return BlobFolder(source.container, prefix)
