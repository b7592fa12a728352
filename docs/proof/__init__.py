"""Writes the pages that follow from tests: docs/compositions.md, docs/budgets.md, docs/guarantees.md: `make pages`.

compositions  which parts work together, and why others do not
budgets       what each call costs
guarantees    what was explored, and what is not promised
markdown      tables
"""
