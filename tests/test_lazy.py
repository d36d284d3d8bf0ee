"""What makes start-up quick behaves like what it stands for."""

from __future__ import annotations

import pickle
import typing

import msgspec

from reread import lazy


class Usual(typing.NamedTuple):
    """A pair."""

    name: str
    number: int | None = None

    def doubled(self) -> int:
        return 2 * (self.number or 0)


class Quick(lazy.NamedTuple):
    """A pair."""

    name: str
    number: int | None = None

    def doubled(self) -> int:
        return 2 * (self.number or 0)


def test_a_named_tuple_is_that_of_typing() -> None:
    made: Quick = Quick("a", 3)
    assert tuple(made) == tuple(Usual("a", 3))
    assert repr(made) == repr(Usual("a", 3)).replace("Usual", "Quick")
    assert (made.name, made.doubled(), made._replace(number=4).number, Quick("b").number) == ("a", 6, 4, None)
    for name in ("_fields", "_field_defaults", "__doc__", "__module__"):
        assert getattr(Quick, name) == getattr(Usual, name)
    assert typing.get_type_hints(Quick) == typing.get_type_hints(Usual)


def test_a_named_tuple_crosses_to_workers_and_back() -> None:
    made = Quick("a", 3)
    again = pickle.loads(pickle.dumps(made))  # noqa: S301  our own
    assert (type(again), again) == (Quick, made)
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(made), type=Quick) == made


def test_a_pattern_is_compiled_when_first_tried() -> None:
    words, octets = lazy.pattern(r"a+"), lazy.pattern(rb"a+")
    broken = lazy.pattern("(")  # nobody tries it
    assert (words.findall("aab a"), octets.sub(b"-", b"aab")) == (["aa", "a"], b"-b")
    assert broken is not None
