"""Let `python -m tablepatterns` do what the command `tablepatterns` does."""

from .cli.main import main

if __name__ == "__main__":
    main(prog_name="tablepatterns")
