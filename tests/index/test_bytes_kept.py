"""Lines out of the safe, and what stands in the place of bytes that damage took."""

from pathlib import Path

import pytest

from reread.errors import SafeDamaged
from reread.index.read import StoredPiece
from reread.index.safe_reader import SafeLines, filled
from reread.safe.safe import PieceHeader, Safe


@pytest.mark.parametrize("length", [0, 1, 2, 59, 60, 61, 62, 100_000])
def test_what_stands_for_lost_bytes_is_as_long_as_they_were(length: int) -> None:
    """An empty file stays empty: that it was is all a backup of it says."""
    found = filled(length)
    assert len(found) == length
    assert found.endswith(b"\n"[:length])


def test_a_line_is_read_from_however_many_pieces_it_lies_in(tmp_path: Path) -> None:
    content = bytes(range(100))
    pieces = []
    with Safe(tmp_path) as safe:
        for start, end in ((0, 40), (40, 45), (45, 80), (90, 100)):
            header = PieceHeader(
                file="a",
                machine="desk",
                source="claude",
                path="a",
                kind="transcript",
                generation=1,
                start=start,
                mtime_ns=1,
            )
            _, place = safe.append(header, content[start:end])
            pieces.append(StoredPiece(start=start, length=end - start, sha256=b"", place=place))
    for lines in (SafeLines(safe, 1), SafeLines(safe, 2), SafeLines(safe, is_backwards=True)):
        every = [(start, end) for start in range(80) for end in range(start, 81)]
        for start, end in [*every, *reversed(every)]:
            assert lines.line(pieces, start, end - start) == content[start:end]
        assert lines.line(pieces, 92, 20) == content[92:]
        with pytest.raises(SafeDamaged, match="the bytes before it are lost"):
            lines.line(pieces, 70, 25)
        with pytest.raises(SafeDamaged, match="the bytes before it are lost"):
            lines.line(pieces, 85, 10)
