"""A phone that reads its own user's notes and no others, until it is lost."""

from datetime import timedelta

from azure.core.exceptions import HttpResponseError

from tablepatterns import AccessPolicies, EntitySet, Key, Storage, connect, grant
from tablepatterns.errors import BadDesign

MEMORY_ONLY = "the phone connects to the account in memory"
HOUR, MONTH = timedelta(hours=1), timedelta(days=30)
BY_USER = Key("{User}", "note_{Note:06d}")


def main(storage: Storage) -> None:
    # -- declare
    notes = EntitySet(storage, "Notes", BY_USER)
    for user in ("ann", "bob"):
        notes.insert({"User": user, "Note": 1, "Text": f"by {user}"})

    # -- grant
    ann = {"User": "ann"}
    mine = grant(storage, notes, "r", within=ann, expires=HOUR)

    # -- use
    with connect(storage.engine, credential=mine.credential) as phone:
        ask(phone, "ann")
        ask(phone, "bob")

    # -- policy
    policies = AccessPolicies(storage, "Notes")
    policies.put("phones", "r")
    lent = grant(storage, notes, None, within=ann, policy="phones", expires=MONTH)
    with connect(storage.engine, credential=lent.credential) as phone:
        ask(phone, "ann")
        print("revoked:", policies.revoke("phones"))
        storage.engine.clock.advance(30)
        ask(phone, "ann")

    # -- refuse
    diaries = EntitySet(storage, "Notes", Key("{User}", "diary_{Day:%Y-%m-%d}"))
    try:
        grant(storage, notes, "r", within=ann, excluding=[diaries], expires=HOUR)
    except BadDesign as error:
        print(error)
    # -- end


def ask(phone: Storage, user: str) -> None:
    """Print a note, or what the service answers instead."""
    try:
        print(EntitySet(phone, "Notes", BY_USER).get(User=user, Note=1)["Text"])
    except HttpResponseError as error:
        print(f"{user}'s note:", error.status_code)


if __name__ == "__main__":
    main(connect())
