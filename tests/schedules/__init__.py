"""Failing schedules of broken variants, for the pages of patterns: `make schedules`.

schedule   a schedule by its name. The other files have the schedules of related patterns; a recipe may
have its own in its test.
"""
