"""Where lines come from: finds transcript trees, reads files with byte offsets, follows growing ones.

It knows nothing of what a line means.
"""

# ruff: noqa: I001  it would give each `X as X`, which makes X public, an import of its own

from reread.lazy import fetch_names

from .find import FileKind as FileKind, SessionFiles as SessionFiles, SourceFile as SourceFile
from .find import find as find, group as group, is_config_folder as is_config_folder, place as place
from .find import project_folder_name as project_folder_name
from .lines import Line as Line, looks_binary as looks_binary, opens_array as opens_array, read as read
from .lines import read_array as read_array, read_lines as read_lines, split as split, split_lines as split_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .tail import AppendedLine as AppendedLine, Reset as Reset, SessionTail as SessionTail, Tail as Tail
    from .tail import follow as follow, pace as pace

fetch_names(__name__)
