"""Sketches of texts: what is alike is found, whatever else there is."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st

from reread.features.friction.material import AskedPrompt, Material
from reread.features.friction.patterns import find_patterns
from reread.features.friction.prompt_text import SIZE, PackedSketches, Sketch, grouped, likeness, sketch

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
    return [group for group in groups.values() if len(group) > 1]


@given(SKETCHES, st.sampled_from([0.45, 0.6, 0.9]))
def test_groups_are_those_of_holding_each_against_all(sketches: list[Sketch], alike: float) -> None:
    assert grouped(PackedSketches(sketches), alike) == by_looking_at_all(sketches, alike)


def test_a_prompt_of_very_many_takes_little_while_patterns_are_found() -> None:
    """Materials are read one by one; with all of them held, and sketches as tuples, it was 3.7 kB a prompt."""
    number = 4_000
    tracemalloc.start()
    try:
        found = find_patterns(_materials(number))
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert [pattern.count for pattern in found] == [number // 100]
    assert most / number < 1_500


def _materials(number: int) -> Iterator[Material]:
    for session in range(number):
        text = "run the release script" if session % 100 == 0 else " ".join(f"word{session}x{n}" for n in range(30))
        asked = AskedPrompt(uuid=f"{session:036}", time=None, sketch=sketch(text), example=text[:80])
        yield Material(session=f"session {session}", prompts=(asked,))


def test_what_says_nothing_is_like_nothing() -> None:
    said = [AskedPrompt(uuid=str(number), time=None, sketch=(), example="?") for number in range(9)]
    assert find_patterns([Material(session=each.uuid, prompts=(each,)) for each in said]) == []
