"""Wide: one logical entity in several rows."""
