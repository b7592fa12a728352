"""Delete the old rows of an existing table, and store a value of each type."""

from datetime import datetime, timezone
from uuid import UUID

from tablepatterns import (
    BulkDelete,
    EntitySet,
    Int64,
    Key,
    QueryClass,
    Storage,
    Traffic,
    below,
    connect,
    prop,
)

NEW_YEAR = datetime(2026, 1, 1, tzinfo=timezone.utc)


def main(storage: Storage) -> None:
    # -- existing
    table = storage.tables.create_table("Readings")
    for device in ("boiler", "pump"):
        for month in range(1, 13):
            for year in (2025, 2026):
                keys = {"PartitionKey": device, "RowKey": f"{year}-{month:02d}"}
                taken = {"TakenAt": datetime(year, month, 1, tzinfo=timezone.utc)}
                table.create_entity(keys | taken)

    # -- delete
    readings = EntitySet(storage, "Readings", Key("{PartitionKey}", "{RowKey}"))
    deletion = BulkDelete(readings, max_per_second=50)
    with Traffic(storage) as traffic:
        old = prop("TakenAt") < NEW_YEAR
        print(deletion.delete(old, allow=QueryClass.TABLE_SCAN))
    print(traffic.overall.transactions, "requests")

    # -- range
    by_month = EntitySet(storage, "Readings", Key("{Device}", "{Month}"))
    print(BulkDelete(by_month).delete(Device="pump", Month=below("2026-07")))

    # -- types
    values = {
        "Text": "résumé",
        "Flag": True,
        "Count": 34,
        "Total": Int64(34),
        "Price": 12.5,
        "At": NEW_YEAR,
        "Id": UUID(int=223),
        "Photo": b"\x89PNG",
    }
    samples = EntitySet(storage, "Samples", Key("{Kind}", "{Number:03d}"))
    samples.insert({"Kind": "every type", "Number": 1} | values)
    for sample in samples.range(Kind="every type"):
        for name, value in values.items():
            print(name, type(sample[name]).__name__, sample[name] == value)
    # -- end


if __name__ == "__main__":
    main(connect())
