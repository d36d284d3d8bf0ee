"""Prints how large and how well named the code is: the figures of the plan of the house, from the source alone."""

from __future__ import annotations

import ast
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from reread.archive.archive import Archive

SOURCE = Path(__file__).parents[1] / "src" / "reread"
FIELD_GERUNDS: frozenset[str] = frozenset({"testing", "billing", "listing"})
"""Modules and rooms that the field itself names so."""


class House:
    """Every module of a source tree, parsed once."""

    def __init__(self, source: Path = SOURCE) -> None:
        self.source = source
        self.trees = {path: ast.parse(path.read_text("utf-8")) for path in sorted(source.rglob("*.py"))}

    def module_of(self, path: Path) -> str:
        parts = path.relative_to(self.source.parent).with_suffix("").parts
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    def repeated_classes(self) -> dict[str, list[str]]:
        """Public class names that are defined in more than one module."""
        found: dict[str, list[str]] = defaultdict(list)
        for path, tree in self.trees.items():
            for node in tree.body:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    found[node.name].append(self.module_of(path))
        return {name: modules for name, modules in sorted(found.items()) if len(modules) > 1}

    def spread_names(self) -> dict[str, int]:
        """File names that stand in more than two rooms."""
        rooms: dict[str, set[Path]] = defaultdict(set)
        for path in self.trees:
            if not path.name.startswith("__"):
                rooms[path.name].add(path.parent)
        return {name: len(places) for name, places in sorted(rooms.items()) if len(places) > 2}

    def gerunds(self) -> list[str]:
        """Modules named by what they do instead of what they are."""
        return [
            self.module_of(path)
            for path in self.trees
            if path.stem.endswith("ing") and path.stem not in FIELD_GERUNDS and len(path.stem) > 4
        ]

    def inner_imports(self) -> int:
        """Import statements inside functions."""
        return sum(
            isinstance(inner, ast.Import | ast.ImportFrom)
            for tree in self.trees.values()
            for function in _functions(tree)
            for inner in _statements(function)
        )

    def names_taken(self, room: str) -> int:
        """How many names the modules of a room import from other rooms, whole modules included, each once."""
        found: set[str] = set()
        for path, tree in self.trees.items():
            if room not in path.relative_to(self.source).parts:
                continue
            for node in ast.walk(tree):
                is_ours = (
                    isinstance(node, ast.ImportFrom) and not node.level and (node.module or "").startswith("reread")
                )
                if isinstance(node, ast.ImportFrom) and is_ours:
                    found |= {f"{node.module}.{alias.name}" for alias in node.names}
        return len({name for name in found if not name.startswith(f"reread.{room}.")})

    def circles(self) -> list[list[str]]:
        """Groups of modules that import each other, imports for types and inside functions included."""
        modules = {self.module_of(path): path for path in self.trees}
        graph = {name: self._imports(name, path, set(modules)) for name, path in modules.items()}
        return [sorted(group) for group in _components(graph) if len(group) > 1]

    def _imports(self, name: str, path: Path, modules: set[str]) -> set[str]:
        package = name if path.stem == "__init__" else name.rpartition(".")[0]
        found: set[str] = set()
        for node in ast.walk(self.trees[path]):
            if isinstance(node, ast.ImportFrom):
                base = ".".join(package.split(".")[: len(package.split(".")) - node.level + 1]) if node.level else ""
                target = ".".join(part for part in (base, node.module) if part)
                found |= {
                    f"{target}.{alias.name}" if f"{target}.{alias.name}" in modules else target for alias in node.names
                }
        # A package that hands on names of its modules is a front door, not a circle.
        return {each for each in found & modules if each != name and path.stem != "__init__"}


def _functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def _statements(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[ast.AST]:
    """What stands in a function, functions inside it aside: those are asked themselves."""
    waiting: list[ast.AST] = list(function.body)
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            waiting += ast.iter_child_nodes(node)


def _code_lines(path: Path, tree: ast.Module) -> int:
    aside: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom) or (isinstance(node, ast.Expr) and _is_text(node)):
            aside |= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    lines = path.read_text("utf-8").splitlines()
    return sum(
        1
        for number, line in enumerate(lines, 1)
        if line.strip() and not line.lstrip().startswith("#") and number not in aside
    )


def _is_text(node: ast.Expr) -> bool:
    return isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _components(graph: dict[str, set[str]]) -> list[set[str]]:
    """Strongly connected parts, by two passes over the graph."""
    order: list[str] = []
    seen: set[str] = set()
    for start in graph:
        _visit(start, graph, seen, order)
    turned: dict[str, set[str]] = defaultdict(set)
    for name, targets in graph.items():
        for target in targets:
            turned[target].add(name)
    found: list[set[str]] = []
    seen = set()
    for name in reversed(order):
        if name not in seen:
            group: list[str] = []
            _visit(name, turned, seen, group)
            found.append(set(group))
    return found


def _visit(start: str, graph: dict[str, set[str]], seen: set[str], order: list[str]) -> None:
    if start in seen:
        return
    seen.add(start)
    waiting = [(start, iter(sorted(graph.get(start, ()))))]
    while waiting:
        name, targets = waiting[-1]
        for target in targets:
            if target not in seen:
                seen.add(target)
                waiting.append((target, iter(sorted(graph.get(target, ())))))
                break
        else:
            order.append(name)
            waiting.pop()


class Figures(NamedTuple):
    """What the ratchet holds (`bench/house.toml`)."""

    lines: dict[str, int]
    """Lines of code by room, modules beside the rooms under their own names."""
    counts: dict[str, int]


def figures(house: House) -> Figures:
    lines = Counter[str]()
    sizes, branches, deferred = [], [], 0
    for path, tree in house.trees.items():
        lines[path.relative_to(house.source).parts[0].removesuffix(".py")] += _code_lines(path, tree)
        for function in _functions(tree):
            sizes.append((function.end_lineno or function.lineno) - function.lineno + 1)
            branches.append(_branches(function))
        text = path.read_text("utf-8")
        deferred += sum(text.count(each) for each in ("lazy.bind(", "lazy.pattern(", "fetch_names(__name__)"))
    long_modules = sum(len(path.read_text("utf-8").splitlines()) > 700 for path in house.trees)
    counts = {
        "functions over 35 lines": sum(size > 35 for size in sizes),
        "functions over 50 lines": sum(size > 50 for size in sizes),
        "functions with more than 10 branches": sum(count > 10 for count in branches),
        "functions with more than 15 branches": sum(count > 15 for count in branches),
        "modules over 700 lines": long_modules,
        "names of Archive": len([name for name in dir(Archive) if not name.startswith("_")]),
        "names the team takes from the core": house.names_taken("team"),
        "names the lake takes from the core": house.names_taken("lake"),
        "deferred imports and patterns": deferred,
    }
    return Figures(dict(lines), counts)


_BRANCHES = ast.If | ast.For | ast.AsyncFor | ast.While | ast.ExceptHandler | ast.IfExp | ast.Assert | ast.match_case


def _branches(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """One, and one for every decision: branches, loops, `and` and `or`, and the parts of comprehensions."""
    found = 1
    for node in _statements(function):
        if isinstance(node, _BRANCHES):
            found += 1
        elif isinstance(node, ast.BoolOp):
            found += len(node.values) - 1
        elif isinstance(node, ast.comprehension):
            found += 1 + len(node.ifs)
    return found


LIMITS = Path(__file__).with_name("house.toml")
BEFORE = {
    "lines of code": ("34.0k", "55.4k", "58k"),
    "modules": ("", "260", ""),
    "modules over 700 lines": ("0", "6", "0"),
    "functions over 35 lines": ("8", "33", "20"),
    "functions over 50 lines": ("2", "8", "0"),
    "functions with more than 10 branches": ("153", "286", "230"),
    "functions with more than 15 branches": ("27", "58", "35"),
    "names of Archive": ("60", "71", "40"),
    "names the team takes from the core": ("", "83", "25"),
    "names the lake takes from the core": ("", "83", "25"),
}
"""The same figures at 870ad1d and at 8069f6ca, and the most there should be."""


def main() -> int:
    house = House()
    now, repeated = figures(house), house.repeated_classes()
    counts = {"lines of code": sum(now.lines.values()), "modules": len(house.trees), **now.counts}
    print(f"{'':<40} {'870ad1d':>8} {'8069f6ca':>8} {'now':>8}   at most")
    for name, count in counts.items():
        first, second, wanted = BEFORE.get(name, ("", "", ""))
        print(f"{name:<40} {first:>8} {second:>8} {count:>8,}   {wanted}")
    rooms = sorted(now.lines.items(), key=lambda each: -each[1])
    print("\nlines by room: " + ", ".join(f"{room} {count:,}" for room, count in rooms))
    print("repeated: " + "; ".join(f"{name} ({', '.join(modules)})" for name, modules in repeated.items()))
    print("circles: " + "; ".join(", ".join(group) for group in house.circles()))
    print("gerunds: " + ", ".join(house.gerunds()) + "; spread: " + ", ".join(house.spread_names()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
