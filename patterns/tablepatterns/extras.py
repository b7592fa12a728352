"""Extras: how to install what is not installed with the package."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager


def how_to_install(extra: str) -> str:
    """Return the command that installs an extra, in a clone: the package is not on PyPI."""
    return f"pip install '.[{extra}]' in a clone"


@contextmanager
def importing(subject: str, *, extra: str = "") -> Generator[None, None, None]:
    """Say in the error of a failed import what needs the package, and how to install it.

    >>> with importing("a report needs", extra="plot"):
    ...     import no_such_package
    Traceback (most recent call last):
        ...
    ModuleNotFoundError: a report needs no_such_package: pip install '.[plot]' in a clone

    :param extra: the extra with the package; by default, the package is installed by itself
    """
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if not package or package.startswith("tablepatterns"):
            raise
        install = how_to_install(extra) if extra else f"pip install {package}"
        raise ModuleNotFoundError(f"{subject} {package}: {install}", name=package) from error
