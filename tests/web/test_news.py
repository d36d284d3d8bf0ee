"""What several sources tell, on one connection."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

import pytest

from reread.web.updates import server_event, together

BEAT = server_event("", "beat")


async def counting(name: str, last: int, is_over: list[str]) -> AsyncGenerator[str]:
    try:
        for number in range(last):
            yield f"{name} {number}"
            await asyncio.sleep(0)
    finally:
        is_over.append(name)


async def heard(stream: AsyncGenerator[str]) -> list[str]:
    return [news async for news in stream]


def test_all_are_heard_each_in_its_order() -> None:
    found = asyncio.run(heard(together([counting("a", 50, []), counting("b", 3, [])])))
    assert [news for news in found if news[0] == "a"] == [f"a {number}" for number in range(50)]
    assert [news for news in found if news[0] == "b"] == ["b 0", "b 1", "b 2"]
    assert BEAT not in found


def test_a_sign_of_life_comes_even_while_one_of_them_talks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reread.web.updates.BEAT", 0.01)

    async def until_some_beats_came() -> list[str]:
        found: list[str] = []
        stream = together([counting("a", 10_000_000, [])])
        async for news in stream:
            found.append(news)
            if news == BEAT and found.count(BEAT) > 1 and "a 0" in found:  # a busy machine may be late for the first
                break
        await stream.aclose()
        return found

    assert asyncio.run(until_some_beats_came())[-1] == BEAT


def test_who_leaves_lets_all_of_them_go() -> None:
    is_over: list[str] = []

    async def leave() -> None:
        stream = together([counting("a", 10_000_000, is_over), counting("b", 10_000_000, is_over)])
        await anext(stream)
        await stream.aclose()
        assert sorted(is_over) == ["a", "b"]

    asyncio.run(leave())


def test_a_fault_of_one_is_no_silence() -> None:
    async def failing() -> AsyncGenerator[str]:
        yield "once"
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        asyncio.run(heard(together([failing(), counting("a", 10_000_000, [])])))
