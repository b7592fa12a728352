"""Write the explorer's output to docs/patterns/schedules."""

import logging

from schedules.schedule import FOLDER, all_schedules, path_of, written_schedule

if __name__ == "__main__":
    # Broken variants log errors in every schedule
    logging.disable()
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in all_schedules():
        path_of(name).write_text(written_schedule(name), encoding="utf-8")
