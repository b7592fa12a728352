"""Draws nothing: it stands in where Pyodide's distribution cannot be reached."""
