"""What `tablepatterns_engine.serving` is made of: connections, listeners and the check of the origin."""
