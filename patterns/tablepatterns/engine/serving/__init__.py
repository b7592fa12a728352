"""The engine over HTTP: an ASGI application, the connections it is reached by, and the ports they come in on."""
