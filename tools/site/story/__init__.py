"""The stories of the front page: recorded by running the library, and rendered as one frame per event."""
