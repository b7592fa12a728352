"""Sign-ins in a table for each day, of which the old ones go one request each."""

from datetime import datetime, timedelta, timezone

from tablepatterns import (
    EntitySet,
    Key,
    Period,
    PeriodTables,
    Storage,
    Traffic,
    connect,
)

MEMORY_ONLY = "it moves the clock"
JULY = datetime(2014, 7, 29, 18, tzinfo=timezone.utc)
DAY = timedelta(days=1)


def main(storage: Storage) -> None:
    clock = storage.engine.clock
    clock.set(JULY)

    # -- declare
    by_moment = Key("{User}", "{At:ticks}")
    logins = PeriodTables(
        storage,
        "Logins",
        Period.DAY,
        factory=lambda account, table: EntitySet(account, table, by_moment),
        retention=timedelta(days=60),
    )

    # -- write
    for day in range(3):
        logins.insert({"User": "jo", "At": JULY + day * DAY, "From": f"10.0.0.{day}"})
    print([table.name for table in storage.tables.list_tables()])

    # -- ask
    print("one:", logins.get(User="jo", At=JULY)["From"])
    for login in logins.range(JULY, JULY + DAY, User="jo"):
        print("of two days:", login["At"].date(), login["From"])

    # -- drop
    clock.set(JULY + 62 * DAY)
    with Traffic(storage) as traffic:
        print("dropped:", logins.drop_expired())
    print("by", len(traffic.requests), "requests")
    print("left:", [day.isoformat()[:10] for day in logins.periods()])

    # -- end


if __name__ == "__main__":
    main(connect())
