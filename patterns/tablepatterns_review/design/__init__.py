"""Designs: their model, the TOML file, and its checks."""
