"""What makes start-up quick behaves like what it stands for."""

from __future__ import annotations

import pickle
import typing
from pathlib import Path

import msgspec
import pytest

from reread import lazy


def test_a_pattern_is_compiled_when_first_tried() -> None:
    words, octets = lazy.pattern(r"a+"), lazy.pattern(rb"a+")
    broken = lazy.pattern("(")  # nobody tries it
    assert (words.findall("aab a"), octets.sub(b"-", b"aab")) == (["aa", "a"], b"-b")
    assert broken is not None


class _Slow(typing.NamedTuple):
    """A place."""

    line: int
    names: tuple[str, ...] = ()
    above: Path | None = None

    @property
    def first(self) -> str:
        return self.names[0]


class _Quick(lazy.NamedTuple):
    """A place."""

    line: int
    names: tuple[str, ...] = ()
    above: Path | None = None

    @property
    def first(self) -> str:
        return self.names[0]


def test_a_named_tuple_is_what_typing_makes() -> None:
    quick, slow = _Quick(3, names=("a", "b")), _Slow(3, names=("a", "b"))
    assert tuple(quick) == tuple(slow)
    assert (quick.first, repr(quick)) == ("a", repr(slow).replace("_Slow", "_Quick"))
    assert (quick._fields, quick._field_defaults, quick._asdict()) == (
        slow._fields,
        slow._field_defaults,
        slow._asdict(),
    )
    assert typing.get_type_hints(_Quick) == typing.get_type_hints(_Slow)
    assert (_Quick.__doc__, _Quick.__module__, _Quick.__qualname__) == (_Slow.__doc__, __name__, "_Quick")
    assert type(pickle.loads(pickle.dumps(quick))) is _Quick  # noqa: S301  our own
    assert msgspec.convert([1, ["x"], None], _Quick) == (1, ("x",), None)
    with pytest.raises(TypeError):
        _Quick(2, lines=3)  # type: ignore[call-arg]


class _Some(lazy.TypedDict, total=False):
    name: str | None


class _More(_Some, total=False):
    limit: int


def test_a_typed_dict_tells_what_may_be_in_it() -> None:
    assert list(_Some.__annotations__) == ["name"]
    assert list(_More.__annotations__) == ["name", "limit"]
    assert typing.get_type_hints(_More) == {"name": str | None, "limit": int}
    assert _More(name="a", limit=3) == {"name": "a", "limit": 3}
