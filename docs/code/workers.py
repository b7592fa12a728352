"""Count what a worker does, for two kinds of messages."""

from collections import Counter
from collections.abc import Mapping

import tablepatterns as tp
from tablepatterns import EntitySet, EventualTransaction, Key, Storage, Worker

JO = {"Department": "Sales", "EmployeeId": 223, "Email": "jo@contoso.com"}


# -- observe
class Metrics(tp.Observer):
    """Count outcomes; in production, send them to your metrics system."""

    def __init__(self) -> None:
        self.counts = Counter[str]()

    def handled(self, queue: str, kind: str, seconds: float) -> None:
        self.counts[f"{queue} handled"] += 1

    def poisoned(self, queue: str, reason: object) -> None:
        self.counts[f"{queue} poisoned"] += 1


# -- declare
def main(storage: Storage) -> None:
    email_key = Key("{Department}", "{Email}")
    by_email = tp.InterPartitionIndex(email_key, table="EmployeesByEmail")
    by_id = Key("{Department}", "{EmployeeId:06d}")
    employees = EntitySet(storage, "Employees", by_id, derived=[by_email])
    welcoming = EventualTransaction(storage, "welcome", "welcome", [welcome])

    # -- work
    metrics = Metrics()
    handlers = [welcoming, employees.reconciler()]
    worker = Worker(storage, handlers, max_deliveries=1, observer=metrics)
    employees.insert(JO)
    welcoming.start(JO)
    welcoming.start({"Department": "Sales", "EmployeeId": 224})  # without Email
    worker.drain()
    print(dict(metrics.counts))

    # -- poison
    for message in worker.poisoned("welcome"):
        reason = message.reason.rpartition(" at ")[0]  # without file and line
        print(message.error, "after", message.deliveries, "delivery:", reason)
    print("requeued:", worker.requeue("welcome"))
    # -- end


def welcome(body: Mapping[str, str]) -> None:
    """Send a mail; here, print it."""
    print("Welcome,", body["Email"])


if __name__ == "__main__":
    main(tp.connect())
