"""The engine as a server on loopback HTTP: ASGI application, connections, listeners and the check of the origin."""
