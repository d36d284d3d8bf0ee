"""What a session does at this moment, in words."""

from __future__ import annotations

from reread.analyses.activity import PLAN, QUESTION, Activity, Doing

from .calls import tool_label

_WORDS = {
    Doing.THINKING: "thinking",
    Doing.WRITING: "writing",
    Doing.WAITING: "waiting for your next prompt",
    Doing.SILENT: "silent for long; it may have ended",
    Doing.ENDED: "ended",
}
_ASKED = {QUESTION: "a question", PLAN: "a plan"}


def activity_words(activity: Activity) -> str:
    """`working: Bash`, `waiting for you: permission for Bash`; with `may` where it is a guess."""
    tool = tool_label(activity.tool)[:60]
    if activity.doing is Doing.WORKING:
        return f"working: {tool}" if tool else "working in the background"
    if activity.doing is Doing.WAITING and activity.is_guess:
        return "waiting for your next prompt, or closed"
    if activity.doing is not Doing.ASKING:
        return _WORDS[activity.doing]
    what = _ASKED.get(activity.tool, f"permission for {tool}")
    if not activity.is_guess:
        return f"waiting for you: {what}"
    return f"may be waiting for you: {what if activity.tool in _ASKED else f'{tool} gave no result yet'}"
