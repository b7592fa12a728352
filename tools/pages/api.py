"""The API reference: as Markdown for readers of the files, and as directives of autodoc for the site.

What each member of a class does is in one table for all classes; a page has it only for `EntitySet`, whose members
other sets share.

A page names what it describes in a marker, such as `<!-- make pages: names Key.* tablepatterns.jobs: verify -->`: with
`.*` a class is shown with its methods, with `.**` also with those that it inherits. A word with a colon is the module
of the names after it; the first is `tablepatterns`. `errors.*` are all classes of errors.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, Final, get_args, get_origin

import tablepatterns
from tablepatterns import errors, limits
from tablepatterns.catalog import ENTRIES
from tablepatterns.cli import help as help_page
from tools import DOCS, ROOT
from tools.pages.data_file import DataFile
from tools.pages.markdown import table

MARKER: Final = re.compile(r"^<!-- make pages: names\s+([\w.*:\s]+?)\s+-->$", re.MULTILINE)
_RAISES: Final = re.compile(r"^:raises (\w+):", re.MULTILINE)
_MEMBERS_FILE: Final = "data/members.tsv"
_LIMITS_FILE: Final = "data/service-limits.tsv"
_SENTENCE: Final = re.compile(r".*?\.(?=\s|$)", re.DOTALL)


@dataclass(frozen=True)
class Target:
    """A name of the reference.

    :param members: "" for none, "*" for its own, "**" for inherited ones too
    """

    module: str
    name: str
    members: str

    @property
    def value(self) -> Any:
        return getattr(import_module(self.module), self.name)

    @property
    def methods(self) -> list[str]:
        """The public names of a class that have a docstring, in the order of its source."""
        kind = self.value
        homes = [kind] if self.members == "*" else [each for each in kind.__mro__ if each.__name__ != "Pattern"]
        names = dict.fromkeys(name for home in homes if home is not object for name in vars(home))
        return [name for name in names if not name.startswith("_") and _is_documented(kind, name)]

    @property
    def shared_with_sets(self) -> list[str]:
        """Members that are described with `EntitySet`."""
        return [name for name in self.methods if _is_described_with_sets(self.value, name)] if self.members else []

    @property
    def undocumented(self) -> list[str]:
        """Values of an enumeration, and names of a function that is described elsewhere."""
        return [name for name in self.methods if _has_no_docstring_of_its_own(self.value, name)] if self.members else []

    @property
    def member_rows(self) -> Iterator[tuple[str, str, str]]:
        """How each other member is called, what it does, and the errors that it raises."""
        elsewhere = {*self.shared_with_sets, *self.undocumented}
        if self.members:
            yield from (_method(self.value, name) for name in self.methods if name not in elsewhere)


_MEMBERS_OF_SETS: Final = Target("tablepatterns", "EntitySet", "**")


def read_targets(words: Iterable[str]) -> Iterator[Target]:
    """Yield what the words of a marker name."""
    module = "tablepatterns"
    for word in words:
        if word.endswith(":"):
            module = word.rstrip(":")
        elif word == "errors.*":
            yield from (Target("tablepatterns.errors", name, "") for name in _errors())
        else:
            name, _, members = word.partition(".")
            yield Target(module, name, members)


def _errors() -> Iterator[str]:
    """Yield the names of all error classes, without the base class, which the package has too."""
    for name, value in vars(errors).items():
        is_own = inspect.isclass(value) and value.__module__ == errors.__name__
        if is_own and value not in (errors.TablePatternsError, errors.ServiceError):
            yield name


def targets_of(page: str) -> list[Target]:
    """Return what the markers of a page name."""
    return [target for words in MARKER.findall(page) for target in read_targets(words.split())]


def unlisted(kind: str) -> Iterator[tuple[str, list[Target]]]:
    """Yield the title of each entry of a kind, and those of its classes that no page lists."""
    pages = (path.read_text(encoding="utf-8") for path in DOCS.glob("api/*.md"))
    listed = {target.name for page in pages for target in targets_of(page)}
    for entry in (each for each in ENTRIES if each.kind == kind):
        if targets := [Target("tablepatterns", name, "*") for name in entry.classes if name not in listed]:
            yield entry.title, targets


def as_markdown(targets: Iterable[Target]) -> Iterator[str]:
    """Yield the paragraphs on names: how each is called, what it is for, its methods; errors have their own page."""
    targets = list(targets)
    explained = [target.name for target in targets if target.name in help_page.names()]
    if len(explained) > 2:
        yield "[A page](/errors.md) has a section for each."
    elif explained:
        links = (f"[`{name}`](/errors.md#{name.lower()})" for name in explained)
        yield f"Errors: {', '.join(links)}."
    for target in targets:
        value = target.value
        if target.name in explained:
            continue
        if isinstance(value, ModuleType):
            yield f"[A table](/{_LIMITS_FILE}) has the name, the value and the meaning of each."
            continue
        yield f"### `{target.name}`"
        yield _introduction(target)
        rows = list(target.member_rows)
        if value is tablepatterns.EntitySet:
            yield table(("Member", "What it does", "Raises"), [_in_code(row) for row in rows])
        elif rows:
            yield f"[Members](/{_MEMBERS_FILE}): {_listed(called.partition('(')[0] for called, _, _ in rows)}."
        if same := target.undocumented:
            yield f"{_kind_of_members(value)}: {_listed(same)}."
        if shared := target.shared_with_sets:
            lacking = [name for name in _MEMBERS_OF_SETS.methods if name not in target.methods]
            without = f", except {_listed(lacking)}" if lacking else ""
            others = "All" if len(shared) + len(lacking) == len(_MEMBERS_OF_SETS.methods) else "All other"
            yield f"{others} members of [`EntitySet`](/api/sets.md#entityset){without}."


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _in_code(row: tuple[str, str, str]) -> tuple[str, str, str]:
    called, summary, errors_raised = row
    return f"`{called}`", summary, _listed(errors_raised.split(", ")) if errors_raised else ""


def _members_of_all_classes() -> Iterator[tuple[str, str, str, str]]:
    """Yield the members of each class of the reference, page by page."""
    pages = [path.read_text(encoding="utf-8") for path in sorted(DOCS.glob("api/*.md"))]
    listed = [target for page in pages for target in targets_of(page)]
    kinds = dict.fromkeys(entry.kind for entry in ENTRIES)
    of_entries = [target for kind in kinds for _, targets in unlisted(kind) for target in targets]
    for target in (*listed, *of_entries):
        yield from ((f"{target.module}.{target.name}", *row) for row in target.member_rows)


MEMBERS: Final = DataFile(
    f"docs/{_MEMBERS_FILE}", ("Class", "Member", "What it does", "Raises"), _members_of_all_classes
)


def as_directives(targets: Iterable[Target]) -> str:
    """Return directives of autodoc, for the site."""
    listed = "\n\n".join("\n".join(_directive(target)) for target in targets)
    return f"```{{eval-rst}}\n{listed}\n```"


def _directive(target: Target) -> Iterator[str]:
    path, value = f"{target.module}.{target.name}", target.value
    if isinstance(value, ModuleType):
        yield from (f".. automodule:: {path}", "   :members:", "   :undoc-members:")
    elif inspect.isclass(value):
        yield f".. autoclass:: {path}"
        if getattr(tablepatterns, target.name, value) is not value:
            # Links by name lead to that of the package
            yield "   :no-index:"
        if issubclass(value, BaseException):
            yield "   :show-inheritance:"
        if target.members:
            yield "   :members:"
        if target.members == "**":
            yield "   :inherited-members: Pattern"
    elif _is_alias(value):
        yield from (f".. autodata:: {path}", "   :no-value:")
    else:
        yield f".. autofunction:: {path}"


def _introduction(target: Target) -> str:
    """Return the signature, which links to the source, and the first sentence of the docstring."""
    value, source = target.value, _source(target)
    if _is_alias(value):
        return f"One of {', '.join(f'`{each!r}`' for each in get_args(value))}. [Source]({source})"
    if signature := _signature(value):
        return f"[`{signature}`]({source}): {_summary(value)}"
    return f"{_summary(value)} [Source]({source})"


def _is_alias(value: Any) -> bool:
    return get_origin(value) is not None


def _signature(value: Any) -> str:
    """Return how a class or a function is called, without types; "" for what users do not call."""
    if not callable(value) or (inspect.isclass(value) and issubclass(value, (BaseException, Enum))):
        return ""
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return ""
    parts, is_keyword = list[str](), False
    for each in signature.parameters.values():
        if each.kind is each.KEYWORD_ONLY and not is_keyword:
            is_keyword = True
            parts.append("*")
        stars = "*" if each.kind is each.VAR_POSITIONAL else "**" if each.kind is each.VAR_KEYWORD else ""
        is_keyword = is_keyword or each.kind is each.VAR_POSITIONAL
        if each.name != "self":
            parts.append(f"{stars}{each.name}" + ("" if stars or each.default is each.empty else "=..."))
    return f"{value.__name__}({', '.join(parts)})"


def _is_described_with_sets(owner: Any, name: str) -> bool:
    """Return whether a class has a member in common with `EntitySet`, where the reference describes it."""
    shared = inspect.getattr_static(tablepatterns.EntitySet, name, None)
    return owner is not tablepatterns.EntitySet and shared is not None and inspect.getattr_static(owner, name) is shared


def _call_in_short(value: Any) -> str:
    """Return how a method is called, with the arguments that it needs; the source and the site have all."""
    needed, _, others = _signature(value).partition("(")
    names = [part for part in others.removesuffix(")").split(", ") if part and part != "*"]
    required = [name for name in names if not name.endswith("=...") and not name.startswith("**")]
    return f"{needed}({', '.join([*required, *(['…'] if len(required) < len(names) else [])])})" if needed else ""


def _has_no_docstring_of_its_own(owner: Any, name: str) -> bool:
    """Return whether a member is the value of an enumeration, or one function under several names."""
    member = inspect.getattr_static(owner, name)
    return isinstance(member, owner) or getattr(member, "__name__", name) != name


def _kind_of_members(owner: Any) -> str:
    return "Values" if issubclass(owner, Enum) else "Not supported"


def _method(owner: Any, name: str) -> tuple[str, str, str]:
    member = inspect.getattr_static(owner, name)
    value = getattr(owner, name) if callable(getattr(owner, name, None)) else member
    called = _call_in_short(value) if callable(value) else ""
    raises = dict.fromkeys(_RAISES.findall(inspect.getdoc(value) or ""))
    return called or name, _summary(value), ", ".join(raises)


def _summary(value: Any) -> str:
    """Return the first sentence of a docstring."""
    first = (inspect.getdoc(value) or "").split("\n\n")[0]
    found = _SENTENCE.match(first)
    sentence = " ".join((found[0] if found else first).split())
    return f"{sentence.removesuffix(':')}." if sentence.endswith(":") else sentence


def _is_documented(kind: Any, name: str) -> bool:
    member = inspect.getattr_static(kind, name)
    if isinstance(member, (str, int, float, tuple, type(None))):
        return False
    text = inspect.getdoc(getattr(kind, name, None) or member) or ""
    return bool(text) and not text.startswith("Alias for field number")


def _source(target: Target) -> str:
    module = import_module(target.module if _is_alias(target.value) else target.value.__module__)
    return f"/../{Path(module.__file__ or '').relative_to(ROOT).as_posix()}"


def _constants(module: ModuleType) -> Iterator[tuple[str, str, str]]:
    """Yield the constants of a module, with their values and the strings below them."""
    lines = inspect.getsource(module)
    found = re.findall(r'^([A-Z]\w+): Final.*?(?:\n(?=[A-Z#\n])|\n"""(.*?)"""|\Z)', lines, re.MULTILINE | re.DOTALL)
    for name, meaning in found:
        yield name, repr(getattr(module, name)), " ".join(meaning.split())


LIMITS: Final = DataFile(f"docs/{_LIMITS_FILE}", ("Name", "Value", "Meaning"), lambda: _constants(limits))
