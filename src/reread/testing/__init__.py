"""Builders of transcripts, for testing tools that read them.

    from reread.testing import a_prompt, a_reply, a_session, a_tool_call, a_tool_result

    transcript = a_session(
        a_prompt("what is here?"),
        a_reply("let me look", a_tool_call("Bash", {"command": "ls"})),
        a_tool_result("a.txt"),
        a_reply("one file"),
    )
    transcript.build()          # a reread Session
    transcript.write(folder)    # the files a client would have left

Ids and times come from counters: the same call gives the same bytes. The product itself never imports this.
"""

from .lines import (
    Agent,
    ContentBlock,
    Entry,
    a_command,
    a_compaction,
    a_line,
    a_prompt,
    a_queued_prompt,
    a_reply,
    a_subagent,
    a_summary,
    a_system_line,
    a_task_notification,
    a_thought,
    a_title,
    a_tool_call,
    a_tool_result,
    a_usage,
    an_attachment,
    an_ending,
    an_image,
    an_interrupt,
)
from .transcript import Transcript, a_session, build

__all__ = [
    "Agent",
    "ContentBlock",
    "Entry",
    "Transcript",
    "a_command",
    "a_compaction",
    "a_line",
    "a_prompt",
    "a_queued_prompt",
    "a_reply",
    "a_session",
    "a_subagent",
    "a_summary",
    "a_system_line",
    "a_task_notification",
    "a_thought",
    "a_title",
    "a_tool_call",
    "a_tool_result",
    "a_usage",
    "an_attachment",
    "an_ending",
    "an_image",
    "an_interrupt",
    "build",
]
