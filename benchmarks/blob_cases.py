"""The cases for blobs: uploads and downloads of two sizes, and a list by prefix."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from random import Random

from azure.storage.blob import BlobProperties, ContainerClient

from .case import Case, Place

Container = Place[ContainerClient]

KIB, MIB = 1024, 1024 * 1024
PREFIX = "flights/"
NAMES = 16
_CONTENT = {size: Random(size).randbytes(size) for size in (KIB, 16 * MIB)}


def listed_name(number: int) -> str:
    """Return the name of a blob that the list must find."""
    return f"{PREFIX}{number:07}"


def other_name(number: int) -> str:
    """Return the name of another blob; half of these sort before the prefix, and half after it."""
    return f"{'airports' if number % 2 else 'planes'}/{number:07}"


def put_downloads(client: ContainerClient) -> None:
    """Upload the blobs for the downloads."""
    for size, content in _CONTENT.items():
        for number in range(NAMES if size == KIB else 1):
            client.upload_blob(_download_name(size, number), content, overwrite=True)


def _download_name(size: int, number: int) -> str:
    return f"download/{size}/{number}"


def _upload(size: int, name: str, *, point: bool = False, every: int = 1) -> Case[ContainerClient]:
    def after(container: Container, asked: int, done: int) -> None:
        """Check the content, if calls were carried out."""
        found = list(container.client.list_blob_names(name_starts_with="upload/"))
        if done and (not found or container.client.download_blob(found[-1]).readall() != _CONTENT[size]):
            raise AssertionError(f"{name}: {found} do not hold what was uploaded")
        for each in found:
            container.client.delete_blob(each)

    return Case(
        name,
        lambda container, random: f"upload/{random.randrange(NAMES)}",
        lambda container, ask: container.upload_blob(ask, _CONTENT[size], overwrite=True),
        lambda blob: blob.blob_name.startswith("upload/"),
        point=point,
        every=every,
        after=after,
    )


def _download(size: int, name: str, *, point: bool = False, every: int = 1) -> Case[ContainerClient]:
    return Case(
        name,
        lambda container, random: _download_name(size, random.randrange(NAMES if size == KIB else 1)),
        lambda container, ask: container.download_blob(ask).readall(),
        lambda content: content == _CONTENT[size],
        point=point,
        every=every,
    )


def _first_page(container: ContainerClient, ask: int) -> list[BlobProperties]:
    return list(next(container.list_blobs(name_starts_with=PREFIX, results_per_page=ask).by_page()))


def _is_listed(count: int) -> Callable[[Iterable[BlobProperties]], bool]:
    return lambda blobs: [blob.name for blob in blobs] == [listed_name(number) for number in range(count)]


UPLOAD_1_KIB = _upload(KIB, "upload 1 KiB", point=True)
DOWNLOAD_1_KIB = _download(KIB, "download 1 KiB", point=True)
UPLOAD_16_MIB = _upload(16 * MIB, "upload 16 MiB", every=2)
DOWNLOAD_16_MIB = _download(16 * MIB, "download 16 MiB", every=2)
CASES = (UPLOAD_1_KIB, DOWNLOAD_1_KIB, UPLOAD_16_MIB, DOWNLOAD_16_MIB)

LIST = "list by prefix"


def listing(count: int) -> Case[ContainerClient]:
    """Return the case of a page with all blobs that have the prefix."""
    return Case(LIST, lambda container, random: count, _first_page, _is_listed(count), every=2)
