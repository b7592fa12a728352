"""An employee in a table and in a search index, which is down at first."""

from collections.abc import Mapping
from typing import Any

from tablepatterns import EntitySet, EventualTransaction, Key, Storage, Worker, connect

JONES = {"Department": "Sales", "EmployeeId": 223}


def main(storage: Storage) -> None:
    # -- declare
    by_id = Key("{Department}", "empid_{EmployeeId:06d}")
    employees = EntitySet(storage, "Employees", by_id)
    documents: dict[int, str] = {}
    outages = [ConnectionError("the search service is down")]

    def store(body: Mapping[str, Any]) -> None:
        print("  step store")
        employees.insert_or_replace(body)

    def index(body: Mapping[str, Any]) -> None:
        print("  step index")
        if outages:
            raise outages.pop()
        documents[body["EmployeeId"]] = body["LastName"]

    hiring = EventualTransaction(storage, "hiring", "hire", [store, index])

    # -- ask
    hiring.start(JONES | {"LastName": "Jones"})
    print("asked, and stored is", employees.get(**JONES))

    # -- work
    worker = Worker(storage, [hiring], retry_after=0)
    print(worker.run_once())
    print("stored:", employees.get(**JONES)["LastName"], "found:", documents)
    print(worker.run_once())
    print("stored:", employees.get(**JONES)["LastName"], "found:", documents)
    # -- end


if __name__ == "__main__":
    main(connect())
