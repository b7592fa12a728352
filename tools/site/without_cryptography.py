"""Import the SDK's queue and blob clients without the package cryptography, which not every build of the site has."""

from __future__ import annotations

import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import find_spec
from types import ModuleType
from typing import Any

_IMPORTERS = ("azure.storage.queue._encryption", "azure.storage.blob._encryption")


class _Unavailable(ModuleType):
    """A substitute for a module of cryptography: every name exists, and none can be used."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})


class _Substitute(MetaPathFinder, Loader):
    """Finds every module of cryptography."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        return ModuleSpec(name, self, is_package=True) if name.partition(".")[0] == "cryptography" else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _Unavailable(spec.name)

    def exec_module(self, module: ModuleType) -> None: ...


class _WithoutCryptography(Loader):
    """Loads a module of the SDK with substitutes for the classes of cryptography."""

    def __init__(self, loader: Loader) -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        substitute = _Substitute()
        sys.meta_path.insert(0, substitute)
        try:
            self._loader.exec_module(module)
        finally:
            sys.meta_path.remove(substitute)
            for name in [each for each in sys.modules if each.partition(".")[0] == "cryptography"]:
                del sys.modules[name]


class OptionalCryptography(MetaPathFinder):
    """Lets the SDK's queue and blob clients be imported without cryptography, which they use for an option of theirs.

    The package takes longer to load than Python. Other imports of it fail, and the library reports what is missing.
    """

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Find the modules of the SDK that import cryptography."""
        if name not in _IMPORTERS or find_spec("cryptography") is not None:
            return None
        spec = PathFinder.find_spec(name, path)
        if spec is not None and spec.loader is not None:
            spec.loader = _WithoutCryptography(spec.loader)
        return spec


sys.meta_path.insert(0, OptionalCryptography())
