"""Declaring: a design as data, from a TOML file or from the sets themselves."""
