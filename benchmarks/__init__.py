"""How fast the engine is, against the SDK's own cost and against Azurite: `make bench`.

Read `cases.py` for what is measured, `harness.py` for how, `results/results.md` for what came out.
"""
