"""A token for a user's own notes; no secret is shown."""

from datetime import timedelta

from tablepatterns import EntitySet, Key, Storage, connect, grant


def main(storage: Storage) -> None:
    # -- grant
    notes = EntitySet(storage, "Notes", Key("{User}", "{Note:06d}"))
    hour = timedelta(hours=1)
    ann = grant(storage, notes, "r", within={"User": "ann"}, expires=hour)

    # -- show
    print(ann)
    # -- end


if __name__ == "__main__":
    main(connect())
