"""Begins a new recipe: `python -m tools.recipe sorted_tail` makes its files, with "write me" where words are missing.

The house tests then tell what is still to be filled in. CONTRIBUTING.md leads through it.
"""
