"""Words: what a recipe may await of an account, over the clients of the SDK."""
