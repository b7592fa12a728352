"""A worker that is counted, a message that goes to poison and back, a nightly look."""

from collections import Counter
from collections.abc import Mapping

import tablepatterns as tp
from tablepatterns import EntitySet, EventualTransaction, Key, Storage, Worker

JO = {"Department": "Sales", "EmployeeId": 223, "Email": "jo@contoso.com"}


# -- observe
class Metrics(tp.Observer):
    """Counts; a real one hands the numbers to whatever collects yours."""

    def __init__(self) -> None:
        self.counts = Counter[str]()

    def handled(self, queue: str, kind: str, seconds: float) -> None:
        self.counts[f"{queue} handled"] += 1

    def poisoned(self, queue: str, reason: object) -> None:
        self.counts[f"{queue} poisoned"] += 1


# -- declare
def main(storage: Storage) -> None:
    by_email = tp.InterPartitionIndex(
        Key("{Department}", "{Email}"), table="EmployeesByEmail", name="by e-mail"
    )
    by_id = Key("{Department}", "{EmployeeId:06d}")
    employees = EntitySet(storage, "Employees", by_id, derived=[by_email])
    mails: list[str] = []

    def welcome(body: Mapping[str, str]) -> None:
        mails.append(body["Email"])

    # -- work
    welcoming = EventualTransaction(storage, "welcome", "welcome", [welcome])
    metrics = Metrics()
    worker = Worker(
        storage,
        [welcoming, employees.reconciler()],
        max_deliveries=1,
        observer=metrics,
    )
    employees.insert(JO)
    welcoming.start(JO)
    welcoming.start({"Department": "Sales", "EmployeeId": 224})
    worker.drain()
    print(dict(metrics.counts))

    # -- traffic
    with tp.Traffic(storage) as traffic:
        employees.insert(JO | {"EmployeeId": 225, "Email": "kim@contoso.com"})
    for place, tally in sorted(traffic.by_partition().items()):
        print(tally.transactions, place)

    # -- poison
    for message in worker.poisoned("welcome"):
        what = message.reason.rpartition(" at ")[0]  # the file and the line follow
        print(message.error, "after", message.deliveries, "delivery:", what)
    print("sent back:", worker.requeue("welcome"))

    # -- nightly
    report = employees.verify(by_email, max_per_second=100)
    print("looked at", report.entities, "out of line", len(report.drifts))
    if not report.is_clean:
        employees.repair(by_email, report)
    # -- end


if __name__ == "__main__":
    main(tp.connect())
