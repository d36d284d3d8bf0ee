"""Many lines at once, in which most is known, become what each would become by itself with all rules applied."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planting import ORDINARY, planted
from reread.features.secrets import Redactor, find, redacted_line
from reread.features.secrets.find import _BORING, _BORING_RUNS, LONGEST, is_plain_id, may_be_coloured
from reread.features.secrets.json_values import assigned, texts_of, whole_value
from reread.features.secrets.redact import learn_lines, redacted_value, secrets_of, secrets_of_lines

PLANTED_SECRETS = planted()
PLANTED = [each.text for each in PLANTED_SECRETS]
COLOURS = ["\x1b[31m", "\x1b[0m", "[36m", "[0m", "\\u001b[1m", "\x9b1m", "^[[32m", "\\033[33m", "\\e[0m"]
WORDS = [
    *("password=", "token: ", "api_key = ", "Bearer ", "cache", "api\n", "key", "/home/mlindqvist/src", "a@kestrel.se"),
    *("-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", "machine x", "login y", "password z1z1z1z1", "seed"),
    *(
        "hunter2secret",
        "Tr0ub4dor&3x",
        "\n",
        " ",
        "→",
        "пароль: ",
        "lösenord ",
        '"',
        "\\",
        "\\n",
        "é",
        "𝄞",
        "0x" + "a1" * 32,
    ),
]
IDS = [
    "3c23947d-7e1b-5c90-8ea5-4f706172fc93",
    "2026-11-17T06:00:00.000Z",
    "toolu_01AbCdEfGhIjKlMnOpQrStUv",
    "cse_01AbCdEfGhIjKlMnOpQrStUv",
    "req_0",
]
pieces = st.one_of(
    st.sampled_from(PLANTED),
    st.sampled_from(ORDINARY),
    st.sampled_from(COLOURS),
    st.sampled_from(WORDS),
    st.text(max_size=12),
)
texts = st.one_of(st.lists(pieces, max_size=5).map("".join), st.sampled_from(IDS), st.sampled_from(PLANTED))
names = st.sampled_from(
    [
        "type",
        "text",
        "cwd",
        "uuid",
        "signature",
        "data",
        "base64",
        "value",
        "name",
        "password",
        "apiToken",
        "/home/mlindqvist/x",
    ]
)
values = st.recursive(
    st.one_of(texts, st.integers(), st.none(), st.just("base64")),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(names, inner, max_size=4)),
    max_leaves=12,
)


def written(value: Any, is_escaped: bool) -> bytes:
    """A line; escaped, with every letter of its texts as an escape that hides what it is."""
    if not is_escaped:
        return json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")
    plain = json.dumps(value, separators=(",", ":"))
    return plain.replace("g", "\\u0067").replace("p", "\\u0070").encode()


lines = st.lists(
    st.one_of(
        st.builds(written, values, st.booleans()),
        texts.map(lambda text: text.encode("utf-8", "replace").replace(b"\n", b" ")),
    ),
    max_size=6,
)


def plainly(raws: Iterable[bytes]) -> tuple[dict[str, str], list[Any]]:
    """Every text of every line by itself, with nothing known."""
    redactor = Redactor()
    said = [json.loads(raw) for raw in raws]
    for value in said:
        for text in texts_of(value):
            redactor.learn(text)
        for name, text in assigned(value):
            redactor.learn_assigned(name, text)
    names = dict(redactor._names)
    return names, [redacted_value(redactor, value) for value in said]


@settings(max_examples=150, deadline=None)
@given(st.lists(values, max_size=6), st.lists(st.booleans(), min_size=6, max_size=6))
def test_lines_become_what_each_value_becomes_by_itself(said: list[Any], escaped: list[bool]) -> None:
    raws = [written(value, is_escaped) for value, is_escaped in zip(said, escaped, strict=False) if value is not None]
    names, expected = plainly(raws)
    redactor = Redactor()
    learn_lines(redactor, raws)
    assert redactor._names == names
    made = [redacted_line(redactor, raw) for raw in raws]
    assert [json.loads(line) for line in made] == expected
    unchanged = [(raw, line) for raw, line, value in zip(raws, made, expected, strict=True) if json.loads(raw) == value]
    assert all(raw == line for raw, line in unchanged)


@settings(max_examples=100, deadline=None)
@given(lines)
def test_the_secrets_of_many_lines_are_those_of_each(raws: list[bytes]) -> None:
    assert list(secrets_of_lines(Redactor(), raws)) == [secrets_of(Redactor(), raw) for raw in raws]


@settings(max_examples=150, deadline=None)
@given(st.lists(texts, min_size=1, max_size=4))
def test_what_was_seen_before_changes_nothing_that_is_found(said: list[str]) -> None:
    text = "\n".join(said)
    warm = [find(text), find(text)]
    _BORING.clear()
    _BORING_RUNS.clear()
    assert warm == [find(text)] * 2


@given(st.from_regex(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", fullmatch=True))
def test_nothing_is_found_in_an_id(text: str) -> None:
    assert is_plain_id(text)
    assert find(text, addresses=True) == []


@given(st.from_regex(r"(?:toolu|msg|req)_[A-Za-z0-9]{1,58}", fullmatch=True))
def test_nothing_is_found_in_an_id_of_the_api(text: str) -> None:
    assert is_plain_id(text)
    assert find(text, addresses=True) == []


@pytest.mark.parametrize("colour", COLOURS)
def test_colours_are_seen(colour: str) -> None:
    assert may_be_coloured(f"a {colour} b") == (colour != "[36m")


def test_a_run_that_is_no_token_by_itself_is_one_behind_the_name_of_a_wallet() -> None:
    key = "0x" + "4f" * 32
    assert [each.value for each in find(f"hash {key} x private_key={key} y")] == [key]
    assert [each.value for each in find(f"private_key {key} x")] == [key]


def test_what_stands_behind_the_first_value_of_a_line_is_redacted_too() -> None:
    key = next(each.secret for each in planted() if each.kind == "GitHub")
    raw = b'{"a":1}{"b":"%s"} and %s' % (key.encode(), key.encode())
    redactor = Redactor()
    learn_lines(redactor, [raw])
    assert redacted_line(redactor, raw) == b'{"a":1}{"b":"[redacted: GitHub token 1]"} and [redacted: GitHub token 1]'


def test_a_name_in_a_listing_is_found_in_every_line() -> None:
    modes = ["-rw-r--r--", "lrwxrwxrwx", "drwxrwxr-x", "-rwxr-x---", "drwx------", "-rwxr-xr-x"]
    listing = "\n".join(f"{mode}  1 mlindqvist  staff  12 Nov 1 10:00 a" for mode in modes)
    assert len(find(listing)) == len(modes)
    assert [len(find(line)) for line in listing.split("\n")] == [1] * len(modes)


PASSWORD = "Vb8Kp1WdQ7Rt2Zx9"  # noqa: S105  made up
GITHUB = next(each.secret for each in PLANTED_SECRETS if each.kind == "GitHub")


def escaped(text: str) -> str:
    return "".join(f"\\u{ord(letter):04x}" for letter in text)


def wrapped(text: str, times: int) -> str:
    for _ in range(times):
        text = json.dumps({"text": text})
    return text


HIDDEN = {
    "a name twice": f'{{"password":"{PASSWORD}","password":"x"}}',
    "with spaces": f'{{"password": "{PASSWORD}", "password": "x"}}',
    "three times": f'{{"password":"x","password":"{PASSWORD}","password":"y"}}',
    "no text later": f'{{"password":"{PASSWORD}","password":null}}',
    "any name": f'{{"a":"{GITHUB}","a":"x"}}',
    "further in": f'{{"m":{{"c":[{{"password":"{PASSWORD}","password":"x"}}]}}}}',
    "all that holds it": f'{{"m":{{"password":"{PASSWORD}"}},"m":{{"k":1}}}}',
    "in a list": f'[{{"password":"{PASSWORD}","password":"x"}}]',
    "a name and a value": f'{{"name":"DB_PASSWORD","value":"{PASSWORD}","value":"x"}}',
    "a name that is hidden": f'{{"name":"DB_PASSWORD","name":"x","value":"{PASSWORD}"}}',
    "what says it is bytes": f'{{"type":"base64","type":"text","data":"{GITHUB}"}}',
    "a name with an escape": f'{{"pass\\u0077ord":"{PASSWORD}","password":"x"}}',
    "the second value of a line": f'{{"a":1}}{{"password":"{PASSWORD}","password":"x"}}',
    "behind a mark of order": f'\ufeff{{"password":"{PASSWORD}","password":"x"}}',
    "beside half a pair": f'{{"e":"\\ud83d","password":"{PASSWORD}","password":"x"}}',
    "beside no number": f'{{"n":NaN,"password":"{PASSWORD}","password":"x"}}',
    "beside a long number": f'{{"n":{"9" * 5000},"password":"{PASSWORD}","password":"x"}}',
    "deep": '{"a":' * 300 + f'{{"password":"{PASSWORD}","password":"x"}}' + "}" * 300,
    "too deep": '{"a":' * 30_000 + f'{{"password":"{PASSWORD}","password":"x"}}' + "}" * 30_000,
    "a name that is the secret": f'{{"{GITHUB}":1,"{GITHUB}":2}}',
    "a line that was cut": f'{{"m":{{"password":"{PASSWORD}","x',
    "a cut line with escapes": f'{{"m":{{"a":"{GITHUB[:9]}{escaped(GITHUB[9])}{GITHUB[10:]}","x',
    "escapes": f'{{"a":"{escaped(GITHUB)}"}}',
    "escapes in a text": wrapped(f'{{"a":"{escaped(GITHUB)}"}}', 1),
    "escapes in a text of a text": wrapped(f'{{"a":"{escaped(GITHUB)}"}}', 2),
    "an escape in a name": wrapped(f'{{"pass\\u0077ord":"{PASSWORD}"}}', 1),
    "escaped quotes": wrapped(f"password\\u0022:\\u0022{PASSWORD}\\u0022", 1),
    "a name twice in a text": wrapped(f'{{"password":"{PASSWORD}","password":"x"}}', 1),
    "a name twice, six levels down": wrapped(f'{{"password":"{PASSWORD}","password":"x"}}', 6),
}


@pytest.mark.parametrize("raw", HIDDEN.values(), ids=HIDDEN)
def test_what_a_line_hides_is_found_and_taken_out(raw: str) -> None:
    line = raw.encode()
    secret = PASSWORD if PASSWORD in raw else GITHUB
    assert secret in [value for _, value in secrets_of(Redactor(), line)]
    redactor = Redactor()
    learn_lines(redactor, [line])
    made = redacted_line(redactor, line).decode()
    plain = re.sub(r"\\+u00([0-9a-f]{2})", lambda found: chr(int(found[1], 16)), made)
    assert secret not in plain
    assert secret[-12:] not in plain
    assert redacted_line(redactor, f'{{"said":"{secret}"}}'.encode()) != f'{{"said":"{secret}"}}'.encode()


@pytest.mark.parametrize("raw", ['{"a":1,"a":"x"}', '{"a": [1.50, "\\u0041", {"b": 1, "b": 2}]}', '\ufeff{"a":1}'])
def test_a_line_that_hides_no_secret_stays_as_it_is_written(raw: str) -> None:
    assert redacted_line(Redactor(), raw.encode()) == raw.encode()


def test_many_fields_of_one_name_are_read_in_the_time_of_as_many_fields() -> None:
    fields = [f'"a":"{number}"' for number in range(50_000)]
    fields += [f'"b{number}":1' for number in range(50_000)]
    whole = whole_value(f'{{{",".join(fields)},"a":"{GITHUB}","a":""}}'.encode())
    assert sum(len(layer) for layer in whole.everything) <= 3 * len(fields)
    assert GITHUB in texts_of(whole.everything)


@pytest.mark.parametrize("before", range(-4_000, 200, 350))
def test_a_key_at_the_rim_of_a_piece_is_taken_out_whole(before: int) -> None:
    body = "\n".join("MIIBx9Kq2Zt7Lm4V" * 4 for _ in range(50))
    text = (
        "x " * ((LONGEST + before) // 2)
        + f"-----BEGIN PRIVATE KEY-----\n{body}\n-----END PRIVATE KEY-----\n"
        + " y" * 99
    )
    redactor = Redactor()
    redactor.learn(text)
    assert "MIIBx9Kq2Zt7" not in redactor.redact(text)
