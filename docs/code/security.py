"""A phone reads its user's own notes and nobody else's; no secret is shown."""

from datetime import timedelta

from azure.core.exceptions import HttpResponseError

from tablepatterns import AccessPolicies, EntitySet, Key, Storage, connect, grant

MEMORY_ONLY = "the phone connects to the account in memory"


def main(storage: Storage) -> None:
    # -- grant
    by_user = Key("{User}", "{Note:06d}")
    notes = EntitySet(storage, "Notes", by_user)
    for user in ("ann", "bob"):
        notes.insert({"User": user, "Note": 1, "Text": f"by {user}"})
    hour = timedelta(hours=1)
    ann = grant(storage, notes, "r", within={"User": "ann"}, expires=hour)

    # -- use
    with connect(storage.engine, credential=ann.credential) as phone:
        own = EntitySet(phone, "Notes", by_user)
        print(own.get(User="ann", Note=1))
        try:
            print(own.get(User="bob", Note=1))
        except HttpResponseError as error:
            print("bob's:", error.status_code)

    # -- revoke
    policies = AccessPolicies(storage, "Notes")
    policies.put("phones", "r")
    phones = grant(storage, notes, None, policy="phones", expires=timedelta(days=30))
    print(phones)
    print(policies.revoke("phones"), policies.names())

    # -- show
    print(storage, ann, sep="\n")
    # -- end


if __name__ == "__main__":
    main(connect())
