"""Write the explorer's output to docs/patterns/schedules."""

import logging

from schedules import families
from schedules.schedule import FOLDER, SCHEDULES, path_of, written_schedule

if __name__ == "__main__":
    # Broken variants log errors in every schedule
    logging.disable()
    families.load()
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in SCHEDULES:
        path_of(name).write_text(written_schedule(name), encoding="utf-8")
