"""Extras: how to install what is not installed with the package."""

from __future__ import annotations


def how_to_install(extra: str) -> str:
    """Return the command that installs an extra, in a clone: the package is not on PyPI.

    >>> how_to_install("serve")
    "pip install '.[serve]' in a clone"
    """
    return f"pip install '.[{extra}]' in a clone"
