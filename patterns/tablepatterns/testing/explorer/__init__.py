"""How `explore` runs actors in every order of their requests."""
