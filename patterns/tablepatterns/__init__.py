"""Design patterns for Azure Table storage, as importable, composable recipes over the Azure SDK.

The public names are in `__init__.pyi`, for type checkers and editors. A name is imported on first use, so a program
loads only the recipes and SDK clients that it needs.
"""

from __future__ import annotations

import sys
from importlib import import_module

__version__ = "0.1.0"
_homes: dict[str, str | None] = {}


def _public() -> dict[str, str | None]:
    """Return the module that defines each public name, as the stub imports it; None for a module."""
    if not _homes:
        # Here, so that importing the package stays fast
        import ast
        from pathlib import Path

        stub = ast.parse(Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
        imports = [node for node in stub.body if isinstance(node, ast.ImportFrom)]
        for node in imports:
            home = None if node.module is None else "." * node.level + node.module
            _homes.update(dict.fromkeys((alias.name for alias in node.names), home))
    return _homes


def __getattr__(name: str) -> object:
    public = _public() if name == "__all__" or not name.startswith("_") else {}
    if name == "__all__":
        return sorted(public_name for public_name, home in public.items() if home is not None)
    if name not in public:
        # With the module, from which Python suggests a similar name
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name, obj=sys.modules[__name__])
    home = public[name]
    module = import_module(home or f".{name}", __name__)
    value: object = module if home is None else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*_public(), "__version__"]
