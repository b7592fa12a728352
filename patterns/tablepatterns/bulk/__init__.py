"""The parts of a bulk load: how its entities are planned and cut into chunks, and how far it has come."""
