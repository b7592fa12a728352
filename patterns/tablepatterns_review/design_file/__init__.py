"""Design files: their format in TOML, and the checks and corrections of a design."""
