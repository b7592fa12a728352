"""The notebooks: how they are read, run and checked. `make notebooks` is `python -m notebooks`."""
