"""Where lines come from: finds transcript trees, reads files with byte offsets, follows growing ones."""

from .arrays import opens_array
from .files import looks_binary
from .find import SourceFile, find
from .follow import Reset, follow, follow_looks
from .groups import SessionFiles, group, in_order, strays_beside
from .lines import Line, read, read_array, read_lines, split, split_lines
from .places import Kind, matches_project_folder, place, project_folder_name

__all__ = [
    "Kind",
    "Line",
    "Reset",
    "SessionFiles",
    "SourceFile",
    "find",
    "follow",
    "follow_looks",
    "group",
    "in_order",
    "looks_binary",
    "matches_project_folder",
    "opens_array",
    "place",
    "project_folder_name",
    "read",
    "read_array",
    "read_lines",
    "split",
    "split_lines",
    "strays_beside",
]
