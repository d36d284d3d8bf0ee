"""Keeps start-up quick: names, whole modules and regular expressions that are made on first use.

What a file may import later stands once, at its top, where type checkers see it:

    if TYPE_CHECKING:
        from reread.web import server
    else:
        lazy.bind(globals())

With Python 3.15 such a block can become `lazy from ... import ...`.
"""

import sys
from importlib import import_module
from itertools import takewhile
from types import ModuleType

TYPE_CHECKING = False
"""That of `typing`, which takes milliseconds to import."""
if TYPE_CHECKING:
    import re
    from collections.abc import Iterator
    from importlib.machinery import ModuleSpec
    from typing import Any, AnyStr


def bind(names: "dict[str, Any]") -> None:
    """Gives a file the modules of its `if TYPE_CHECKING:` block, each imported when one of its attributes is first
    used. Types in that block get a stand-in as well, which nothing may use."""
    for name, (home, called) in _imports_for_types(names["__spec__"]):
        names[name] = _Waiting(f"{home}.{called}" if home else called)


def fetch_names(package: str) -> None:
    """Gives a package a `__getattr__` that imports on first use what its `if TYPE_CHECKING:` block imports, and has the
    names of that block as `__all__`. Type checkers do not see it: they would take a misspelt name for an `object`."""
    homes: dict[str, tuple[str, str]] = {}

    def fetch(name: str) -> object:
        if not homes:
            homes.update(_imports_for_types(sys.modules[package].__spec__))
        if name == "__all__":
            return sorted(homes)
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        home, called = homes[name]
        if home == package:
            return import_module(f"{package}.{called}")
        value = getattr(import_module(home), called)
        setattr(sys.modules[package], name, value)  # the next use costs nothing
        return value

    vars(sys.modules[package])["__getattr__"] = fetch


def _imports_for_types(spec: "ModuleSpec | None") -> "Iterator[tuple[str, tuple[str, str]]]":
    """Each name that the `if TYPE_CHECKING:` block of a file imports, with the module and the name there."""
    if spec is None or spec.loader is None or not str(spec.origin).endswith(".py"):
        raise ImportError(f"{spec and spec.name} is installed without its source, which says where its names are")
    # Not `get_source`, which loads `tokenize`.
    source = spec.loader.get_data(spec.origin).decode()  # type: ignore[attr-defined]
    block = takewhile(lambda line: line[:1] in ("", " "), source.partition("\nif TYPE_CHECKING:")[2].splitlines()[1:])
    text = "\n".join(line.partition("#")[0].rstrip() for line in block)
    for line in text.replace("(\n        ", "").replace(",\n        ", ", ").replace(",\n    )", "").splitlines():
        if line.startswith(("    from ", "    import ")):
            head, _, names = line.strip().partition("import ")
            home = _absolute(head.removeprefix("from ").strip(), spec.parent or "")
            for each in names.split(", "):
                called, _, name = each.partition(" as ")
                yield name or called, (home, called)


def _absolute(name: str, package: str) -> str:
    """The whole name of a module that is named relatively to a package."""
    inside = name.lstrip(".")
    up = len(name) - len(inside) - 1
    if up < 0:
        return name
    above = package.rsplit(".", up)[0] if up else package
    return f"{above}.{inside}" if inside else above


class _Waiting(ModuleType):
    """Stands in for a module, which is imported when an attribute is used."""

    def __getattr__(self, name: str) -> object:
        # Never cached, so that a name that tests replace in the module is replaced here as well. An import each time,
        # because that waits if another thread is importing the module.
        return getattr(import_module(self.__name__), name)


class _Pattern:
    """Stands in for a regular expression and compiles it on first use; its methods are those of the compiled one."""

    def __init__(self, source: "str | bytes", flags: int) -> None:
        self._source = source
        self._flags = flags

    def __getattr__(self, name: str) -> object:
        import re

        found = getattr(re.compile(self._source, self._flags), name)
        setattr(self, name, found)
        return found


def pattern(source: "AnyStr", flags: int = 0) -> "re.Pattern[AnyStr]":
    """A regular expression that is compiled on first use: compiling a table of them takes longer than a small sync."""
    return _Pattern(source, flags)  # type: ignore[return-value]


def compile_patterns(module: ModuleType) -> None:
    """Compiles the regular expressions of a module now, before a fork, so that not every child has to."""
    import re

    for each in vars(module).values():
        if isinstance(each, _Pattern):
            re.compile(each._source, each._flags)
