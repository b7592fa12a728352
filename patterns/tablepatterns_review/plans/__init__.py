"""Query plans: explain a query before it is sent."""
