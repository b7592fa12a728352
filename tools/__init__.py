"""What helps with working on this project, and ships with none of it."""
