"""What counts as a correction, and what only looks like one."""

from __future__ import annotations

import pytest

from reread.features.friction import Cause, FrictionKind, Moment, find_events
from reread.sessions import Session
from reread.testing import (
    ContentBlock,
    Entry,
    a_prompt,
    a_queued_prompt,
    a_reply,
    a_tool_call,
    a_tool_result,
    a_usage,
    an_interrupt,
    build,
)


def corrections(session: Session) -> list[Moment]:
    return [event for event in find_events(session) if event.kind is FrictionKind.CORRECTION]


def an_edit(old: str, new: str) -> list[ContentBlock | Entry]:
    given = {"file_path": "/app/page.css", "old_string": old, "new_string": new}
    return [a_tool_call("Edit", given), a_tool_result("updated")]


def after_an_answer(
    text: str, answer: str = "I changed it.", reply: str = "Changed.", *, is_redone: bool = True
) -> list[Moment]:
    """What is found where a file was changed, the person says something, and the same lines are changed again."""
    session = build(
        a_prompt("change it"),
        *an_edit(".page { columns: 1 }", ".page { columns: 3 }"),
        a_reply(answer),
        a_prompt(text, uuid="second"),
        *(an_edit(".page { columns: 3 }", ".page { columns: 2 }") if is_redone else ()),
        a_reply(reply),
    )
    return corrections(session)


def test_a_correction_costs_the_work_that_was_thrown_away_and_not_what_is_wished_next() -> None:
    def said(answer: ContentBlock | str) -> Entry:
        return a_reply(answer, model="claude-sonnet-4-5", usage=a_usage(100, 50))

    def edited(old: str, new: str) -> list[Entry]:
        given = {"file_path": "/app/page.css", "old_string": old, "new_string": new}
        return [said(a_tool_call("Edit", given)), a_tool_result("updated")]

    def cost(*after: Entry) -> int | None:
        (event,) = corrections(
            build(
                a_prompt("change it"),
                *edited(".page { columns: 1 }", ".page { columns: 3 }"),
                said("Done."),
                a_prompt("no, that's wrong, I said two columns"),
                *after,
                said("You're right, sorry."),
            )
        )
        return event.loss.tokens

    again = edited(".page { columns: 3 }", ".page { columns: 2 }")
    wished = edited(".other { margin: 0px }", ".other { margin: 2px }")
    assert (cost(*again, *wished, *wished), cost(*wished)) == (150, None)


@pytest.mark.parametrize(
    "text",
    [
        "no, the other one",
        "that's not what I asked for",
        "you forgot the tests",
        "still doesn't work",
        "I said two columns",
        "please revert that",
        "Why did you delete the file?",
        "Nein, das ist falsch",
        "ce n'est pas ce que j'ai demandé",
        "eso no es lo que pedí",
        "não é isso",
        "違います、元に戻してください",
        "不对，我要的是每小时的数据",
    ],
)
def test_a_correction_is_found_in_many_words_and_languages(text: str) -> None:
    (event,) = after_an_answer(text)
    assert (event.uuid, event.cause) == ("second", Cause.AGENT)
    assert 0.5 <= event.confidence <= 0.97


@pytest.mark.parametrize(
    "text",
    [
        "no problem, thanks",
        "great, nothing wrong with it",
        "not bad at all",
        "what is wrong with using a list here?",
        "never mind the docs, commit it",
        "```\nthat's wrong, revert it\n```\nwhat does this comment mean?",
        'a customer wrote "no, this is wrong". answer him',
        "> No, this is wrong.\nanswer this mail",
        "kein Problem, weiter so",
        "pas mal du tout",
        "没问题",
    ],
)
def test_what_only_sounds_like_one_is_none(text: str) -> None:
    assert not after_an_answer(text, is_redone=False)


def test_nothing_can_be_corrected_before_the_first_answer() -> None:
    assert not corrections(build(a_prompt("no, that's wrong, revert it"), a_reply("what?")))


def test_no_to_a_question_is_an_answer() -> None:
    assert not after_an_answer("no, leave them", answer="Shall I remove the old ones?", is_redone=False)
    assert after_an_answer("no, leave them", answer="I removed the old ones.")


def answered(text: str, reply: str) -> list[Moment]:
    return corrections(build(a_prompt("which is it?"), a_reply("It is 18."), a_prompt(text), a_reply(reply)))


def test_what_the_model_answers_says_most() -> None:
    text = "the file .nvmrc has a 20 in it"
    (event,) = answered(text, "You're right, I missed that. It is 20.")
    assert event.details["because"] == "the reply says you are right; the reply admits a mistake"
    assert not answered(text, "Yes, and package.json has an 18.")


def test_a_question_can_be_a_correction() -> None:
    assert answered("isn't it 20 since the last release?", "You're right, my mistake: it is 20.")
    assert not answered("isn't 20 newer?", "Yes, 20 is newer. This project asks for 18.")


def test_output_that_is_pasted_after_it_was_called_done_is_the_complaint() -> None:
    paste = "$ npm test\nFAIL src/a.test.ts\nError: expected 3, received 4"
    assert after_an_answer(paste, answer="Fixed. All tests pass now, you can run `npm test`.")


def test_what_a_hook_said_in_the_persons_name_is_none() -> None:
    assert not after_an_answer("Stop hook feedback:\n- no, this is wrong, revert it", reply="You're right, sorry.")


def stopped(text: str) -> list[Moment]:
    return corrections(
        build(
            a_prompt("upgrade it"),
            a_tool_call("Bash", {"command": "npm i x@6"}),
            a_tool_result("working"),
            an_interrupt(for_tool=True),
            a_prompt(text),
            a_reply("Understood."),
        )
    )


def test_what_is_said_after_a_stop_says_what_was_wrong() -> None:
    (event,) = stopped("not version 6, I said version 5")
    assert event.details["after"] == "stop"


def test_after_a_stop_one_may_also_ask_or_go_on() -> None:
    assert not stopped("which version would that be?")
    assert not stopped("ok go on")


def test_words_sent_while_the_agent_works_may_correct_it() -> None:
    session = build(
        a_prompt("upgrade it"),
        a_tool_call("Bash", {"command": "npm i"}),
        a_queued_prompt("no, stop, not the dev dependencies", uuid="sent"),
        a_tool_result("done"),
        a_reply("ok"),
    )
    (event,) = corrections(session)
    assert (event.uuid, event.details["after"]) == ("sent", "busy")


def test_a_slip_of_the_person_is_put_down_to_the_prompt() -> None:
    (event,) = after_an_answer("oops, my mistake, I meant the other file")
    assert event.cause is Cause.PROMPT


def test_a_huge_paste_is_looked_at_only_in_part() -> None:
    assert not after_an_answer("here is the log\n" + "    at f (a.js:1)\n" * 200_000, is_redone=False)
