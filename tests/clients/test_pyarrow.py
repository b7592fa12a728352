"""pyarrow's file system, which is the SDK for C++."""

from __future__ import annotations

from typing import Any

import pytest

from clients.conftest import Account

pytestmark = pytest.mark.clients


@pytest.fixture
def files(account: Account) -> Any:
    from pyarrow.fs import AzureFileSystem

    site = {"blob_storage_authority": account.host, "dfs_storage_authority": account.host}
    scheme = {"blob_storage_scheme": "http", "dfs_storage_scheme": "http"}
    return AzureFileSystem(account.name, account_key=account.key, **site, **scheme)


@pytest.fixture
def table() -> Any:
    import pyarrow as pa

    return pa.table({"number": list(range(1000)), "team": ["Sales", "IT"] * 500})


def write(files: Any, path: str, content: bytes) -> None:
    with files.open_output_stream(path, metadata={"Content-Type": "text/plain"}) as stream:
        stream.write(content)


def read(files: Any, path: str) -> bytes:
    with files.open_input_file(path) as file:
        content: bytes = file.read()
    return content


def paths(files: Any, folder: str) -> list[tuple[str, bool]]:
    """Return the paths below a folder, each with whether it is a file."""
    from pyarrow.fs import FileSelector

    return [(info.path, info.is_file) for info in files.get_file_info(FileSelector(folder, recursive=True))]


def test_what_is_missing_is_not_found(files: Any, container: str) -> None:
    from pyarrow.fs import FileType

    for path in (f"{container}/missing", f"{container}/missing/too", "missing", "missing/too"):
        assert files.get_file_info(path).type == FileType.NotFound
    with pytest.raises(FileNotFoundError):
        read(files, f"{container}/missing")


def test_files_are_written_read_and_deleted(files: Any, container: str) -> None:
    path = f"{container}/folder/file"
    write(files, path, b"content")
    assert read(files, path) == b"content"
    assert files.get_file_info(path).size == 7
    with files.open_input_file(path) as file:
        assert file.read_at(3, 4) == b"ent"
    files.copy_file(path, f"{container}/copy")
    assert read(files, f"{container}/copy") == b"content"
    assert (f"{container}/folder", False) in paths(files, container)
    files.delete_file(path)
    with pytest.raises(FileNotFoundError):
        files.delete_file(path)


def test_a_large_file_is_written_in_blocks(files: Any, container: str) -> None:
    content = bytes(range(256)) * 100_000
    write(files, f"{container}/large", content)
    assert read(files, f"{container}/large") == content


def test_folders_are_created_and_deleted(files: Any, container: str) -> None:
    write(files, f"{container}/folder/a/b", b"1")
    write(files, f"{container}/folder/c", b"2")
    files.delete_dir_contents(f"{container}/folder")
    assert [path for path, is_file in paths(files, container) if is_file] == []
    write(files, f"{container}/other/a", b"3")
    files.delete_dir(f"{container}/other")
    files.create_dir("created")
    assert files.get_file_info("created").is_file is False
    files.delete_dir("created")


def test_parquet_is_written_and_read(files: Any, container: str, table: Any) -> None:
    from pyarrow import parquet

    parquet.write_table(table, f"{container}/table.parquet", filesystem=files)
    assert parquet.read_table(f"{container}/table.parquet", filesystem=files).equals(table)


def test_a_partitioned_dataset_is_written_and_read(files: Any, container: str, table: Any) -> None:
    from pyarrow import dataset

    dataset.write_dataset(
        table, f"{container}/set", filesystem=files, format="parquet", partitioning=["team"], partitioning_flavor="hive"
    )
    rows = dataset.dataset(f"{container}/set", filesystem=files, format="parquet", partitioning="hive")
    assert rows.count_rows() == 1000
    assert rows.to_table(filter=dataset.field("team") == "IT").num_rows == 500
