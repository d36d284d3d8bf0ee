"""Where lines come from: finds transcript trees, reads files with byte offsets, follows growing ones.

It knows nothing of what a line means.
"""

from reread.lazy import fetcher

from .find import FileKind, SessionFiles, SourceFile, find, group, is_config_folder, place, project_folder_name
from .lines import Line, looks_binary, opens_array, read, read_array, read_lines, split, split_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .tail import AppendedLine, Reset, SessionTail, Tail, follow, pace


__getattr__ = fetcher(__name__)
