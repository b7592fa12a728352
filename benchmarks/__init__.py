"""Measure the engine, compared with the SDK alone and with Azurite: `make bench`.

The cases are in the files `*_cases.py`, the method in `harness.py`, the results in `results/results.md`.
"""
