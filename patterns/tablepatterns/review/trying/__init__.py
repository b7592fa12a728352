"""Trying: every access pattern of a design, carried out on an account in memory."""
