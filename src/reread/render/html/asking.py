"""What the client asks a person, for a page: may a tool run, which answer do they choose, is a plan good."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from markupsafe import Markup

from reread.live.events import Permission

from ..asking import in_words, questions_of, reasons
from ..calls import point_of, tool_label
from ..text import one_line
from .calls import LONGEST_POINT, LONGEST_PROSE, arguments_of, proposed_diffs
from .parts import Diff, Part
from .words import words

LONGEST_INPUT = 30_000
"""Characters of an input that may be edited: it comes back in a form."""
MOST_QUESTIONS, MOST_OPTIONS, MOST_SUGGESTIONS = 20, 50, 10


class Choice(NamedTuple):
    label: str
    about: str


class Query(NamedTuple):
    """One question of AskUserQuestion."""

    text: str
    header: str
    choices: list[Choice]
    is_several: bool


class Asking(NamedTuple):
    request: str
    kind: str
    """permission, question or plan."""
    tool: str
    point: str
    is_agent: bool
    reasons: list[str]
    diffs: list[Diff]
    parts: list[Part]
    always: list[str]
    """What the client suggests to remember, in words and in its order."""
    queries: list[Query]
    plan: Markup
    input: str
    """As JSON, to be edited; empty where it is too long for that."""


def asking_of(asked: Permission, project: str | None) -> Asking:
    queries = [_query(each) for each in questions_of(asked)[:MOST_QUESTIONS]] if asked.is_question else []
    plan = _plan(asked) if asked.is_plan else Markup("")
    kind = "question" if queries else "plan" if asked.is_plan else "permission"
    diffs = proposed_diffs(asked.tool, asked.input, project)
    edited = json.dumps(asked.input, ensure_ascii=False, indent=2)
    return Asking(
        request=asked.request_id,
        kind=kind,
        tool=tool_label(asked.tool)[:80],
        point=one_line(point_of(asked.tool, asked.input, project)[: LONGEST_POINT * 4])[:LONGEST_POINT],
        is_agent=asked.agent is not None,
        reasons=[one_line(why)[:500] for why in reasons(asked, project) if not _is_said(why, asked)],
        diffs=diffs,
        parts=arguments_of(asked.tool, asked.input, has_diff=bool(diffs)) if kind == "permission" else [],
        always=[one_line(in_words(each))[:300] for each in asked.suggestions[:MOST_SUGGESTIONS]],
        queries=queries,
        plan=plan,
        input=edited if len(edited) <= LONGEST_INPUT and isinstance(asked.input, dict) else "",
    )


def _is_said(why: str, asked: Permission) -> bool:
    """Whether the tool or its input, which stand there, say the same: descriptions often repeat them."""
    return why == asked.tool or (isinstance(asked.input, dict) and why in asked.input.values())


def _plan(asked: Permission) -> Markup:
    plan = asked.input.get("plan") if isinstance(asked.input, dict) else None
    return words(plan[:LONGEST_PROSE]) if isinstance(plan, str) else Markup("")


def _query(asked: Mapping[str, Any]) -> Query:
    offered = asked.get("options")
    return Query(
        text=str(asked.get("question") or ""),
        header=one_line(str(asked.get("header") or "")),
        choices=[_choice(each) for each in offered[:MOST_OPTIONS]] if isinstance(offered, list) else [],
        is_several=asked.get("multiSelect") is True,
    )


def _choice(offered: Any) -> Choice:
    if not isinstance(offered, dict):
        return Choice(str(offered), "")
    return Choice(str(offered.get("label") or ""), str(offered.get("description") or ""))
