"""Writes the pages that follow from tests: docs/compositions.md, docs/budgets.md, docs/guarantees.md: `make pages`.

compositions  which parts work together, and why others do not
budgets       what each call costs
guarantees    what was explored, and what is not promised
exploring     what was explored of the recipes that the page on exploring names
markdown      tables
"""
