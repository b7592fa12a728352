"""The parts of `explore`: actors that are stepped one request at a time, and the schedules in which they are."""
