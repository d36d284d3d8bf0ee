"""Sessions of other projects: short ones, as most are."""

from __future__ import annotations

from reread.testing import Transcript

from .telling import Story


def site_generator() -> Transcript:
    """The oldest: Claude Code has long deleted its file."""
    story = Story(
        "6ebfd172-80a3-41c4-8f61-739ebfd05116", "/home/ann/站点", model="claude-sonnet-4-6", version="2.1.81"
    ).titled("Move the site to a new generator")
    story.ask("Move the pages in content/ to the new generator. Keep every address as it is.")
    story.use("Glob", {"pattern": "content/**/*.md"}, "content/index.md\ncontent/blog/first.md\ncontent/blog/second.md")
    story.think(
        "The old generator wrote /blog/first.html, the new one /blog/first/. A redirect per page keeps the links."
    )
    for name in ("index", "blog/first", "blog/second"):
        story.write(f"src/{name}.md", f"---\npermalink: /{name}.html\n---\n\n# {name.rpartition('/')[2].title()}\n")
    story.bash("npx eleventy --quiet", "").say("Three pages moved; `permalink` keeps their old addresses.").took(88)
    return story.told()


def shell_prompt() -> Transcript:
    story = Story(
        "7fc0e283-91b4-42d5-9072-84afc0e16217", "/home/ann/dotfiles", model="claude-haiku-5-5", version="2.1.197"
    ).titled("Branch in the shell prompt")
    story.ask("Show the git branch in my bash prompt, without slowing it down.")
    story.read(".bashrc", "alias ll='ls -l'\nPS1='\\w \\$ '\n")
    story.edit(
        ".bashrc",
        "PS1='\\w \\$ '\n",
        "branch() { git symbolic-ref --quiet --short HEAD 2>/dev/null; }\nPS1='\\w $(branch) \\$ '\n",
    )
    story.say("One call of `git symbolic-ref` per prompt: about a millisecond, and nothing outside a repository.").took(
        24
    )
    return story.told()
