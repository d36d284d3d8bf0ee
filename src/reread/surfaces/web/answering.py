"""A form that a person sent to the decision it stands for."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from reread.errors import BadInput
from reread.live import outgoing
from reread.live.events import Permission
from reread.live.outgoing import Allow, Decision, Deny
from reread.live.policies import NO_PLAN
from reread.render.html.calls import MOST_SUGGESTIONS
from reread.render.permissions import questions_of

LONGEST_NUMBER = 9
"""Digits."""
Form = Mapping[str, Sequence[str]]


def decision_of(asked: Permission, given: Form) -> Decision:
    """Raises BadInput where the form does not say enough, or what is no JSON."""
    decision = _one(given, "decision")
    if decision == "deny":
        return Deny(reason=_one(given, "reason").strip() or (NO_PLAN if asked.is_plan else ""))
    suggested = asked.suggestions[:MOST_SUGGESTIONS]  # the page shows no more, and nobody agrees to what is not shown
    if decision == "always":
        return Allow(remember=suggested)
    if decision.startswith("always-"):
        number = _number(decision.removeprefix("always-"))
        if number is None or number >= len(suggested):
            raise BadInput("Claude Code did not suggest that.")
        return Allow(remember=suggested[number : number + 1])
    if decision == "edit":
        return Allow(input=_edited(_one(given, "input")))
    if decision == "answer":
        return outgoing.answers(asked.input, _chosen(asked, given))
    if decision == "allow":
        return Allow()
    raise BadInput("Choose an answer.")


def _one(given: Form, name: str) -> str:
    return next(iter(given.get(name, ())), "")


def _number(text: str) -> int | None:
    return int(text) if text.isdecimal() and len(text) < LONGEST_NUMBER else None


def _edited(text: str) -> dict[str, Any]:
    try:
        edited = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"That is no JSON: {error}.") from error
    if not isinstance(edited, dict):
        raise BadInput("The input of a tool is a JSON object.")
    return edited


def _chosen(asked: Permission, given: Form) -> dict[str, str]:
    """By question: the labels that were chosen, and own words behind them."""
    chosen: dict[str, str] = {}
    for number, question in enumerate(questions_of(asked)):
        labels = [option.label for option in question.options]
        picked = dict.fromkeys(map(_number, given.get(f"q{number}", ())))
        words = [labels[each] for each in picked if each is not None and each < len(labels)]
        own = _one(given, f"q{number}-own").strip()
        if not words and not own:
            raise BadInput(f"Choose an answer to “{question.text or 'the question'}”.")
        chosen[question.text] = ", ".join([*words, *([own] if own else [])])
    return chosen
