"""What stands in the place of bytes that damage took."""

import pytest

from reread.index.safe_reader import filled


@pytest.mark.parametrize("length", [0, 1, 2, 59, 60, 61, 62, 100_000])
def test_what_stands_for_lost_bytes_is_as_long_as_they_were(length: int) -> None:
    """An empty file stays empty: that it was is all a backup of it says."""
    found = filled(length)
    assert len(found) == length
    assert found.endswith(b"\n"[:length])
