"""The messages of an employee for each day of a year, which no one entity holds."""

from tablepatterns import Key, Storage, Traffic, WideEntity, connect

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

    # -- end


def print_rows(storage: Storage) -> None:
    """Print the stored rows."""
    for row in storage.tables.get_table_client("MessageCounts").list_entities():
        days = sorted(name for name in row if name.startswith("Day"))
        print(f"  {row['PartitionKey']}  {row['RowKey']}  {days[0]} to {days[-1]}")


if __name__ == "__main__":
    main(connect())
