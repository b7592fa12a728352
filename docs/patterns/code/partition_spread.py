"""Events by the hour, of which each hour lies in four partitions."""

from datetime import datetime, timedelta, timezone

from tablepatterns import Key, PartitionSpread, Storage, Traffic, connect
from tablepatterns.errors import BadDesign

SIX = datetime(2014, 7, 31, 18, tzinfo=timezone.utc)
HOUR = {"Hour": SIX}


def main(storage: Storage) -> None:
    # -- declare
    by_hour = Key("{Hour:%Y-%m-%dT%H}", "{At:inverted}_{EventId:06d}")
    events = PartitionSpread(storage, "Events", by_hour, buckets=4, by=["EventId"])

    # -- write
    for number in range(6):
        at = SIX + timedelta(minutes=number)
        events.insert({"Hour": SIX, "At": at, "EventId": number})
    for row in storage.tables.get_table_client("Events").list_entities():
        print(f"  {row['PartitionKey']:<16}  {row['RowKey']}")

    # -- ask
    with Traffic(storage) as traffic:
        newest = events.latest(3, **HOUR)
    print([event["EventId"] for event in newest], len(traffic.requests), "requests")
    with Traffic(storage) as traffic:
        found = events.get(Hour=SIX, At=SIX, EventId=0)
    print(found["Bucket"], "by", len(traffic.requests), "request")

    # -- refuse
    others = PartitionSpread(storage, "Events", by_hour, buckets=8, by=["EventId"])
    try:
        others.insert({"Hour": SIX, "At": SIX, "EventId": 7})
    except BadDesign as error:
        print(error)
    # -- end


if __name__ == "__main__":
    main(connect())
