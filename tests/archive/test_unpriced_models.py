"""What the archive has without a price: every API response once, by the copy that counts."""

from __future__ import annotations

from pathlib import Path

from reread.archive import Archive
from reread.testing import Entry, a_prompt, a_reply, a_session, a_usage

ANN = "aaaa0000-1111-4222-8333-444455556666"
BOB = "bbbb0000-1111-4222-8333-444455556666"


def write(folder: Path, session: str, *replies: Entry) -> None:
    a_session(a_prompt("go"), *replies, id=session).write(folder / "projects")


def unpriced(folder: Path) -> list[tuple[str | None, int, int]]:
    with Archive(folder / "home", [folder / "projects"], machine="desk") as archive:
        archive.sync()
        return [(each.model, each.requests, each.tokens) for each in archive.billing.unpriced_models()]


def test_a_copied_response_counts_once(tmp_path: Path) -> None:
    for session in (ANN, BOB):
        write(tmp_path, session, a_reply("x", id="msg_A", model="glm-5.1", usage=a_usage(10, 20)))
    assert unpriced(tmp_path) == [("glm-5.1", 1, 30)]


def test_the_copy_that_counts_decides(tmp_path: Path) -> None:
    """A fallback in mid-stream: the row with more output is the response, and it has a price."""
    write(tmp_path, ANN, a_reply("x", id="msg_A", model="glm-5.1", usage=a_usage(10, 2)))
    write(tmp_path, BOB, a_reply("x", id="msg_A", model="claude-opus-4-8", usage=a_usage(10, 20)))
    assert unpriced(tmp_path) == []


def test_an_advisor_without_a_model_is_listed_without_one(tmp_path: Path) -> None:
    advice = {"type": "advisor_message", "model": None, "input_tokens": 4_000, "output_tokens": 300}
    write(tmp_path, ANN, a_reply("x", model="claude-sonnet-5", usage=a_usage(100, 50, iterations=[advice])))
    assert unpriced(tmp_path) == [(None, 1, 4_300)]


def test_an_empty_archive_has_nothing_unpriced(tmp_path: Path) -> None:
    (tmp_path / "projects").mkdir()
    assert unpriced(tmp_path) == []
