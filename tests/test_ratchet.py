"""The house does not grow unseen: a figure that rises is changed in `bench/house.toml`, and the commit says why."""

from __future__ import annotations

import tomllib

import pytest

from house import LIMITS, House, figures

NOW = figures(House())
ALLOWED = tomllib.loads(LIMITS.read_text("utf-8"))


@pytest.mark.parametrize("name", sorted(NOW.counts))
def test_a_figure_of_the_house_does_not_rise(name: str) -> None:
    assert NOW.counts[name] <= ALLOWED["counts"][name], "make it smaller, or raise it in bench/house.toml and say why"


@pytest.mark.parametrize("room", sorted(NOW.lines))
def test_a_room_does_not_grow_unseen(room: str) -> None:
    assert NOW.lines[room] <= ALLOWED["lines"].get(room, 0), (
        "let something go, or raise it in bench/house.toml and say why"
    )
