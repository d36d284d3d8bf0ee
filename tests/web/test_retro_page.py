"""The retrospective: what hurt and the message that proves it, what to change, and what was found wrongly."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from sqlite3 import Connection
from urllib.parse import urlencode

import pytest
from msgspec.structs import replace

from reread.archive import Archive, StoredSession, listing
from reread.archive.friction import ArchiveFriction
from reread.archive.friction_report import FrictionGroup, Retro
from reread.archive.friction_trends import TurningPoint
from reread.features.activity import Rate
from reread.features.friction.detection import FrictionKind, Moment
from reread.features.friction.patterns import RepeatedPattern
from reread.testing import a_prompt, a_reply, a_session, a_tool_call, a_tool_result
from reread.web.retro import MOST_FIRST, MOST_SUGGESTIONS, OVERVIEW
from troubled import ONE, RULE, THREE, TWO, troubled, write
from web.asking import CHANGES, HOST, Asking, asking, dangers, read
from web.test_hostile_pages import MARKUP, OBEYED

OURS = CHANGES
DAYS = {ONE: "2026-02-03", TWO: "2026-03-03", THREE: "2026-04-07"}


@pytest.fixture
def rough(tmp_path: Path) -> Iterator[Asking]:
    """Three months, in each of which the same things go wrong."""
    for name, day in DAYS.items():
        write(troubled(name), tmp_path / "claude" / "projects", day)
    with asking(tmp_path / "home", tmp_path / "claude") as made:
        yield made


def events_of(home: Path, kind: str = "correction", *, with_wrong: bool = False) -> list[Moment]:
    with Archive(home) as archive:
        return archive.friction.retro(kinds=[kind], with_wrong=with_wrong).events


def wrong(event: Moment) -> dict[str, str]:
    return {"uuid": str(event.uuid), "kind": event.kind.value, "to": "wrong"}


def judged(site: Asking, form: dict[str, str], *, by_script: bool = False) -> tuple[int, str]:
    answer = site.client.post(
        "/retro/wrong",
        headers=OURS | ({"x-part": "1"} if by_script else {}),
        content=urlencode(form),
        follow_redirects=False,
    )
    return answer.status_code, answer.headers.get("location", "")


def test_it_says_what_the_command_says_with_the_way_to_every_message(rough: Asking) -> None:
    page = rough.page("/retro?since=all")
    for words in ("correction", "tool error", "3 times in 3 sessions", "per 100 prompts", "Where to look: agent"):
        assert words in page.text
    for event in (*events_of(rough.home), *events_of(rough.home, "interrupt")):
        assert f"“{event.evidence}”" in page.text
        assert f"/s/{event.session}?at=m-{event.uuid}#m-{event.uuid}" in page.links()


def test_asked_again_it_looks_no_session_up_until_the_archive_changes(
    rough: Asking, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_up: list[str] = []
    whole = listing.sessions_called

    def watched(connection: Connection, name: str) -> list[StoredSession]:
        looked_up.append(name)
        return whole(connection, name)

    monkeypatch.setattr(listing, "sessions_called", watched)
    first = rough.page("/retro?since=all").text
    assert sorted(looked_up) == sorted(DAYS)
    assert rough.page("/retro?since=all").text == first
    assert rough.page("/retro?since=all&by=cost").text
    assert sorted(looked_up) == sorted(DAYS)
    with Archive(rough.home) as archive:
        archive.marks.set(ONE, title="A better title")
    assert "A better title" in rough.page("/retro?since=all").text


def test_every_link_to_evidence_opens_a_page_with_the_message_in_it(rough: Asking) -> None:
    links = {link for link in rough.page("/retro?since=all").links() if "?at=" in link}
    assert len(links) >= 12
    for link in links:
        name, place = re.fullmatch(r"(/s/[^?]+)\?at=([^#]+)#\2", link).groups()  # type: ignore[union-attr]
        where = rough.get(f"{name}/where?at={place}").json()
        assert where is not None, link
        assert where["anchor"] in {tag.get("id") for _, tag in rough.page(link).tags}


def test_what_to_change_comes_first_with_its_draft_and_why(rough: Asking) -> None:
    page = rough.page("/retro?since=all")
    assert page.text.index("What to change first") < page.text.index("What hurt most") < page.text.index("What repeats")
    assert f"- {RULE}" in page.text
    assert "CLAUDE.md" in page.text
    assert "Seen 3 times in 3 sessions" in page.text
    copied = [tag.get("data-copies") for tag in page.of("button") if "data-copies" in tag]
    assert copied
    assert set(copied) == {"pre"}


def test_a_period_stands_beside_ones_own_past_in_words(rough: Asking) -> None:
    page = rough.page("/retro?since=2026-04-01")
    assert "no clear difference (" in page.text
    assert "before: 2 sessions" in page.text
    assert "than before" not in rough.page("/retro?since=all").text


def test_weeks_are_drawn_and_told_in_a_table(rough: Asking) -> None:
    page = rough.page("/retro?since=all")
    assert [tag.get("class") for tag in page.of("svg")].count("reread-chart") == 1
    for week in ("2026-02-02", "2026-03-02", "2026-04-06"):
        assert week in page.text
    chart = next(tag for tag in page.of("svg") if tag.get("class") == "reread-chart")
    assert "Total" not in (chart["aria-label"] or ""), "rates do not add up"


def test_groups_are_filtered_and_ordered(rough: Asking) -> None:
    def kinds(query: str) -> list[str]:
        return [
            (tag.get("id") or "")[2:] for tag in rough.page(f"/retro?since=all&{query}").of("details") if "id" in tag
        ]

    everything = kinds("")
    assert {"correction", "tool_error", "interrupt", "rejection"} <= set(everything)
    assert kinds("kind=correction") == ["correction"]
    assert kinds("project=nowhere") == []
    assert sorted(kinds("by=count")) == sorted(kinds("by=time")) == sorted(everything)
    assert kinds("by=nonsense") == everything
    assert rough.page("/retro?kind=nonsense", status=400).text.count("nonsense") == 1
    assert rough.page("/retro?since=nonsense", status=400).text.count("nonsense") == 1
    subject = rough.page("/retro?since=all&kind=tool_error&about=test_failure")
    assert "gnuq in 0a1b" in subject.text
    assert "Tool error: test failure" in subject.text
    assert "What repeats" not in subject.text


def test_moments_of_subagents_are_left_out_until_asked_for(rough: Asking) -> None:
    page = rough.page("/retro?since=all")
    assert "3 of subagents" in page.text
    assert "tapirq" not in page.text
    link = next(link for link in page.links() if "agents=1" in link)
    assert "tapirq" in rough.page(link).text


def test_one_session_alone(rough: Asking) -> None:
    page = rough.page(f"/retro?session={TWO}")
    assert "oryxq names in 1b2c" in page.text
    assert "oryxq names in 0a1b”" not in page.text, "but for what it shares with others"
    assert f"/s/{TWO}" in page.links()
    assert rough.page("/retro?session=nobody", status=404)


def test_guesses_say_that_they_are_guesses(rough: Asking) -> None:
    sure = {event.kind: event.confidence for event in events_of(rough.home, "interrupt")}
    assert set(sure.values()) == {1.0}
    assert "sure" not in rough.page("/retro?since=all&kind=interrupt").text
    guessed = events_of(rough.home)[0].confidence
    assert f"a guess, {guessed:.0%} sure" in rough.page("/retro?since=all&kind=correction").text


def test_empty_states_say_what_to_do(rough: Asking, empty: Asking) -> None:
    assert "reread serve --source" in empty.page("/retro").text
    page = rough.page("/retro?since=2026-05-01")
    assert "No prompts and no friction in this period" in page.text
    assert "/retro?since=all" in page.links()


def test_nothing_wrong_is_said(tmp_path: Path) -> None:
    a_session(a_prompt("hello"), a_reply("hi"), id="calm").write(tmp_path / "claude" / "projects")
    with asking(tmp_path / "home", tmp_path / "claude") as site:
        assert "Nothing went wrong here" in site.page("/retro?since=all").text
        assert "retrospective" not in site.page("/s/calm").text


def test_a_moment_is_marked_wrong_and_right_again_without_script(rough: Asking) -> None:
    event = next(each for each in events_of(rough.home) if each.session == ONE)
    form = {"uuid": str(event.uuid), "kind": "correction", "back": "since=all&kind=correction&evil=1"}
    status, back = judged(rough, {**form, "to": "wrong"})
    assert status == 303
    assert back.startswith("/retro?since=all&kind=correction&said=")
    assert "evil" not in back
    page = rough.page(back)
    assert "Correction is left out from now on." in page.text
    assert "oryxq names in 0a1b" not in page.text
    place = back.partition("#")[2]
    assert [tag.get("id") for _, tag in page.tags].count(place) == 1, "the page comes back to where it was"
    assert "1 marked as wrong" in page.text
    shown = rough.page("/retro?since=all&wrong=1")
    assert "oryxq names in 0a1b" in shown.text
    assert [tag for tag in shown.of("li") if tag.get("class") == "moment is-wrong"]
    status, back = judged(rough, {**form, "to": "right"})
    assert status == 303
    page = rough.page(back)
    assert "Correction counts again." in page.text
    assert "oryxq names in 0a1b" in page.text
    assert [tag.get("id") for _, tag in page.tags].count(place) == 1


def test_the_last_of_a_group_is_taken_back_where_the_group_was(rough: Asking) -> None:
    for event in events_of(rough.home):
        _, back = judged(rough, wrong(event) | {"back": "since=all"})
    page = rough.page(back)
    assert "k-correction" not in {tag.get("id") for tag in page.of("details")}
    assert "Correction is left out from now on." in page.text
    assert "Undo" in page.text


def test_a_script_marks_without_a_new_page(rough: Asking) -> None:
    event = events_of(rough.home)[0]
    assert judged(rough, wrong(event), by_script=True) == (204, "")
    assert event not in events_of(rough.home)
    assert event in events_of(rough.home, with_wrong=True)


def test_only_what_was_found_can_be_marked(rough: Asking) -> None:
    event = events_of(rough.home)[0]
    for form in (
        {"uuid": "nobody", "kind": "correction"},
        {"uuid": str(event.uuid), "kind": "loop"},
        {"uuid": str(event.uuid), "kind": "nonsense"},
        {"uuid": str(event.uuid), "kind": "correction", "to": "right"},
        {"uuid": "", "kind": "correction"},
        {},
    ):
        assert judged(rough, form)[0] == 400
    assert len(events_of(rough.home)) == 6


def test_nobody_else_marks_a_moment(rough: Asking) -> None:
    form = urlencode(wrong(events_of(rough.home)[0]))
    ours, cookie = f"http://{HOST}", OURS["cookie"]
    for headers in ({}, {"cookie": cookie}, {"origin": ours}, {"cookie": cookie, "origin": "http://evil.example"}):
        assert rough.client.post("/retro/wrong", headers=headers, content=form).status_code == 403
    assert rough.get(f"/retro/wrong?{form}").status_code == 405
    assert len(events_of(rough.home)) == 6


def test_long_lists_are_bounded_and_say_what_is_left_out(tmp_path: Path) -> None:
    entries = [a_prompt("go")]
    for number in range(60):
        call = a_tool_call("Bash", {"command": f"tool{number} --run"}, id=f"t{number}")
        entries += [
            a_reply(call),
            a_tool_result(f"Exit code 1\nAssertionError {number}", of=f"t{number}", is_error=True),
        ]
    a_session(*entries, id="many").write(tmp_path / "claude" / "projects")
    with asking(tmp_path / "home", tmp_path / "claude") as site:
        page = site.page("/retro?since=all")
        shown = [tag for tag in page.of("li") if tag.get("class") == "moment"]
        assert len(shown) <= OVERVIEW.subjects * OVERVIEW.alone * 3
        more = next(link for link in page.links() if "kind=tool_error" in link)
        assert "more moments" in page.text
        assert len([tag for tag in site.page(more).of("li") if tag.get("class") == "moment"]) >= 60


def test_corrections_are_on_the_map_of_their_session_and_in_its_head(rough: Asking) -> None:
    event = next(each for each in events_of(rough.home) if each.session == ONE)
    page = rough.page(f"/s/{ONE}")
    assert "2 corrections, 1 " in page.text
    assert f"/retro?session={ONE}" in page.links()
    marks = rough.part(f"/s/{ONE}/map")
    assert [tag.get("class") for tag in marks.of("rect")].count("corrected") == 2
    mark = [tag for tag in marks.of("a") if "data-piece" in tag][1]
    assert mark["href"] == f"?at=m-{event.uuid}#m-{event.uuid}"
    assert "correction: no, that is wrong" in marks.text, "the tip"
    judged(rough, wrong(event), by_script=True)
    page = rough.page(f"/s/{ONE}")
    assert "1 correction, 1 " in page.text
    assert len([tag for tag in rough.part(f"/s/{ONE}/map").of("a") if "data-piece" in tag]) == 1


def hostile_group(group: FrictionGroup) -> FrictionGroup:
    return replace(
        group, about=MARKUP, causes={MARKUP: 1}, change=MARKUP, before=Rate(1, 3), example=hostile(group.example)
    )


def hostile(event: Moment) -> Moment:
    return replace(event, uuid=MARKUP, evidence=MARKUP, about=MARKUP, agent=MARKUP, details={"first": MARKUP})


def hostile_pattern(pattern: RepeatedPattern) -> RepeatedPattern:
    moments = tuple(replace(each, uuid=MARKUP, text=MARKUP + "!") for each in pattern.moments)
    return replace(pattern, about=MARKUP, example=MARKUP, moments=moments)


def hostile_retro(found: Retro) -> Retro:
    """Markup in every text of every moment, group, pattern and suggestion."""
    changed = TurningPoint(
        what="model",
        name=MARKUP,
        time=datetime(2026, 1, 1, tzinfo=UTC),
        session=MARKUP,
        uuid=MARKUP,
        before=Rate(1, 20),
        after=Rate(1, 20),
        change=MARKUP,
    )
    names = ("title", "draft", "place")
    return replace(
        found,
        events=[hostile(event) for event in found.events],
        wrong=frozenset((MARKUP, kind) for kind in (FrictionKind.CORRECTION,)),
        kinds=[hostile_group(group) for group in found.kinds],
        subjects=[hostile_group(group) for group in found.subjects],
        changes=[changed],
        patterns=[hostile_pattern(pattern) for pattern in found.patterns],
        suggestions=[replace(each, evidence=(MARKUP,), **dict.fromkeys(names, MARKUP)) for each in found.suggestions],
        homes={MARKUP: ONE},
    )


def test_whatever_a_moment_or_a_suggestion_says_is_text(rough: Asking, monkeypatch: pytest.MonkeyPatch) -> None:
    real = ArchiveFriction.retro
    monkeypatch.setattr(ArchiveFriction, "retro", lambda *given, **more: hostile_retro(real(*given, **more)))
    for path in ("/retro?since=all", "/retro?since=all&kind=correction&wrong=1", f"/retro?session={ONE}"):
        page = rough.page(path)
        assert page.text.count("<script>alert(1)</script>") > 5, "nothing of it was shown, so nothing was proved"
        assert not dangers(page)
        assert not OBEYED.search(page.text)
        assert "54439" not in page.text


@pytest.mark.parametrize(
    "words", ["<script>alert(1)</script>", '"><img src=x>', "{{7777*7}}", "\u202e\x1b[2J", "//evil"]
)
def test_what_is_asked_for_is_text_too(words: str, rough: Asking) -> None:
    for name in ("since", "project", "kind", "by", "about", "session", "wrong", "said", "of", "to"):
        given = {"since": "all", "said": "x", "of": "correction", name: words}
        answer = rough.get(f"/retro?{urlencode(given)}")
        assert answer.status_code in (200, 400, 404)
        assert not dangers(read(answer.text)), (name, words)
        assert "54439" not in answer.text
    _, back = judged(rough, wrong(events_of(rough.home)[0]) | {"back": f"//evil?{words}"})
    assert back.startswith("/retro?said=")


def test_only_so_many_suggestions_are_shown(rough: Asking, monkeypatch: pytest.MonkeyPatch) -> None:
    real = ArchiveFriction.retro

    def many(*given: object, **more: object) -> Retro:
        found: Retro = real(*given, **more)  # type: ignore[arg-type]
        return replace(found, suggestions=[replace(found.suggestions[0], title=f"number {n}") for n in range(50)])

    monkeypatch.setattr(ArchiveFriction, "retro", many)
    page = rough.page("/retro?since=all")
    assert f"{50 - MOST_FIRST} more suggestions" in page.text
    assert len([tag for tag in page.of("section") if "data-suggestion" in tag]) == MOST_SUGGESTIONS
    assert f"and {50 - MOST_SUGGESTIONS} more suggestions" in page.text


def test_a_suggestion_shows_what_it_would_change(tmp_path: Path) -> None:
    work = tmp_path / "app"
    work.mkdir()
    (work / "CLAUDE.md").write_text("# Notes <b>\n")
    for name, day in DAYS.items():
        write(troubled(name, cwd=str(work)), tmp_path / "claude" / "projects", day)
    with asking(tmp_path / "home", tmp_path / "claude") as site:
        page = site.page("/retro?since=all")
        asked = [tag["data-load"] or "" for tag in page.of("details") if "would" in (tag.get("class") or "")]
        assert asked[0] == "/retro/diff?since=all&n=1"
        answers = [site.part(address) for address in asked]
        assert all(dangers(answer) == [] for answer in answers)
        assert any(f"+- {RULE}" in answer.text and "# Notes <b>" in answer.text for answer in answers)
        assert (work / "CLAUDE.md").read_text() == "# Notes <b>\n", "nothing is written by looking"
        assert asked[0] in page.links(), "for a browser without scripts"
        assert "/retro?since=all" in site.page(asked[0]).links()
        assert site.get("/retro/diff?since=all&n=99").status_code == 404
        assert site.get("/retro/diff?since=all").status_code == 404


def test_the_command_that_applies_a_suggestion_has_the_filters_that_number_it(tmp_path: Path) -> None:
    work = tmp_path / "my app"
    work.mkdir()
    for name, day in DAYS.items():
        write(troubled(name, cwd=str(work)), tmp_path / "claude" / "projects", day)

    def commands(query: str) -> list[str]:
        shown = [tag for tag in site.page(f"/retro?{query}").of("section") if "data-suggestion" in tag]
        answers = [site.part(f"/retro/diff?{query}&n={number}").text for number in range(1, len(shown) + 1)]
        return [line for text in answers for line in re.findall(r"(reread retro apply .*) makes it so", text)]

    with asking(tmp_path / "home", tmp_path / "claude") as site:
        plain = commands("since=all")
        assert plain
        assert all(re.fullmatch(r"reread retro apply \d+", each) for each in plain)
        options = " --since 3650d --agents --min-confidence 0 --include-wrong"
        assert [each for each in commands("since=3650d&unsure=1&wrong=1&agents=1") if not each.endswith(options)] == []
        assert commands("since=all&project=my+app") == [f"{each} --project 'my app'" for each in plain]


def test_a_suggestion_for_a_project_of_another_machine_says_so(rough: Asking) -> None:
    assert "is not on this machine" in rough.part("/retro/diff?since=all&n=1").text


def form_of(html: str, to: str) -> dict[str, str]:
    """The fields of the first form whose button says that."""
    form = next(
        each for each in re.findall(r"<form class=\"act\".*?</form>", html, re.DOTALL) if f'value="{to}"' in each
    )
    fields = re.findall(r"name=\"(\w+)\" value=\"([^\"]*)\"", form)
    return {name: value.replace("&amp;", "&") for name, value in fields}


def test_a_suggestion_is_applied_undone_and_dismissed_from_the_page(tmp_path: Path) -> None:
    work = tmp_path / "app"
    work.mkdir()
    (work / "CLAUDE.md").write_text("# Notes\n")
    for name, day in DAYS.items():
        write(troubled(name, cwd=str(work)), tmp_path / "claude" / "projects", day)
    with asking(tmp_path / "home", tmp_path / "claude") as site:
        number = next(n for n in range(1, 9) if RULE in site.get(f"/retro/diff?since=all&n={n}").text)
        shown = form_of(site.get(f"/retro/diff?since=all&n={number}", {"x-part": "1"}).text, "apply")
        (work / "CLAUDE.md").write_text("# Notes of mine\n")
        assert site.post("/retro/act", shown).status_code == 400, "another change than was shown"
        shown = form_of(site.get(f"/retro/diff?since=all&n={number}", {"x-part": "1"}).text, "apply")
        answer = site.post("/retro/act", shown)
        assert (answer.status_code, answer.headers["location"]) == (303, "/retro?since=all")
        assert RULE in (work / "CLAUDE.md").read_text()
        page = site.get("/retro?since=all").text
        assert "no difference yet (0 prompts since)" in page
        assert site.post("/retro/act", form_of(page, "undo")).status_code == 303
        assert (work / "CLAUDE.md").read_text() == "# Notes of mine\n"
        before = form_of(site.get("/retro?since=all").text, "dismiss")
        assert site.post("/retro/act", before).status_code == 303
        assert before["key"] not in site.get("/retro?since=all").text
        assert site.post("/retro/act", before).status_code == 400
        guess = form_of(site.get("/retro?since=all").text, "no")
        assert site.post("/retro/act", {**guess, "to": "no"}).status_code == 303
        page = site.get("/retro?since=all").text
        assert guess["key"] not in "".join(re.findall(r"<h2>Was it so.*?</section>", page, re.DOTALL))
        assert "1 marked as wrong" in page
        assert dangers(site.page("/retro?since=all")) == []
