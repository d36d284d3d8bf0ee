"""Files guessed from shell commands, and paths of any system."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reread.features.edits.shell import absolute, best_matches, common_end, files_in, fits, is_absolute, key_of


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("cat a.py b/c.txt", ["read /w/a.py", "read /w/b/c.txt"]),
        ("cat a.py | grep -n foo > out.txt", ["read /w/a.py", "write /w/out.txt"]),
        ("sed -i 's/a/b/' x.py && sed -n '1,3p' y.py", ["edit /w/x.py", "read /w/y.py"]),
        ("sed -e s/a/b/ x.py", ["read /w/x.py"]),
        ("cd sub && rm -rf build/x.o; mv a b", ["write /w/sub/build/x.o", "write /w/sub/a", "write /w/sub/b"]),
        ("cat <<'EOF' > new.md\nnothing > here.txt\nEOF\necho x >> log.txt", ["write /w/new.md", "edit /w/log.txt"]),
        ("cat <<A > a.md <<-'B'\nx > y\nA\nx > z\n\tB\necho x > b.md", ["write /w/a.md", "write /w/b.md"]),
        ("echo $((1 << n)) > a.txt\necho x > b.txt", ["write /w/a.txt", "write /w/b.txt"]),
        ("git checkout -- src/a.py", ["write /w/src/a.py"]),
        ("git checkout main", []),
        ("git restore a.py", ["write /w/a.py"]),
        ("git mv a.py b.py", ["write /w/a.py", "write /w/b.py"]),
        ("git commit -m 'x'", []),
        ("python3 scripts/run.py data.csv", ["read /w/scripts/run.py"]),
        ("python -c 'print(1)'", []),
        ("node app.js --port 3", ["read /w/app.js"]),
        ("cp a.txt b/", ["read /w/a.txt", "write /w/b/"]),
        ("FOO=1 sudo touch /etc/a 2>/dev/null", ["write /etc/a"]),
        ("tee out.log < in.txt", ["read /w/in.txt", "write /w/out.log"]),
        ("grep -rn 'x y' src/", ["search /w/src/"]),
        ("cat '/a dir/b.txt'", ["read /a dir/b.txt"]),
        ("cat $HOME/x *.py `ls`", []),
        ("curl https://example.org/a.json", []),
        ('echo "unclosed', []),
        ('cat a.txt "unclosed', ["read /w/a.txt", 'read /w/"unclosed']),
        ("ls -la", []),
        ("", []),
        ("cat ../up.txt", ["read /up.txt"]),
        ("cat ../up.txt ./x", ["read /up.txt", "read /w/x"]),
        ("patch src/a.py", ["edit /w/src/a.py"]),
    ],
)
def test_a_command_names_these_files(command: str, expected: list[str]) -> None:
    assert [f"{named.action} {named.path}" for named in files_in(command, "/w")] == expected


@given(st.text(max_size=80))
def test_no_command_is_too_odd(command: str) -> None:
    assert all(named.path for named in files_in(command, "/w"))


def test_a_cut_here_document_full_of_shifts_takes_no_longer_than_others() -> None:
    body = "\n".join(f"    std::cout << value{number} << other{number};" for number in range(3_000))
    found = files_in(f"cat > a.cpp <<'EOF'\n{body}\nEOF\n", "/w")  # its end is beyond what is looked at
    assert [(named.path, named.action.value) for named in found] == [("/w/a.cpp", "write")]


def test_a_file_is_named_once_for_each_thing_done_to_it() -> None:
    found = files_in("cat a; cat a; echo > a", "/w")
    assert [(named.path, named.action.value, named.program) for named in found] == [
        ("/w/a", "read", "cat"),
        ("/w/a", "write", ">"),
    ]


def test_paths_of_all_systems() -> None:
    assert is_absolute("C:\\a") and is_absolute("/a") and is_absolute("\\\\server\\a") and not is_absolute("a\\b")
    assert absolute("b.txt", "C:\\app") == "C:\\app\\b.txt"
    assert absolute("./x/../b.txt", "/app") == "/app/b.txt"
    assert absolute("b.txt", None) == "b.txt"
    assert fits("C:\\App\\src\\x.py", "C:\\App\\*\\x.py")
    assert key_of("C:\\App\\x.py") == key_of("c:/App/x.py") == key_of("/c/App/x.py")
    assert key_of("/w/App/x.py") == "/w/App/x.py"
    assert key_of("/App/x.py") != key_of("/app/x.py")
    assert common_end("/a/b/c.py", "C:\\x\\b\\c.py") == 2
    assert fits("C:\\app\\src\\x.py", "src/*.py")
    assert fits("/app/src/x.py", "x.py")
    assert not fits("/app/src/xx.py", "x.py")


KNOWN = ["/home/ann/app/src/a.py", "/home/ann/app/tests/a.py", "/home/ann/app/b.py", "C:\\app\\win.py"]


@pytest.mark.parametrize(
    ("wanted", "here", "expected"),
    [
        ("src/a.py", "/home/ann/app", ["/home/ann/app/src/a.py"]),
        ("/home/ann/app/b.py", "/", ["/home/ann/app/b.py"]),
        ("b.py", "/elsewhere", ["/home/ann/app/b.py"]),
        ("src/a.py", "/home/ann/worktree", ["/home/ann/app/src/a.py"]),
        ("/moved/app/src/a.py", "/", ["/home/ann/app/src/a.py"]),
        ("a.py", "/elsewhere", ["/home/ann/app/src/a.py", "/home/ann/app/tests/a.py"]),
        ("a.py", "/elsewhere/tests", ["/home/ann/app/tests/a.py"]),
        ("win.py", "/elsewhere", ["C:\\app\\win.py"]),
        ("app\\win.py", "/elsewhere", ["C:\\app\\win.py"]),
        ("lib/a.py", "/home/ann/app", []),
        ("/other/b.py", "/", []),
        ("never.py", "/home/ann/app", []),
    ],
)
def test_a_name_means_the_file_here_or_one_that_ends_like_it(wanted: str, here: str, expected: list[str]) -> None:
    assert best_matches(wanted, here, KNOWN) == expected
