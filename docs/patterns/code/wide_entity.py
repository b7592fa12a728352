"""The messages of an employee for each day of a year, which no one entity holds."""

from datetime import timedelta

from tablepatterns import (
    EncryptedProperties,
    Key,
    LargeProperties,
    LargePropertyStore,
    LocalKey,
    Storage,
    Traffic,
    WideEntity,
    connect,
)
from tablepatterns.errors import EntityChanged

DAYS = [f"Day{day:03d}" for day in range(1, 366)]


def main(storage: Storage) -> None:
    # -- declare
    counts = WideEntity(
        storage, "MessageCounts", Key("{Employee}", ""), properties=DAYS
    )

    # -- write
    jones = counts.insert({"Employee": "000223"} | dict.fromkeys(DAYS, 0))
    print_rows(storage)

    # -- ask
    with Traffic(storage) as traffic:
        found = counts.get(Employee="000223")
    print(len(found), "fields by", len(traffic.requests), "request")
    print(counts.get(Employee="000223", select=["Day001", "Day365"]))

    # -- change
    counts.merge(jones, {"Day365": 12})
    with Traffic(storage) as traffic:
        counts.merge({"Employee": "000223"}, {"Day001": 7}, force=True)
    print("a merge of one part:", len(traffic.requests), "request")

    # -- refuse
    found["Day002"] = 1
    try:
        counts.replace(found)
    except EntityChanged as error:
        print(type(error).__name__)

    # -- map
    sealed = EncryptedProperties(["Ssn"], keys=LocalKey.generate("staff-2026"))
    large = LargeProperties(["Photo"], container="photos")
    key = Key("{Employee}", "")
    staff = WideEntity(storage, "Staff", key, mappings=[sealed, large])
    smith = {"Employee": "000224", "Ssn": "078-05-1120", "Photo": bytes(5_000_000)}
    found = staff.insert(smith | dict.fromkeys(DAYS, 0))
    found["Photo"] = bytes(2_000_000)
    staff.replace(found)
    report = LargePropertyStore(staff).verify(grace=timedelta(0))
    print(len(report.orphans), "orphan,", len(report.missing), "missing")
    # -- end


def print_rows(storage: Storage) -> None:
    """Show what lies in the table, by the SDK's own client."""
    for row in storage.tables.get_table_client("MessageCounts").list_entities():
        days = sorted(name for name in row if name.startswith("Day"))
        print(f"  {row['PartitionKey']}  {row['RowKey']}  {days[0]} to {days[-1]}")


if __name__ == "__main__":
    main(connect())
