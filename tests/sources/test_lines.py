"""Lines keep every byte that says something, and know where it lay."""

from __future__ import annotations

import json
import os
import tracemalloc
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reread.errors import SourceError
from reread.sources import Line, looks_binary, read, read_array, read_lines, split_lines
from reread.sources import lines as lines_module

# Few different bytes, so that newlines, blanks and quotes meet often.
FILES = st.one_of(st.binary(), st.text('\n\r \t{}"a\ufeff\u2028', max_size=80).map(str.encode))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
# Every example writes the same file anew.
writes_files = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "session.jsonl"


def raws(lines: list[Line]) -> list[bytes]:
    return [line.raw for line in lines]


@given(data=FILES)
@writes_files
def test_every_byte_is_in_a_line_or_blank(file: Path, data: bytes) -> None:
    file.write_bytes(data)
    remaining = bytearray(data)
    for line in read_lines(file):
        end = line.offset + len(line.raw)
        assert data[line.offset : end] == line.raw
        assert data[end : end + 1] == (b"\n" if line.ended else b"")
        assert line.number == data.count(b"\n", 0, line.offset) + 1
        remaining[line.offset : end] = b" " * len(line.raw)
    assert not remaining.strip()


@given(lines=st.lists(st.binary(min_size=1).map(lambda raw: b"{" + raw.replace(b"\n", b"") + b"}")))
@writes_files
def test_joining_the_lines_restores_a_file_without_blank_ones(file: Path, lines: list[bytes]) -> None:
    file.write_bytes(b"".join(line + b"\n" for line in lines))
    assert b"".join(line.raw + b"\n" for line in read_lines(file)) == file.read_bytes()


@given(data=FILES, window=st.integers(1, 100))
@writes_files
def test_the_window_makes_no_difference(file: Path, data: bytes, window: int) -> None:
    file.write_bytes(data)
    assert list(read_lines(file, window=window)) == list(read_lines(file))


@given(data=FILES)
@writes_files
def test_reading_resumes_at_any_line(file: Path, data: bytes) -> None:
    file.write_bytes(data)
    lines = list(read_lines(file))
    for index, line in enumerate(lines):
        assert list(read_lines(file, start=line.offset, number=line.number)) == lines[index:]


def test_only_the_last_line_can_be_unfinished(file: Path) -> None:
    file.write_bytes(b'{"a": 1}\n\n{"b"')
    assert list(read_lines(file)) == [Line(b'{"a": 1}', 1, 0, True), Line(b'{"b"', 3, 10, False)]


def test_separators_inside_json_do_not_end_a_line(file: Path) -> None:
    text = '"\u2028\u2029\x85\x0b\x0c\x1c\r"'.encode()
    file.write_bytes(text + b"\r\n" + text)
    assert raws(list(read_lines(file))) == [text + b"\r", text]


def test_an_empty_file_has_no_lines(file: Path) -> None:
    file.touch()
    assert list(read(file)) == []


def test_a_huge_line_is_joined_once(file: Path) -> None:
    size = 8 << 20
    file.write_bytes(b"x" * size + b"\nnext\n")
    # Copying what was read so far at each of these 65,536 windows would move 256 GB.
    assert [len(line.raw) for line in read_lines(file, window=128)] == [size, 4]


def test_memory_is_bounded_by_the_window(file: Path) -> None:
    file.write_bytes(b'{"type": "user"}\n' * 500_000)
    tracemalloc.start()
    for _ in read_lines(file, start=8_000_000):
        pass
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 4 * lines_module.WINDOW


def test_lines_appended_while_reading_are_read_too(file: Path) -> None:
    file.write_bytes(b"1\n2\n")
    lines = read_lines(file, window=2)
    first = next(lines)
    with file.open("ab") as writer:
        writer.write(b"3\n")
    assert raws([first, *lines]) == [b"1", b"2", b"3"]


def test_lines_come_out_of_chunks_that_were_never_a_file() -> None:
    chunks = [b'{"a"', b"", b": 1}\n{", b"}\n"]
    assert list(split_lines(chunks)) == [Line(b'{"a": 1}', 1, 0, True), Line(b"{}", 2, 9, True)]


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"gone\.jsonl: no such file"):
        list(read_lines(tmp_path / "gone.jsonl"))


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="is a folder"):
        read(tmp_path)


def test_a_name_no_system_takes_is_a_source_error(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="cannot be read"):
        read(tmp_path / "a\0b")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no FIFOs here")
def test_a_fifo_is_refused_instead_of_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.jsonl")
    with pytest.raises(SourceError, match="not a regular file"):
        read(tmp_path / "pipe.jsonl")


def test_a_failure_half_way_is_a_source_error(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: object) -> Iterator[bytes]:
        yield b"1\n"
        raise OSError(5, "Input/output error")

    file.write_bytes(b"1\n2\n")
    monkeypatch.setattr(lines_module, "windows", failing)
    lines = read_lines(file)
    assert next(lines).raw == b"1"
    with pytest.raises(SourceError, match=r"cannot be read \(Input/output error\)"):
        next(lines)


@given(values=st.lists(JSON, max_size=6), indent=st.sampled_from([None, 1]), ascii_only=st.booleans())
@writes_files
def test_an_array_is_split_into_its_elements(
    file: Path, values: list[object], indent: int | None, ascii_only: bool
) -> None:
    text = json.dumps(values, indent=indent, ensure_ascii=ascii_only)
    data = text.encode("utf-8", "surrogatepass")
    file.write_bytes(data)
    lines = list(read_array(file))
    # NaN is unequal to itself: compare the texts.
    decoded = [json.loads(line.raw.decode("utf-8", "surrogatepass")) for line in lines]
    assert json.dumps(decoded) == json.dumps(values)
    for line in lines:
        assert line.ended
        assert data[line.offset : line.offset + len(line.raw)] == line.raw
        assert line.number == data.count(b"\n", 0, line.offset) + 1


@given(values=st.lists(JSON, max_size=4), cut=st.integers(0, 200), junk=st.binary(max_size=5))
@writes_files
def test_a_damaged_array_loses_nothing(file: Path, values: list[object], cut: int, junk: bytes) -> None:
    data = (json.dumps(values)[:cut] or "[").encode() + junk
    file.write_bytes(data)
    lines = list(read_array(file))
    spans = [(0, 0), *((line.offset, line.offset + len(line.raw)) for line in lines), (len(data), len(data))]
    between = b"".join(data[end:begin] for (_, end), (begin, _) in pairwise(spans))
    assert not between.strip(b" ,[]\t\n\r\v\f")
    assert all(line.ended for line in lines[:-1])


def test_a_truncated_array_gives_what_is_complete_and_then_the_rest(file: Path) -> None:
    file.write_bytes(b'[{"a": "]"},\n {"b": [1, 2]},\n {"c": "\\"}, {')
    assert list(read_array(file)) == [
        Line(b'{"a": "]"}', 1, 1, True),
        Line(b'{"b": [1, 2]}', 2, 14, True),
        Line(b'{"c": "\\"}, {', 3, 30, False),
    ]


def test_text_behind_an_array_is_kept(file: Path) -> None:
    file.write_bytes(b"[{}]\n{}\n")
    assert list(read_array(file)) == [Line(b"{}", 1, 1, True), Line(b"{}", 2, 5, False)]


def test_an_array_too_deep_for_the_decoder_is_still_split(file: Path) -> None:
    deep = b"[" * 100_000 + b"]" * 100_000
    file.write_bytes(b"[{}," + deep + b"]")
    assert raws(list(read(file))) == [b"{}", deep]


@pytest.mark.parametrize("before", [b"", b" \n", b"\xef\xbb\xbf", b"\xef\xbb\xbf\r\n"])
@pytest.mark.parametrize("value", [b'{"a": 1}', b'{"a": NaN}'])
def test_an_array_of_records_is_known_by_its_beginning(file: Path, before: bytes, value: bytes) -> None:
    file.write_bytes(before + b"[\n" + value + b",\n{}\n]\n")
    assert raws(list(read(file))) == [value, b"{}"]


@pytest.mark.parametrize("first", [b"[info] ready", b"[2026-01-01] ready", b'{"a": [{}]}', b"\xef\xbb\xbf{}"])
def test_other_files_are_read_as_lines(file: Path, first: bytes) -> None:
    file.write_bytes(first + b"\n[]\n")
    assert raws(list(read(file))) == [first, b"[]"]


TEXTS = {
    "plain": b'{"type": "user"}\n',
    "empty": b"",
    "UTF-16 with a mark": '{"text": "日本"}\n'.encode("utf-16"),
    "UTF-16 without one": '{"text": "é"}\n'.encode("utf-16-le"),
    "padded by a power cut": b'{"type": "user"}\n' + b"\0" * 500,
    "nothing but padding": b"\0" * 1024,
    "bad UTF-8": b'{"text": "\xff\xfe\0"}',
    "terminal colours": b"\x1b[31mred\x1b[0m\0",
}
BINARIES = {
    "PNG": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01",
    "ELF": b"\x7fELF\x02\x01\x01\0\0\0",
    "SQLite": b"SQLite format 3\0\x10\0\x01\x01\0@  ",
    "zip": b"PK\x03\x04\x14\0\0\0\x08\0",
}


@pytest.mark.parametrize("head", TEXTS.values(), ids=TEXTS)
def test_odd_text_is_not_called_binary(head: bytes) -> None:
    assert not looks_binary(head)


@pytest.mark.parametrize("head", BINARIES.values(), ids=BINARIES)
def test_binary_files_are_recognised(head: bytes) -> None:
    assert looks_binary(head)
