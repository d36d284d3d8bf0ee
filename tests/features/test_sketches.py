"""Sketches of texts: what is alike is found, whatever else there is."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from reread.features.friction.scene import SIZE, Sketch, grouped, likeness

# Few values, so that most sketches share some.
SKETCHES = st.lists(
    st.sets(st.integers(0, 60), min_size=1, max_size=SIZE).map(lambda each: tuple(sorted(each))), max_size=25
)


def by_looking_at_all(sketches: list[Sketch], alike: float) -> list[list[int]]:
    groups: dict[int, list[int]] = {}
    for number, each in enumerate(sketches):
        best: tuple[float, int] | None = None
        for leader in groups:
            found = likeness(each, sketches[leader])
            if found >= alike and (best is None or found >= best[0]):
                best = found, leader
        groups.setdefault(best[1] if best is not None else number, []).append(number)
    return list(groups.values())


@given(SKETCHES, st.sampled_from([0.45, 0.6, 0.9]))
def test_groups_are_those_of_holding_each_against_all(sketches: list[Sketch], alike: float) -> None:
    assert grouped([(each, number) for number, each in enumerate(sketches)], alike) == by_looking_at_all(
        sketches, alike
    )
