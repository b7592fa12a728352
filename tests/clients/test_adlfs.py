"""adlfs: fsspec's file system, which pandas and dask use."""

from __future__ import annotations

from typing import Any
from urllib.request import urlopen

import pytest

from clients.conftest import Account

pytestmark = pytest.mark.clients


@pytest.fixture
def files(account: Account) -> Any:
    from adlfs import AzureBlobFileSystem

    return AzureBlobFileSystem(connection_string=account.connection_string, skip_instance_cache=True)


def test_files_are_written_read_moved_and_deleted(files: Any, container: str) -> None:
    files.pipe(f"{container}/a/b", b"content")
    assert files.cat(f"{container}/a/b") == b"content"
    assert (files.info(f"{container}/a/b")["size"], files.isdir(f"{container}/a")) == (7, True)
    files.mv(f"{container}/a/b", f"{container}/c")
    assert (files.find(container), files.exists(f"{container}/a")) == ([f"{container}/c"], False)
    with pytest.raises(FileExistsError):
        files.pipe(f"{container}/c", b"other", mode="create")
    files.rm(f"{container}/c")
    assert files.ls(container) == []


def test_a_large_file_is_written_in_blocks_and_read_in_parts(files: Any, container: str) -> None:
    with files.open(f"{container}/large", "wb") as file:
        for _ in range(3):
            file.write(b"x" * 5_000_000)
    with files.open(f"{container}/large", "rb") as file:
        file.seek(14_999_990)
        assert file.read(100) == b"x" * 10
    assert files.du(container) == 15_000_000


def test_a_file_is_appended_to(files: Any, container: str) -> None:
    for line in (b"one ", b"two"):
        with files.open(f"{container}/log", "ab") as file:
            file.write(line)
    assert files.cat(f"{container}/log") == b"one two"


def test_attributes_and_signed_urls_are_those_of_the_file(files: Any, container: str) -> None:
    files.pipe(f"{container}/a", b"content")
    files.setxattrs(f"{container}/a", team="Sales")
    assert files.getxattr(f"{container}/a", "team") == "Sales"
    with urlopen(files.sign(f"{container}/a")) as response:  # noqa: S310 - of this machine
        assert response.read() == b"content"


def test_containers_are_created_and_deleted(files: Any, container: str) -> None:
    files.mkdir(f"{container}x")
    files.pipe(f"{container}x/a/b", b"")
    assert files.glob(f"{container}x/**") == [f"{container}x/a", f"{container}x/a/b"]
    files.rm(f"{container}x", recursive=True)
    assert not files.exists(f"{container}x")
