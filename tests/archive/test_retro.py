"""The retrospective: what hurt, against one's own past, what repeats, what to change, and lines that prove it."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from fractions import Fraction
from math import comb
from pathlib import Path

import pytest
from msgspec.structs import replace

from reread.archive import Archive, Retro
from reread.archive.answers import place_of
from reread.archive.filters import Filter
from reread.archive.friction_report import LEAST_CONFIDENCE, ORDERS, FrictionPeriod, Groups, ranked
from reread.archive.friction_trends import TurningPoint
from reread.errors import BadInput, UnknownSession
from reread.features.activity import Rate, SessionShare, poisson, share_of_high, verdicts
from reread.features.friction import Cause, FrictionKind, Loss, Moment
from reread.testing import a_prompt, a_reply, a_session, a_tool_call, a_tool_result
from reread.views.retro_report import retro_lines
from reread.views.text import Style
from reread.views.values import View
from troubled import ONE, RULE, THREE, TWO, an_archive, an_edit, troubled, write

ERAS = Path(__file__).parents[1] / "eras"
MARCH = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.fixture
def archive(tmp_path: Path) -> Archive:
    """Three sessions of three months, the second in another project."""
    write(troubled(ONE), tmp_path / "projects", "2026-02-04")
    write(troubled(TWO, cwd="/home/ann/shop"), tmp_path / "projects", "2026-03-04")
    write(troubled(THREE), tmp_path / "projects", "2026-04-08")
    return an_archive(tmp_path)


def kinds(found: Retro) -> dict[FrictionKind, int]:
    return {group.kind: group.count for group in found.kinds}


def named(found: Retro, word: str) -> list[Moment]:
    return [event for event in found.events if word in event.evidence]


# -- examples


def test_the_example_of_a_kind_can_be_opened_and_is_sure_before_it_is_dear() -> None:
    def a_correction(uuid: str | None, confidence: float, nanodollars: int) -> Moment:
        return Moment(
            kind=FrictionKind.CORRECTION,
            session=ONE,
            uuid=uuid,
            time=MARCH,
            evidence="no",
            confidence=confidence,
            cause=Cause.AGENT,
            loss=Loss(nanodollars=nanodollars),
        )

    dear_and_unsure, dear_and_nowhere = a_correction("a", 0.6, 9), a_correction(None, 0.97, 9)
    sure_and_cheap, sure = a_correction("b", 0.97, 1), a_correction("c", 0.96, 2)
    moments = [dear_and_unsure, dear_and_nowhere, sure_and_cheap, sure]
    (group,) = Groups(FrictionPeriod(moments, 10, frozenset()), FrictionPeriod([], 0, frozenset()), "hurt").by(
        lambda event: (event.kind, None)
    )
    assert group.example is sure


def test_changes_that_made_no_difference_share_a_line(archive: Archive) -> None:
    def a_change(name: str, change: str | None) -> TurningPoint:
        rate = Rate(1, 20)
        return TurningPoint(
            what="model", name=name, time=MARCH, session=ONE, uuid=None, before=rate, after=rate, change=change
        )

    with archive:
        changes = [a_change("opus", None), a_change("sonnet", "more"), a_change("haiku", None)]
        found = replace(archive.friction.retro(), changes=changes)
    lines = list(retro_lines(found, View(width=100, style=Style(colour=False), timezone=UTC)))
    told = [line for line in lines if any(each.name in line for each in changes)]
    assert len(told) == 2
    assert "first used sonnet: 5.0" in told[0] and told[0].endswith("more")
    assert told[1] == "  no clear difference after opus (2026-03-01), haiku (2026-03-01)"


# -- rates


@pytest.mark.parametrize(
    ("count", "low", "high"), [(0, 0.0, 3.69), (1, 0.025, 5.57), (10, 4.80, 18.39), (100, 81.4, 121.6)]
)
def test_a_count_lies_between_the_exact_limits_of_poisson(count: int, low: float, high: float) -> None:
    assert poisson(count) == pytest.approx((low, high), rel=0.02, abs=0.03)


def test_a_change_is_told_only_where_it_is_more_than_chance() -> None:
    assert verdicts([SessionShare(10, 12, 2, 20)]) == ["more"]
    assert verdicts([SessionShare(0, 12, 15, 20)]) == ["less"]
    assert verdicts([SessionShare(3, 12, 2, 20)]) == [None]
    assert verdicts([SessionShare(1, 1, 3, 50)]) == [None], "one session in which much happened"
    assert verdicts([SessionShare(3, 10, 0, 0), SessionShare(0, 0, 3, 10)]) == [None, None]


def test_of_many_comparisons_one_that_chance_makes_in_some_is_not_told() -> None:
    rare = SessionShare(3, 10, 0, 40)
    assert verdicts([rare]) == ["more"]
    assert verdicts([rare] * 20) == [None] * 20
    assert verdicts([rare, *[SessionShare(0, 10, 1, 40)] * 20])[0] == "more", "what one session has could tell nothing"


@pytest.mark.parametrize("now", range(0, 13, 3))
@pytest.mark.parametrize(("before", "sessions"), [(0, 10), (7, 30), (12, 12)])
def test_chance_is_what_dealing_out_the_sessions_gives(now: int, before: int, sessions: int) -> None:
    share, both, every = SessionShare(now, 12, before, sessions), now + before, 12 + sessions

    def likely(numbers: Iterable[int]) -> float:
        return float(sum(Fraction(comb(both, n) * comb(every - both, 12 - n), comb(every, 12)) for n in numbers))

    assert share.chance(now, 1) == pytest.approx(likely(range(now, min(both, 12) + 1)))
    assert share.chance(now, -1) == pytest.approx(likely(range(max(0, both - sessions), now + 1)))


def test_sessions_count_as_high_above_the_median_of_both_times() -> None:
    assert share_of_high([0.5, 0.9, 0.0], [0.0, 0.0, 0.1]) == SessionShare(2, 3, 1, 3)
    assert share_of_high([], []) == SessionShare(0, 0, 0, 0)


def test_nothing_can_be_said_of_nothing() -> None:
    assert (Rate(0, 0).per_hundred, Rate(0, 0).interval) == (None, None)


# -- what hurt


def test_moments_are_counted_by_kind_and_by_what_they_are_about(archive: Archive) -> None:
    found = archive.friction.retro()
    assert (found.sessions, found.prompts, found.prompts_before) == (3, 9, 0)
    expected = {
        FrictionKind.TOOL_ERROR: 3,
        FrictionKind.REJECTION: 3,
        FrictionKind.CORRECTION: 6,
        FrictionKind.INTERRUPT: 3,
    }
    assert expected.items() <= kinds(found).items()
    [errors] = [group for group in found.subjects if group.kind is FrictionKind.TOOL_ERROR]
    assert (errors.about, errors.count, errors.sessions) == ("test_failure", 3, 3)
    assert errors.rate == Rate(3, 9)
    assert sum(group.hurt for group in found.kinds) <= 1.001
    times = [event.time for event in found.events if event.time is not None]
    assert times == sorted(times, reverse=True)


def test_a_period_is_held_against_what_was_before_it(archive: Archive) -> None:
    found = archive.friction.retro(Filter(since=MARCH, until=datetime(2026, 4, 1, tzinfo=UTC)))
    assert {event.session for event in found.events} == {TWO}
    assert (found.sessions, found.prompts, found.sessions_before, found.prompts_before) == (1, 3, 1, 3)
    [errors] = [group for group in found.kinds if group.kind is FrictionKind.TOOL_ERROR]
    assert (errors.rate, errors.before, errors.change) == (Rate(1, 3), Rate(1, 3), None)


def test_one_session_is_held_against_all_before_it(archive: Archive) -> None:
    found = archive.friction.retro(session=THREE[:6])
    assert {event.session for event in found.events} == {THREE}
    assert (found.sessions, found.prompts, found.sessions_before, found.prompts_before) == (1, 3, 2, 6)
    assert {pattern.kind.value for pattern in found.patterns} >= {"repeated_instruction", "tool_error"}


def test_filters_choose_sessions(archive: Archive) -> None:
    assert {event.session for event in archive.friction.retro(Filter(project="shop")).events} == {TWO}
    assert archive.friction.retro(Filter(tool="Grep")).events == []


def test_agents_the_unsure_and_other_kinds_are_left_out_unless_asked_for(archive: Archive) -> None:
    assert named(archive.friction.retro(), "tapirq") == []
    assert (
        archive.friction.retro().spared.of_agents == len(named(archive.friction.retro(with_agents=True), "tapirq")) == 3
    )
    assert set(kinds(archive.friction.retro(kinds=["tool_error", "re-ask"]))) == {FrictionKind.TOOL_ERROR}
    sure = archive.friction.retro(least_confidence=0.99)
    assert {event.confidence for event in sure.events} == {1.0}
    assert sure.spared.unsure > 0


def test_causes_add_up_to_all(archive: Archive) -> None:
    found = archive.friction.retro()
    assert sum(group.count for group in found.causes.values() if group is not None) == len(found.events)


@pytest.mark.parametrize("order", ["time", "cost", "count"])
def test_the_order_is_by_what_is_asked_for(archive: Archive, order: str) -> None:
    groups = archive.friction.retro(by=order).kinds
    measure = {"time": "seconds", "cost": "nanodollars", "count": "count"}[order]
    figures = [getattr(group, measure) for group in groups]
    assert figures == sorted(figures, reverse=True)


def test_bad_questions_are_refused(archive: Archive) -> None:
    with pytest.raises(BadInput, match="no order"):
        archive.friction.retro(by="size")
    with pytest.raises(BadInput, match="no kind"):
        archive.friction.retro(kinds=["grief"])
    with pytest.raises(UnknownSession):
        archive.friction.retro(session="feed")


def test_an_empty_period_is_an_empty_answer(archive: Archive) -> None:
    found = archive.friction.retro(Filter(since=datetime(2030, 1, 1, tzinfo=UTC)))
    assert (found.events, found.patterns, found.suggestions, found.sessions, found.prompts) == ([], [], [], 0, 0)


# -- over time


def test_weeks_tell_prompts_and_moments(archive: Archive) -> None:
    found = archive.friction.retro(timezone=UTC)
    assert [week.week for week in found.weeks] == ["2026-02-02", "2026-03-02", "2026-04-06"]
    assert sum(week.rate.count for week in found.weeks) == len(found.events)
    assert [week.rate.exposure for week in found.weeks] == [3, 3, 3]


def test_a_changed_instruction_file_has_a_before_and_an_after_of_its_own_project(tmp_path: Path) -> None:
    ids = [f"{number}0000000-1111-4222-8333-444455556666" for number in range(8)]
    for number, name in enumerate(ids[:4]):  # trouble before, none after
        write(troubled(name), tmp_path / "projects", f"2026-05-0{number + 1}")
    calm = [a_prompt(f"look at part {number} of it") for number in range(3)]
    write(a_session(*an_edit("/home/ann/app/CLAUDE.md"), *calm, id=ids[4]), tmp_path / "projects", "2026-05-10")
    for number in range(1, 6):
        later = a_session(*calm, id=f"c{number}{ids[0][2:]}", cwd="/home/ann/app")
        write(later, tmp_path / "projects", f"2026-05-1{number + 1}")
    write(troubled(ids[5], cwd="/home/ann/shop"), tmp_path / "projects", "2026-05-11")
    with an_archive(tmp_path) as archive:
        [changed] = archive.friction.retro().changes
        moments = len(archive.friction.retro(Filter(until=datetime(2026, 5, 10, tzinfo=UTC)), kinds=None).events)
    assert (changed.what, changed.name, changed.session) == ("instructions", "/home/ann/app/CLAUDE.md", ids[4])
    assert changed.uuid is not None
    assert changed.before.exposure == 12
    assert changed.before.count <= moments
    assert (changed.after, changed.change) == (Rate(0, 18), "less")


def test_a_new_model_is_held_against_what_was_used_before(tmp_path: Path) -> None:
    for number in range(4):
        write(troubled(f"{number}0000000-1111-4222-8333-444455556666"), tmp_path / "projects", f"2026-05-0{number + 1}")
    calm = [each for number in range(3) for each in (a_prompt(f"part {number}"), a_reply("ok", model="claude-new-9"))]
    for number in range(5):
        later = a_session(*calm, id=f"c{number}{ONE[2:]}", version="2.9.0")
        write(later, tmp_path / "projects", f"2026-05-1{number + 2}")
    with an_archive(tmp_path) as archive:
        changes = {each.what: each for each in archive.friction.retro().changes}
    assert {what: each.name for what, each in changes.items()} == {"model": "claude-new-9", "version": "2.9.0"}
    assert (changes["model"].before.exposure, changes["model"].after, changes["model"].change) == (
        12,
        Rate(0, 15),
        "less",
    )


# -- what repeats, and what a person says of it


def test_what_is_told_in_three_sessions_becomes_a_line_for_the_instructions(archive: Archive) -> None:
    found = archive.friction.retro()
    [told] = [each for each in found.patterns if each.kind.value == "repeated_instruction"]
    assert told.sessions == (ONE, TWO, THREE)
    [memory] = [each for each in found.suggestions if "3 times in 3 sessions" in each.title]
    assert (memory.draft, memory.place) == (f"- {RULE}", "CLAUDE.md")
    assert {found.homes[uuid] for uuid in memory.evidence} == {ONE, TWO, THREE}
    assert kinds(found)[FrictionKind.REPEATED_INSTRUCTION] == 3


def test_what_a_person_says_is_none_is_left_out_until_it_is_taken_back(archive: Archive) -> None:
    [wrong] = [event for event in named(archive.friction.retro(), "oryxq") if event.session == TWO]
    assert wrong.uuid is not None
    said = archive.friction.mark_wrong(wrong.uuid[:-2], "correction")
    assert (said.uuid, said.kind, said.session) == (wrong.uuid, "correction", TWO)
    found = archive.friction.retro()
    assert wrong not in found.events
    assert found.spared.wrong == 1
    shown = archive.friction.retro(with_wrong=True)
    assert wrong in shown.events
    assert shown.wrong == {(wrong.uuid, FrictionKind.CORRECTION)}
    archive.friction.mark_right(wrong.uuid)
    assert wrong in archive.friction.retro().events


def test_a_rule_that_is_none_is_no_pattern_any_more(archive: Archive) -> None:
    rules = [event for event in archive.friction.retro().events if event.kind is FrictionKind.REPEATED_INSTRUCTION]
    archive.friction.mark_wrong(rules[0].uuid or "")
    assert FrictionKind.REPEATED_INSTRUCTION not in kinds(archive.friction.retro())


def test_only_what_was_found_can_be_wrong(archive: Archive) -> None:
    [wrong] = [event for event in named(archive.friction.retro(), "oryxq") if event.session == TWO]
    with pytest.raises(BadInput, match="there is no moment"):
        archive.friction.mark_wrong("feed")
    with pytest.raises(BadInput, match="shows no loop"):
        archive.friction.mark_wrong(wrong.uuid or "", "loop")
    with pytest.raises(BadInput, match="nothing was said"):
        archive.friction.mark_right(wrong.uuid or "")


# -- evidence


def assert_opens(archive: Archive, found: Retro) -> int:
    """Every line that is named is in the session that is named with it, in a turn that can be shown."""
    lines = [(event.session, event.uuid) for event in found.events if event.uuid is not None]
    lines += [(moment.session, moment.uuid) for pattern in found.patterns for moment in pattern.moments]
    lines += [(found.homes[uuid], uuid) for each in found.suggestions for uuid in each.evidence]
    sessions = {name: archive.session(name) for name, _ in lines}
    for name, uuid in lines:
        session = sessions[name]
        branch, index = place_of(session, uuid)
        [turn] = [turn for turn in branch.turns if turn.index == index]
        own = {record.uuid for record in turn.records}
        of_agents = {record.uuid for agent in session.subagents for record in agent.records}
        assert uuid in own | of_agents
    return len(lines)


def test_every_line_of_evidence_opens_where_it_stands(archive: Archive) -> None:
    assert assert_opens(archive, archive.friction.retro(with_agents=True, least_confidence=0.0)) > 20


@pytest.mark.sampled(12)
@pytest.mark.parametrize("era", sorted(path.parent.name for path in ERAS.glob("*/source")))
def test_every_line_of_evidence_of_the_real_client_opens_where_it_stands(era: str, tmp_path: Path) -> None:
    with an_archive(tmp_path, ERAS / era / "source") as archive:
        assert_opens(archive, archive.friction.retro(with_agents=True, least_confidence=0.0))


def test_the_line_that_is_opened_says_what_is_quoted(archive: Archive) -> None:
    for event in named(archive.friction.retro(), "oryxq"):
        branch, index = place_of(archive.session(event.session), event.uuid or "")
        [turn] = [turn for turn in branch.turns if turn.index == index]
        assert turn.prompt is not None
        assert "oryxq" in turn.prompt.text


def test_a_session_without_prompts_is_no_trouble(tmp_path: Path) -> None:
    write(
        a_session(a_reply(a_tool_call("Read", {"file_path": "/x"})), a_tool_result("x"), id=ONE), tmp_path / "projects"
    )
    with an_archive(tmp_path) as archive:
        found = archive.friction.retro()
    assert (found.events, found.prompts, found.weeks) == ([], 0, [])


@pytest.mark.parametrize("zone", ["Pacific/Kiritimati", "America/Los_Angeles", "UTC"])
def test_a_clock_that_was_wrong_by_millennia_is_in_no_week(tmp_path: Path, zone: str) -> None:
    times = ("9999-12-31T23:59:59.999Z", "0001-01-01T00:00:00.000Z", "2026-02-02T12:00:00.000Z")
    prompts = [a_prompt(f"go {number}", timestamp=time) for number, time in enumerate(times)]
    interrupted = a_prompt("[Request interrupted by user]", timestamp=times[0])
    write(a_session(*prompts, interrupted, id=ONE), tmp_path / "projects")
    with an_archive(tmp_path) as archive:
        found = archive.friction.retro(timezone=zone)
    assert [week.week for week in found.weeks] == ["2026-02-02"]
    assert (found.prompts, len(found.events)) == (3, 1)


# -- one session, for a page that shows it


def test_the_moments_of_a_session_are_those_of_its_retrospective(archive: Archive) -> None:
    stored = archive.find(TWO)
    alone = archive.friction.retro(session=TWO)
    own = archive.friction.in_session(stored)
    assert [event for event in own if event.kind is FrictionKind.CORRECTION]
    told_over_many = [event for event in alone.events if event.kind is FrictionKind.REPEATED_INSTRUCTION]
    assert sorted(map(repr, own)) == sorted(repr(event) for event in alone.events if event not in told_over_many)


def test_the_moments_of_a_session_leave_out_agents_guesses_and_what_is_none(archive: Archive) -> None:
    stored = archive.find(ONE)
    before = archive.friction.in_session(stored)
    assert not [event for event in before if event.agent is not None or event.confidence < LEAST_CONFIDENCE]
    assert [event for event in archive.friction.retro(session=ONE, with_agents=True).events if event.agent is not None]
    correction = next(event for event in before if event.kind is FrictionKind.CORRECTION)
    archive.friction.mark_wrong(str(correction.uuid), "correction")
    assert archive.friction.in_session(stored) == [event for event in before if event != correction]


@pytest.mark.parametrize("order", ORDERS)
def test_groups_can_be_put_into_another_order_without_asking_again(order: str, archive: Archive) -> None:
    found = archive.friction.retro()
    assert ranked(found.kinds, order) == archive.friction.retro(by=order).kinds
    assert ranked(found.subjects, order) == archive.friction.retro(by=order).subjects
