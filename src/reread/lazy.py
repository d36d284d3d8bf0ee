"""Names of a package that are fetched when they are first used: start-up is a feature."""

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def fetcher(
    module: str, homes: "Mapping[str, str]", renamed: "Mapping[str, str] | None" = None
) -> "Callable[[str], object]":
    """A module's `__getattr__`. `homes` says where each name lives: `room.file`, or `room.file:its_name_there`.

    `renamed` has names of the release before, each with the one that took its place; using one warns.
    """

    def fetch(name: str) -> object:
        if renamed is not None and name in renamed:
            import warnings

            warnings.warn(f"{module}.{name} is now {renamed[name]}", DeprecationWarning, stacklevel=2)
            return getattr(sys.modules[module], renamed[name])
        if name not in homes:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        from importlib import import_module

        home, _, called = homes[name].partition(":")
        value = getattr(import_module(home, module), called or name)
        setattr(sys.modules[module], name, value)  # the next use costs nothing
        return value

    return fetch
