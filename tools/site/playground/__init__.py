"""The pattern playground of the front page: five designs, each with a pattern and as plain SDK calls."""
