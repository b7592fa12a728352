"""Schedules in which something goes wrong, as the explorer tells them on the pages of patterns: `make schedules`.

schedule   a schedule by its name
The other files each have those of a family of patterns.
"""
