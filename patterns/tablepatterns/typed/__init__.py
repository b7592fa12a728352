"""Typed access: what stands between dataclasses and the properties of entities. Start with `record.py`."""
