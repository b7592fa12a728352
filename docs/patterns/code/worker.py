"""A worker with two kinds of messages, and two that go to poison."""

from collections.abc import Mapping

from tablepatterns import EventualTransaction, Storage, Worker, connect


def main(storage: Storage) -> None:
    # -- declare
    departments = {"Sales"}

    def hire(body: Mapping[str, str]) -> None:
        if body["Department"] not in departments:
            raise LookupError(f"there is no department {body['Department']}")
        print("  hired:", body["EmployeeId"], "in", body["Department"])

    def leave(body: Mapping[str, str]) -> None:
        print("  left:", body["EmployeeId"])

    hiring = EventualTransaction(storage, "staff", "hire", [hire])
    leaving = EventualTransaction(storage, "staff", "leave", [leave])
    worker = Worker(storage, [hiring, leaving], max_deliveries=2, retry_after=0)

    # -- send
    hiring.start({"Department": "Sales", "EmployeeId": 223})
    hiring.start({"Department": "Marketing", "EmployeeId": 224})
    leaving.start({"EmployeeId": 152})
    storage.queues.get_queue_client("staff").send_message("hire someone")

    # -- work
    print(worker.drain())

    # -- end


if __name__ == "__main__":
    main(connect())
