"""The messages of an employee for each hour of a day, in one entity."""

from datetime import date

from tablepatterns import DataSeries, Key, Storage, connect

FRIDAY, SATURDAY = date(2014, 8, 22), date(2014, 8, 23)


def main(storage: Storage) -> None:
    # -- declare
    by_day = Key("{Employee}", "{Day:%Y-%m-%d}")
    messages = DataSeries(
        storage, "MessageCounts", by_day, 24, prefix="Hour", value_type=int
    )
    friday = {"Employee": "000223", "Day": FRIDAY}

    # -- write
    messages.set(9, 12, **friday)
    messages.set_many({10: 3, 11: 8}, **friday)
    print("at eleven:", messages.add(11, 1, **friday))
    messages.set(9, 2, Employee="000223", Day=SATURDAY)
    for row in storage.tables.get_table_client("MessageCounts").list_entities():
        points = {name: row[name] for name in sorted(row) if name.startswith("Hour")}
        print(f"  {row['PartitionKey']}  {row['RowKey']}  {points}")

    # -- ask
    print("the morning:", messages.read(range(8, 13), **friday))
    print("on a day without any:", messages.read([9], Employee="000223", Day=date.max))
    for keys, points in messages.range(Employee="000223"):
        print(keys["Day"], sum(count or 0 for count in points))

    # -- end


if __name__ == "__main__":
    main(connect())
