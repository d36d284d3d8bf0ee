"""What a person noted on a session: a star, tags, a note, a better title, whether it is hidden.

Lists ask for it, so nothing is imported that takes long, and annotations are not postponed: a named tuple compiles
the text of each.
"""

from collections.abc import Iterable
from typing import NamedTuple


class Mark(NamedTuple):
    """What is noted on one session."""

    starred: bool = False
    tags: tuple[str, ...] = ()
    """As they were spelled, in alphabetical order."""
    note: str | None = None
    title: str | None = None
    """In the stead of what its files say."""
    hidden: bool = False

    def has_tags(self, wanted: Iterable[str]) -> bool:
        """Whether all of them are there, however they are spelled."""
        own = {tag_key(tag) for tag in self.tags}
        return all(tag_key(tag) in own for tag in wanted)

    @property
    def words(self) -> str:
        """What can be searched for: title, note and tags; empty where there are none."""
        tags = " ".join(f"#{tag}" for tag in self.tags)
        return "\n".join(part for part in (self.title, self.note, tags) if part)


NO_MARK = Mark()


def tag_key(tag: str) -> str:
    """What two spellings of a tag have in common."""
    return tag.casefold()
