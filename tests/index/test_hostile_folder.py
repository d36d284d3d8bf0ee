"""Whatever is put into another machine's part of the folder: what this machine has stays as it was, nothing raises."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from exchanging import FEW, FIRST, SECOND, Desk, Made, exchange_all, pieces_in, put_pieces, write_journal
from histories import write_backups
from reread import exchange
from reread.keys import file_key, session_mark
from reread.safe.pieces import PieceHeader
from reread.sources import FileKind
from reread.testing import a_prompt, a_reply, a_session, a_subagent
from sampling import examples

_NUMBERS = st.one_of(
    st.integers(-2, 3),
    st.sampled_from([1 << 31, (1 << 31) + 1, (1 << 63) - 1, 1 << 63, 1 << 70, -(1 << 63), -(1 << 70)]),
)
_NAMES = st.sampled_from(["..", ".", "", "x", "a\0b", "\ud800", "\udcff", "con", "C:", "\\", "\x1b[2J", "é" * 300])
_PATHS = st.lists(_NAMES, min_size=1, max_size=4).map("/".join)


class Machines:
    """Two machines that have exchanged everything, copied for every example."""

    def __init__(self, root: Path) -> None:
        self.kept = root / "kept"
        self.kept.mkdir()
        self.now = root / "now"
        desk, laptop = Desk(self.kept, "desk"), Desk(self.kept, "laptop")
        agent = a_subagent(a_prompt("b"), a_reply("okapi"), id="abc")
        a_session(*FEW, agent, id=FIRST).write(desk.projects)
        write_backups(desk.claude, {"848ba454848ee7c8@v1": b"shared"}, FIRST)
        a_session(*FEW, a_prompt("the iguana"), a_reply("leaves"), id=SECOND).write(laptop.projects)
        write_backups(laptop.claude, {"848ba454848ee7c8@v1": b"shared"}, SECOND)
        laptop.push()
        desk.push()
        self.mine = pieces_in(laptop.own)
        self.theirs = pieces_in(desk.own)
        exchange_all(desk, laptop)

    def begin(self, *, is_first: bool) -> tuple[Desk, Desk]:
        """The desk, whose part is to be changed, and the laptop, which has pulled from it or not."""
        shutil.rmtree(self.now, ignore_errors=True)
        shutil.copytree(self.kept, self.now)
        desk, laptop = (_at(self.now, name) for name in ("desk", "laptop"))
        if is_first:
            shutil.rmtree(laptop.root / "home")
            shutil.copytree(self.kept / "laptop", laptop.root, dirs_exist_ok=True)
            laptop.forget_machines()
        return desk, laptop


def _at(root: Path, name: str) -> Desk:
    made = Desk.__new__(Desk)
    made.root, made.name, made.folder = root / name, name, root / "shared"
    made.claude, made.more = made.root / "none", made.root / "none either"
    made.projects = made.claude / "projects"
    made.claude.mkdir(exist_ok=True)
    made.more.mkdir(exist_ok=True)
    with made.open() as archive:
        made.id = archive.inner.own_machine().id
    return made


@pytest.fixture(scope="module")
def machines(tmp_path_factory: pytest.TempPathFactory) -> Machines:
    return Machines(tmp_path_factory.mktemp("hostile"))


def kept_of(laptop: Desk, to: Path) -> dict[str, bytes]:
    """Every file of this machine's session as it is restored, and the marks on it."""
    with laptop.open() as archive:
        number = next(each.id for each in archive.sessions() if each.id.startswith(SECOND))
        shutil.rmtree(to, ignore_errors=True)
        archive.safe.restore(number, to)
        marks = repr(archive.marks.all().get(SECOND)).encode()
    return {str(path.relative_to(to)): path.read_bytes() for path in to.rglob("*") if path.is_file()} | {"": marks}


def assert_unharmed(machines: Machines, desk: Desk, laptop: Desk) -> None:
    before = kept_of(_at(machines.kept, "laptop"), machines.now / "before")
    outside = set(machines.now.iterdir())
    for _ in range(2):
        pulled = laptop.pull()
        assert all("Traceback" not in problem for problem in pulled.problems)
    with laptop.open() as archive:
        assert archive.sync().problems == []
        assert archive.safe.verify().damaged == []
        for each in archive.sessions():
            archive.safe.restore(each.id, machines.now / "out" / "deep")
            archive.session(each.id)
        archive.safe.forget_damaged()
        archive.safe.rebuild()
    assert kept_of(laptop, machines.now / "after") == before
    assert set(machines.now.iterdir()) - outside <= {machines.now / "after", machines.now / "out"}
    assert not (machines.now / "out").exists() or [path.name for path in (machines.now / "out").iterdir()] == ["deep"]
    laptop.push()
    assert desk.id not in {header.machine for header, _ in pieces_in(laptop.own)}


_EXAMPLES = settings(
    deadline=None, max_examples=examples(120), suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@st.composite
def changed_headers(draw: st.DrawFn) -> dict[str, Any]:
    """Fields of a header; one that is absent stays."""
    fields: dict[str, st.SearchStrategy[Any]] = {
        "generation": _NUMBERS,
        "start": _NUMBERS,
        "mtime_ns": _NUMBERS,
        "kind": st.one_of(st.sampled_from([str(each) for each in FileKind]), st.just("newer"), _NAMES),
        "path": st.one_of(
            _PATHS.map(lambda rest: f"/home/x/.claude/projects/-p/{SECOND}/tool-results/{rest}"),
            _PATHS.map(lambda rest: f"/{rest}"),
            _PATHS,
            st.just(f"/home/x/.claude/file-history/{SECOND}/848ba454848ee7c8@v1"),
            st.just(f"/home/x/.claude/projects/-p/{SECOND}.jsonl"),
            st.just(f"/home/x/wire/{SECOND}/x.wire"),
        ),
        "source": _PATHS,
        "file": st.sampled_from(["own", "mine", "0" * 32, "x", "\ud800"]),
        "machine": st.sampled_from(["mine", "x", ""]),
        "more": st.dictionaries(
            st.sampled_from(["place", "moved", "same", "order", "lost", "taken", "new"]),
            st.one_of(_NUMBERS, st.booleans(), st.sampled_from(["0" * 32, "0" * 64, "mine"]), st.just([1]), st.none()),
            max_size=3,
        ),
    }
    names = draw(st.sets(st.sampled_from(sorted(fields)), max_size=4))
    return {name: draw(fields[name]) for name in sorted(names)}


def made(base: Made, changed: dict[str, Any], mine: PieceHeader) -> Made:
    header, raw = base
    values = dict(changed)
    more = {name: mine.file if value == "mine" else value for name, value in values.pop("more", {}).items()}
    if values.get("machine") == "mine":
        values["machine"] = mine.machine
    key = values.pop("file", "own")
    result = replace(header, **values, more={**header.more, **more})
    try:
        own = file_key(result.machine, result.path)
    except UnicodeEncodeError:
        own = header.file
    return replace(result, file={"own": own, "mine": mine.file}.get(key, key)), raw


@_EXAMPLES
@given(
    changes=st.lists(st.tuples(st.integers(0, 9), st.booleans(), changed_headers()), min_size=1, max_size=4),
    is_first=st.booleans(),
    is_instead=st.booleans(),
)
def test_no_piece_changes_what_is_not_its_machines(
    machines: Machines, changes: list[tuple[int, bool, dict[str, Any]]], is_first: bool, is_instead: bool
) -> None:
    desk, laptop = machines.begin(is_first=is_first)
    bases = [machines.theirs, [(replace(header, machine=desk.id), raw) for header, raw in machines.mine]]
    bad = [
        made(bases[of_mine][at % len(bases[of_mine])], changed, machines.mine[at % len(machines.mine)][0])
        for at, of_mine, changed in changes
    ]
    put_pieces(desk.own, [*([] if is_instead else machines.theirs), *bad])
    assert_unharmed(machines, desk, laptop)


@_EXAMPLES
@given(
    flips=st.lists(st.tuples(st.integers(0, 1 << 20), st.integers(1, 255)), min_size=1, max_size=8), cut=st.floats(0, 1)
)
def test_no_byte_of_a_pack_changes_what_is_not_its_machines(
    machines: Machines, flips: list[tuple[int, int]], cut: float
) -> None:
    desk, laptop = machines.begin(is_first=False)
    pack = next(desk.own.glob("*.pack"))
    content = bytearray(pack.read_bytes())
    for at, flip in flips:
        content[at % len(content)] ^= flip
    (desk.own / "000009.pack").write_bytes(content[: int(len(content) * cut) + 1])
    assert_unharmed(machines, desk, laptop)


_KEYS = st.one_of(
    st.just(session_mark(SECOND)),
    st.text(max_size=40),
    st.just("content:" + "9" * 5000 + ":a:b"),
    st.just("content:1:a:b"),
)
_MARKS = st.one_of(
    st.none(),
    st.dictionaries(
        st.sampled_from(["starred", "hidden", "tags", "note", "title", "session"]),
        st.one_of(
            st.booleans(), _NUMBERS, st.text(max_size=5), st.just("\ud800"), st.just(SECOND), st.lists(st.none())
        ),
        max_size=4,
    ),
)


@_EXAMPLES
@given(
    label=st.one_of(st.text(max_size=80), st.just("laptop"), st.just("\ud800")),
    packs=st.dictionaries(st.one_of(st.just("000001.pack"), _PATHS), _NUMBERS, max_size=3),
    marks=st.lists(st.tuples(st.one_of(st.just(FIRST), _NAMES), _NUMBERS, _MARKS), max_size=3),
    forgotten=st.lists(st.tuples(_KEYS, _NUMBERS), max_size=3),
    is_first=st.booleans(),
)
def test_no_journal_changes_what_is_not_its_machines(machines: Machines, is_first: bool, **changed: Any) -> None:
    desk, laptop = machines.begin(is_first=is_first)
    write_journal(desk.own, **changed)
    laptop.pull = _pull_unasked(laptop)  # type: ignore[method-assign]
    assert_unharmed(machines, desk, laptop)


def _pull_unasked(laptop: Desk) -> Any:
    def pull() -> exchange.Pulled:
        with laptop.open() as archive:
            return archive.safe.pull(laptop.folder)

    return pull
