"""The sign-ins that a load test wrote go, a hundred in a request."""

from datetime import datetime, timedelta, timezone

from tablepatterns import (
    BulkDelete,
    BulkLoad,
    EntitySet,
    Key,
    QueryClass,
    Storage,
    Traffic,
    connect,
    prop,
)
from tablepatterns.errors import BadFilter

NOON = datetime(2014, 7, 31, 12, tzinfo=timezone.utc)


def main(storage: Storage) -> None:
    # -- declare
    logins = EntitySet(storage, "Logins", Key("{User}", "{At:ticks}"))
    deletion = BulkDelete(logins, max_per_second=500)

    # -- write
    BulkLoad(logins).load(
        {
            "User": user,
            "At": NOON + timedelta(seconds=number),
            "From": "load-test" if number < 250 else "browser",
        }
        for user in ("ann", "jo")
        for number in range(260)
    )

    # -- refuse
    of_the_test = prop("From") == "load-test"
    try:
        deletion.delete(of_the_test)
    except BadFilter as error:
        print(error)

    # -- all
    with Traffic(storage) as traffic:
        print(deletion.delete(of_the_test, allow=QueryClass.TABLE_SCAN))
    print(len(traffic.requests), "requests")
    print("left:", sum(1 for _ in logins.scan()))
    # -- end


if __name__ == "__main__":
    main(connect())
