"""Secrets in texts: which are found, which texts are spared, and what stands in their place."""

from __future__ import annotations

import os
import subprocess
import sys
from base64 import b64encode
from collections import Counter
from pathlib import Path

import pytest

from contexts import CONTEXTS, is_found, made
from held_out import HELD_OUT
from planting import ORDINARY, Planted, planted
from reread.features.secrets import Redactor, find, placeholders
from reread.features.secrets.json_values import texts_of
from reread.features.secrets.redact import left_in_value, redacted_line, redacted_value
from reread.features.secrets.shapes import EMAIL, USER
from reread.loading import read


def redacted(text: str, *learned: str) -> str:
    redactor = Redactor()
    for each in (text, *learned):
        redactor.learn(each)
    return redactor.redact(text)


def test_there_are_more_than_forty_kinds() -> None:
    assert len({each.kind for each in planted()}) > 70


@pytest.mark.parametrize("seed", range(1, 9))
def test_secrets_of_every_kind_are_taken_out(seed: int) -> None:
    leaked = [
        each.kind for each in planted(seed) if any(part in redacted(each.text) for part in each.secret.split("\n"))
    ]
    assert leaked == []


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_text_is_spared(text: str) -> None:
    assert [(each.kind, each.value) for each in find(text)] == []
    assert redacted(text) == text


def test_secrets_are_found_in_realistic_contexts() -> None:
    missed = Counter(each.around for seed in range(8) for each in made(CONTEXTS, seed) if not is_found(each))
    assert [around for around, times in missed.items() if times > 3] == []  # some made-up values look like code
    assert missed.total() < len(CONTEXTS) * 8 * 0.01


def test_a_secret_in_a_file_in_base64_is_found_but_not_every_text_in_base64() -> None:
    secret, plain = b"APP=shop\nDB_PASSWORD=Xk29fjw0sLq\nPORT=80\n", b"The quick brown fox jumps over the lazy dog."
    assert redacted(f".env: {b64encode(secret).decode()}") == ".env: [redacted: file with secrets 1]"
    assert redacted(b64encode(plain).decode()) == b64encode(plain).decode()


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_token_that_a_joined_line_divides_is_taken_out_whole(end: str) -> None:
    assert redacted(f"x ghp_Kukz8rzdKRaK9dLq\\{end}2ZpX7vRt4WmN8sYc3BfG6h y") == "x [redacted: GitHub token 1] y"


def test_a_private_key_without_its_end_is_no_more_than_its_lines() -> None:
    key = next(each for each in planted() if each.kind == "private key")
    text = "\n".join(key.text.split("\n")[:3]) + "\n<p>a page with more than enough letters to be the rest of one</p>"
    assert redacted(text) == (
        "-----BEGIN RSA PRIVATE KEY-----[redacted: private key 1]\n"
        "<p>a page with more than enough letters to be the rest of one</p>"
    )
    assert not Redactor().left_in(redacted(text))


def test_secrets_are_found_in_contexts_the_detector_was_not_written_for() -> None:
    contexts = made(HELD_OUT, 1)
    assert len(contexts) >= 150
    assert sum(map(is_found, contexts)) / len(contexts) >= 0.95


@pytest.mark.parametrize(
    "colour", ["\x1b[31m", "\x1b[1;38;5;208m", "\x9b31m", "\\u001b[31m", "\\x1b[0m", "\\033[1m", "^[[32m", "[31m"]
)
def test_a_token_right_behind_a_colour_is_found(colour: str) -> None:
    key = next(each.secret for each in planted() if each.kind == "GitHub")
    text = f"x {colour}{key}{colour} y"
    found = [(each.value, text[each.start : each.end]) for each in find(text) if each.kind == "GitHub token"]
    assert found == [(key, key)]
    assert key not in redacted(text)


def test_a_secret_that_a_colour_runs_through_is_taken_out_whole() -> None:
    assert redacted("password=hun\x1b[01;31mter2sec\x1b[mret done") == "password=[redacted: password 1] done"


def test_what_people_choose_is_a_password_where_it_is_called_one() -> None:
    assert redacted("password=hunter2secret") == "password=[redacted: password 1]"
    assert redacted("password=new_password2 and pwd=/srv/app1") == "password=new_password2 and pwd=/srv/app1"


def test_many_texts_at_once_tell_what_each_tells_alone() -> None:
    texts = [each.text for each in planted()] + list(ORDINARY)
    together, alone = Redactor(), Redactor()
    together.learn_all(texts)
    for text in texts:
        alone.learn(text)
    assert [together.found_in(text) for text in texts] == [alone.found_in(text) for text in texts]


def test_nesting_deeper_than_calls_can_go_is_redacted() -> None:
    value: object = "password=hunter2secret"
    for level in range(2_000):
        value = {"deeper": value} if level % 2 else [value]
    made_anew = redacted_value(Redactor(), value)
    assert list(texts_of(made_anew))[-1] == "password=[redacted: password 1]"


def test_the_same_secret_has_the_same_name_wherever_it_stands() -> None:
    key = next(each.secret for each in planted() if each.kind == "GitHub")
    other = next(each.secret for each in planted(2) if each.kind == "GitHub")
    assert redacted(f"{key} {other} {key}") == (
        "[redacted: GitHub token 1] [redacted: GitHub token 2] [redacted: GitHub token 1]"
    )


def test_what_one_text_calls_a_password_is_taken_out_of_others() -> None:
    assert (
        redacted("it was Tr0ub4dor&3x, I think", 'password = "Tr0ub4dor&3x"')
        == "it was [redacted: password 1], I think"
    )


def test_a_secret_is_not_taken_out_of_the_middle_of_a_word() -> None:
    assert redacted("mlindqvistson", "/home/mlindqvist/x") == "mlindqvistson"


def test_a_name_of_a_home_folder_is_taken_out_where_it_stands_alone() -> None:
    assert redacted("-rw-r--r-- 1 mlindqvist staff", "/Users/mlindqvist/x") == "-rw-r--r-- 1 [redacted: user 1] staff"
    assert redacted("ann says hello", "/home/ann/x") == "ann says hello"  # too short to be sure
    assert redacted("make build", "/home/build/x") == "make build"  # a name of nobody


def test_a_name_far_behind_another_home_folder_is_taken_out_whole() -> None:
    text = "cp /home/mlindqvist/recipes/of/the/last/summer.txt /Users/karolinaberg/"
    assert redacted("ask karolinaberg", text) == "ask [redacted: user 2]"
    assert [each.value for each in find(text)] == ["mlindqvist", "karolinaberg"]


def test_short_names_are_taken_out_of_listings_and_prompts_of_a_shell() -> None:
    listed = "drwxr-xr-x  12 ann  staff   384 Nov  1 10:00 src\n-rw-r--r--@ 1 root wheel 12 Nov 1 a"
    assert redacted(listed) == listed.replace("ann", "[redacted: user 1]")
    assert redacted("ann@lantern:~/src$ ls") == "[redacted: user 1]@lantern:~/src$ ls"


def test_what_was_taken_out_is_counted_by_kind() -> None:
    text = redacted("/home/mlindqvist/a /home/mlindqvist/b ask marta.l@kestrelworks.se")
    assert placeholders(text) == (Counter({USER: 2, EMAIL: 1}), Counter({USER: 1, EMAIL: 1}))


def test_redacting_twice_changes_nothing() -> None:
    for each in planted():
        once = redacted(each.text)
        assert redacted(once) == once, each.kind


def test_addresses_are_taken_out_only_if_asked_for() -> None:
    text = "from 93.184.216.34 via 10.0.0.1, version 1.2.3"
    assert redacted(text) == text
    redactor = Redactor(addresses=True)
    assert redactor.redact(text) == "from [redacted: IP address 1] via 10.0.0.1, version 1.2.3"


def test_fields_are_secrets_by_their_names() -> None:
    redactor = Redactor()
    value = {"password": "hunter2!x", "env": [{"name": "DB_PASSWORD", "value": "s3cr3t-Value"}], "note": "fine"}
    made = redacted_value(redactor, value)
    assert made == {
        "password": "[redacted: password 1]",
        "env": [{"name": "DB_PASSWORD", "value": "[redacted: password 2]"}],
        "note": "fine",
    }
    assert not left_in_value(redactor, made)
    assert left_in_value(redactor, value)["password"] == 2


def test_a_key_in_the_lines_of_a_patch_is_taken_out_of_each_line() -> None:
    key = next(each for each in planted() if each.kind == "private key")
    lines = [f"+{line}" for line in key.text.split("\n")]
    redactor = Redactor()
    for text in texts_of({"lines": lines}):
        redactor.learn(text)
    made = redacted_value(redactor, {"lines": lines})
    assert not [part for part in key.secret.split("\n") for line in made["lines"] if part in line]


def test_a_line_without_secrets_stays_byte_for_byte() -> None:
    raw = b'{ "a" :1.0,  "b":"\\u00e9 /home/user/x" }'
    assert redacted_line(Redactor(), raw) == raw


def test_a_line_that_is_no_json_is_redacted_as_text() -> None:
    assert redacted_line(Redactor(), b'{"x": "/home/mlindqvist/a') == b'{"x": "/home/[redacted: user 1]/a'


def test_images_and_signatures_are_left_alone() -> None:
    key = next(each.secret for each in planted() if each.kind == "AWS id")
    value = {"source": {"type": "base64", "data": key}, "signature": key}
    assert redacted_value(Redactor(), value) == value


@pytest.mark.shared
def test_in_recorded_sessions_nothing_but_names_and_addresses_is_found() -> None:
    corpora = [folder for parent in Path(__file__).parents if (folder := parent / "shared" / "corpus").is_dir()]
    if not corpora:
        pytest.skip("no recorded transcripts beside the project")
    found: Counter[str] = Counter()
    for path in sorted(corpora[0].rglob("*.jsonl"))[:60]:
        for record in read(path):
            found.update(each.kind for text in texts_of(record.data) for each in find(text))
    assert set(found) <= {USER, EMAIL}, found


def test_planted_texts_hold_their_secrets() -> None:
    made: list[Planted] = planted()
    assert all(each.secret in each.text for each in made)


def test_a_text_that_was_clean_is_looked_at_again_once_more_is_known() -> None:
    redactor = Redactor()
    assert redactor.redact("run zq81Kd0vTe") == "run zq81Kd0vTe"
    redactor.learn("password=zq81Kd0vTe")
    assert "zq81Kd0vTe" not in redactor.redact("run zq81Kd0vTe")


@pytest.mark.parametrize(
    "text",
    [
        "| user | password |\n|---|---|\n| ann | {0} |\n| bob | {0}X |",
        "user,password,role\nann,{0},admin\nbob,{0}X,guest",
        "Password:\n  {0}\n",
        'var jwtSecret = []byte("{0}Lm4Vb8")',
        "PWD={{{0}}};",
        "Credentials: ann / {0}",
    ],
)
def test_values_apart_from_their_names_are_found(text: str) -> None:
    value = "Vb8Kp1WdQ7Rt2"
    assert value not in redacted(text.format(value))


@pytest.mark.parametrize(
    "text",
    [
        "image: postgres:16-alpine",
        "const secret = Uint8Array",
        "name,token,count\nfoo,12,3",
        "| key | value |\n|---|---|\n| a | b |",
        "Password:\nplease type it again\n",
        "token_sessions = next_token",
        "login and password reset",
        "password: 'Enter your password'",
        "password: 'Passwort vergessen?'",
        "password: 'settings.password.title'",
        'password = re.compile("^(?=.*[A-Z])[a-z0-9]{8,}$")',
        'const keys = ["SHOP_1_AUTH_KEY",\n "SHOP_2_SIGN_KEY"]',
        "token = parse(read(2)[1:])",
    ],
)
def test_what_only_looks_like_such_values_stays(text: str) -> None:
    assert redacted(text) == text


GLUED = [
    "password FZIv5o1etKpassword=Kukz8rzdKR",
    "password FZIv5o1etK\\u0070assword=Kukz8rzdKR",
    "DB_PASSWORD=FZIv5o1etK:ghp_Kukz8rzdKRaK9dLq2ZpX7vRt4WmN8sYc3BfG6h",
    "password: FZIv5o1etK?key=Kukz8rzdKRZq81mLw0&x=1",
    'user,password\nbob,FZIv5o1etK{"api_key":"Kukz8rzdKRulCs18NcWl"}',
]
"""Two secrets side by side, of which one is taken for a part of the other."""


@pytest.mark.parametrize("text", GLUED)
def test_where_one_secret_is_found_in_another_neither_is_shown(text: str) -> None:
    told = redacted(text)
    assert "FZIv5o1etK" not in told
    assert "Kukz8rzdKR" not in told


def test_what_is_left_of_a_longer_find_is_no_secret_elsewhere() -> None:
    redactor = Redactor()
    redactor.learn(GLUED[0])
    assert redactor.redact("FZIv5o1etKpassword= is empty") == "FZIv5o1etKpassword= is empty"
    assert "Kukz8rzdKR" not in redactor.redact("it was Kukz8rzdKR")


TWO_NAMES = "the password of API_TOKEN: Kukz8rzdKRFZIv5o1etK9"


def test_of_two_names_the_nearer_one_says_what_a_value_is() -> None:
    assert [each.kind for each in find(TWO_NAMES)] == ["token"]


def test_what_is_taken_out_does_not_depend_on_the_order_of_a_set() -> None:
    texts = [*GLUED, TWO_NAMES]
    asked = f"from reread.features.secrets import find; print([find(text) for text in {texts!r}])"
    told = {
        subprocess.run(
            [sys.executable, "-c", asked], env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in "1234"
    }
    assert len(told) == 1
