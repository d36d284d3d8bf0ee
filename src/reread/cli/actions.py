"""Commands with actions, such as `reread archive verify`: each with a table of which parsers and help are made."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import NamedTuple

from reread.errors import BadInput

from . import main
from .options import Options, Parser, make_parser


def _adds_nothing(_: Parser) -> None:
    """For actions without words and options of their own."""


class CommandAction(NamedTuple):
    """One thing that a command does."""

    about: str
    examples: str
    run: Callable[[Options], int | None]
    takes: Mapping[str, str] = {}
    """Its words and options (`Parser.take`)."""
    add: Callable[[Parser], None] = _adds_nothing
    """Adds those that need more than a name and a sentence."""
    syncs: bool = False


class CommandWithActions(NamedTuple):
    name: str
    about: str
    examples: str
    actions: Mapping[str, CommandAction]
    add: Callable[[Parser], None] = _adds_nothing
    """Adds what all its actions take."""
    syncs: bool = False

    def parser(self) -> Parser:
        """For help and completion; each action has a parser of its own."""
        made = make_parser(self.name, self.about, self.examples, syncs=self.syncs)
        listed = made.add_subparsers(title="actions", metavar="ACTION")
        for name, action in self.actions.items():
            listed.add_parser(name, help=action.about)
        return made

    def parser_of(self, name: str) -> Parser:
        action = self.actions[name]
        about = f"{action.about[0].upper()}{action.about[1:]}."
        made = make_parser(f"{self.name} {name}", about, action.examples, syncs=action.syncs)
        self.add(made)
        made.take(action.takes)
        action.add(made)
        return made

    def run(self, arguments: list[str]) -> int | None:
        """Runs the action that is named before or among the options, or shows help."""
        arguments = main.word_first(arguments)
        values = {*main.WITH_VALUE, main.STORE}
        words = (word for option, word in pairwise(["", *arguments]) if not (word.startswith("-") or option in values))
        name = next(words, None)
        if name is not None and name in self.actions:
            arguments.remove(name)
            return self.actions[name].run(self.parser_of(name).parse_args(arguments))
        if name == "help":
            arguments.remove("help")
            return self.run([*arguments, "--help"])
        if "-h" not in arguments and "--help" not in arguments:
            unknown = f"there is no action {name!r}; choose from" if name is not None else "name an action:"
            raise BadInput(f"{unknown} {', '.join(self.actions)}; see `reread {self.name} --help`")
        self.parser().show_help(is_short="--help" not in arguments)
        return None
