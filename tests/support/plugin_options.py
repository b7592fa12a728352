"""How tests run pytest with the plugin, in a process that has imported it already."""

STRICT = ("-W", "error", "-W", "ignore::pytest.PytestAssertRewriteWarning")
"""A warning is an error, but for the one that an older pytest gives of this process."""
