"""Create a new recipe: `python -m tools.recipe sorted_tail` creates its files, with "write me" where text is missing.

Tests then list what is missing; CONTRIBUTING.md describes each step.
"""
