"""The Blob service of the engine; the docstring of `tablepatterns_engine` tells what is in which file."""
