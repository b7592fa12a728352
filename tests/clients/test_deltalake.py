"""Delta Lake, over the object store of Apache Arrow for Rust."""

from __future__ import annotations

from typing import Any

import pytest

from clients.conftest import Account

pytestmark = pytest.mark.clients


class Lake:
    """A table of Delta Lake in a container."""

    def __init__(self, account: Account, container: str) -> None:
        self.uri = f"az://{container}/employees"
        self.options = {
            "azure_storage_account_name": account.name,
            "azure_storage_account_key": account.key,
            "azure_storage_endpoint": account.url,
            "allow_http": "true",
        }

    def write(self, numbers: list[int], mode: str = "append") -> None:
        import pyarrow as pa
        from deltalake import write_deltalake

        rows = pa.table({"number": numbers, "team": ["Sales"] * len(numbers)})
        write_deltalake(self.uri, rows, mode=mode, storage_options=self.options)

    def table(self, version: int | None = None) -> Any:
        from deltalake import DeltaTable

        return DeltaTable(self.uri, version=version, storage_options=self.options)

    def numbers(self, version: int | None = None) -> list[int]:
        return sorted(self.table(version).to_pyarrow_table()["number"].to_pylist())


@pytest.fixture
def lake(account: Account, container: str) -> Lake:
    return Lake(account, container)


def test_rows_are_appended_and_overwritten(lake: Lake) -> None:
    lake.write([1, 2])
    lake.write([3])
    assert lake.numbers() == [1, 2, 3]
    lake.write([4], "overwrite")
    assert (lake.numbers(), lake.numbers(version=1)) == ([4], [1, 2, 3])


def test_rows_are_deleted_updated_and_merged(lake: Lake) -> None:
    import pyarrow as pa

    lake.write([1, 2, 3, 4])
    lake.table().delete("number > 3")
    lake.table().update(updates={"team": "'IT'"}, predicate="number = 1")
    new = pa.table({"number": [3, 5], "team": ["IT", "IT"]})
    merge = lake.table().merge(new, predicate="t.number = s.number", source_alias="s", target_alias="t")
    merge.when_matched_update_all().when_not_matched_insert_all().execute()
    teams = lake.table().to_pyarrow_table().to_pydict()
    assert sorted(zip(teams["number"], teams["team"], strict=True)) == [(1, "IT"), (2, "Sales"), (3, "IT"), (5, "IT")]


def test_a_long_log_is_read_from_its_checkpoint(lake: Lake) -> None:
    for number in range(12):
        lake.write([number])
    lake.table().create_checkpoint()
    lake.write([12])
    assert (lake.table().version(), lake.numbers()) == (12, list(range(13)))
    assert len(lake.table().history()) == 13


def test_files_are_compacted_and_removed(lake: Lake) -> None:
    for number in range(3):
        lake.write([number])
    assert lake.table().optimize.compact()["numFilesRemoved"] == 3
    removed = lake.table().vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)
    assert (len(removed), lake.numbers()) == (3, [0, 1, 2])


def test_a_table_that_is_missing_is_not_found(lake: Lake) -> None:
    from deltalake.exceptions import TableNotFoundError

    with pytest.raises(TableNotFoundError):
        lake.table()
