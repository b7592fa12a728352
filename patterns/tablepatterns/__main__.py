"""Let `python -m tablepatterns` do what the command `tablepatterns` does."""

from .cli import main

if __name__ == "__main__":
    main()
