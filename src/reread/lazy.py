"""What makes start-up quick: names, whole modules and regular expressions that are made when they are first used, named
tuples and typed dicts without `typing`, and code that is compiled once.

The seam stands at the top of a file, once, and type checkers see an import:

    if TYPE_CHECKING:
        from reread.web import server
    else:
        server = module("reread.web.server")
"""

import sys
from importlib import import_module
from types import ModuleType

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Collection, Mapping
    from pathlib import Path
    from types import CodeType
    from typing import AnyStr


def fetcher(
    module: str,
    homes: "Mapping[str, str]",
    renamed: "Mapping[str, str] | None" = None,
    modules: "Collection[str]" = (),
) -> "Callable[[str], object]":
    """A module's `__getattr__`. `homes` says where each name lives: `room.file`, or `room.file:its_name_there`.

    `renamed` has names of the release before, each with the one that took its place; using one warns. `modules` are
    those of a package, so that `from reread import views` and `views.numbers.count` import what is used, when it is.
    """

    def fetch(name: str) -> object:
        if renamed is not None and name in renamed:
            import warnings

            warnings.warn(f"{module}.{name} is now {renamed[name]}", DeprecationWarning, stacklevel=2)
            return getattr(sys.modules[module], renamed[name])
        if name not in homes and name not in modules:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        if name in modules:
            return import_module(f"{module}.{name}")
        home, _, called = homes[name].partition(":")
        value = getattr(import_module(home, module), called or name)
        setattr(sys.modules[module], name, value)  # the next use costs nothing
        return value

    return fetch


if TYPE_CHECKING or sys.version_info >= (3, 14):
    from typing import NamedTuple as NamedTuple
    from typing import TypedDict as TypedDict
else:
    from collections import namedtuple

    class _NamedTuples(type):
        """Makes what `typing` makes, which compiles the annotation of every field first."""

        def __new__(cls, name: str, bases: tuple[type, ...], said: dict[str, object]) -> type:
            if not bases:
                return super().__new__(cls, name, bases, said)
            fields = said.get("__annotations__", {})
            defaults = [said[field] for field in fields if field in said]
            made = namedtuple(name, fields, defaults=defaults, module=said["__module__"])
            for each, value in said.items():
                if each not in fields:
                    setattr(made, each, value)
            return made

    class NamedTuple(metaclass=_NamedTuples):
        """The same as that of `typing`, made in a third of the time: a small sync makes thirty."""

    class TypedDict(dict):
        """For modules that need nothing else of `typing`, which takes 3 ms to load."""

        def __init_subclass__(cls, *, total: bool) -> None:
            cls.__annotations__ = getattr(cls.__base__, "__annotations__", {}) | cls.__annotations__


class _Waiting(ModuleType):
    """Stands for a module until something of it is asked for."""

    def __getattr__(self, name: str) -> object:
        # Never cached: a name that is replaced in the module, as tests do, is replaced here, too. And by an import
        # each time, which waits where another thread has begun with it.
        return getattr(import_module(self.__name__), name)


def module(name: str) -> ModuleType:
    """A module that is imported when something of it is first asked for."""
    return _Waiting(name)


class _Pattern:
    """Stands for a regular expression until it is first tried; from then on each method is that of the real one."""

    def __init__(self, source: "str | bytes", flags: int) -> None:
        self._source = source
        self._flags = flags

    def __getattr__(self, name: str) -> object:
        import re

        found = getattr(re.compile(self._source, self._flags), name)
        setattr(self, name, found)
        return found


def pattern(source: "AnyStr", flags: int = 0) -> "re.Pattern[AnyStr]":
    """A regular expression that is compiled when it is first tried: a table of them takes longer than a small sync."""
    return _Pattern(source, flags)  # type: ignore[return-value]


def compile_patterns(module: ModuleType) -> None:
    """Compiles the regular expressions of a module now: before a fork, so that not every child has to."""
    import re

    for each in vars(module).values():
        if isinstance(each, _Pattern):
            re.compile(each._source, each._flags)


def compiled(name: str, version: str) -> "CodeType | None":
    """Code that was kept under a name, if it is of this version and whole."""
    import marshal

    try:
        told, code = _place_of(name).read_bytes().split(b"\n", 1)
        return marshal.loads(code) if told == version.encode() else None  # noqa: S302  ours, as our modules are
    except (OSError, EOFError, ValueError, TypeError):
        return None


def keep_compiled(name: str, version: str, code: "CodeType") -> None:
    """Beside our own modules, as Python keeps those, and where it may: elsewhere nothing is kept."""
    import marshal
    import os
    from contextlib import suppress

    if sys.dont_write_bytecode:
        return
    place = _place_of(name)
    part = place.with_suffix(f".{os.getpid()}.part")
    with suppress(OSError):
        place.parent.mkdir(parents=True, exist_ok=True)
        part.write_bytes(version.encode() + b"\n" + marshal.dumps(code))
        part.replace(place)
    with suppress(OSError):  # where somebody holds the other open, as Windows has it
        part.unlink(missing_ok=True)


def _place_of(name: str) -> "Path":
    from importlib.util import cache_from_source
    from pathlib import Path

    return Path(cache_from_source(__file__)).with_name(f"{name}.{sys.implementation.cache_tag}.code")
