"""zstd: the standard library's from Python 3.14 on, before that `zstandard`'s, which has no wheel for 3.15."""

from __future__ import annotations

import sys

if sys.version_info >= (3, 14):
    from compression import zstd

    Error = zstd.ZstdError

    def compress(raw: bytes, level: int) -> bytes:
        """One frame that states its content size."""
        return zstd.compress(raw, level)

    def decompress(frame: bytes | memoryview) -> bytes:
        return zstd.decompress(frame)

    decompress_all = decompress

    def beginning(frame: bytes | memoryview, most: int) -> bytes:
        return zstd.ZstdDecompressor().decompress(frame, most)

    def content_size(frame: bytes | memoryview) -> int | None:
        return zstd.get_frame_info(frame).decompressed_size

else:
    from _thread import _local  # that of `threading`, without importing the rest

    from zstandard import ZstdCompressor, ZstdDecompressor, ZstdError, frame_content_size

    Error = ZstdError

    class _Contexts(_local):
        """Per thread: they are costly to make and must not be used by two threads at a time."""

        def __init__(self) -> None:
            self.compressors: dict[int, ZstdCompressor] = {}
            self.decompressor = ZstdDecompressor()

    _here = _Contexts()

    def compress(raw: bytes, level: int) -> bytes:
        """One frame that states its content size."""
        if level not in _here.compressors:
            _here.compressors[level] = ZstdCompressor(level=level, write_content_size=True)
        return _here.compressors[level].compress(raw)

    def decompress(frame: bytes | memoryview) -> bytes:
        return _here.decompressor.decompress(frame)

    def decompress_all(frames: bytes | memoryview) -> bytes:
        """Several frames in a row."""
        with _here.decompressor.stream_reader(frames, read_across_frames=True) as reader:
            return reader.read()

    def beginning(frame: bytes | memoryview, most: int) -> bytes:
        with _here.decompressor.stream_reader(frame) as reader:
            return reader.read(most)

    def content_size(frame: bytes | memoryview) -> int | None:
        return frame_content_size(frame)
