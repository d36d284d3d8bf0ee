"""`reread machine`: what this machine is called, and the id that its sessions carry."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import options
from .session_source import bare_archive

if TYPE_CHECKING:
    from reread.archive import Machine

MACHINE_EXAMPLES = """\
  reread machine
  reread machine --label 'the old laptop'
  reread machine --json
  reread list --machine laptop             sessions of one machine
  reread usage machine                     what each has used"""
ABOUT = """Show the id and label of this machine. The id is random, created once and kept in the archive folder, so
renaming the host or moving the archive changes nothing. The label is for people: the host name, unless you set
another."""


def machine_parser() -> options.Parser:
    made = options.make_parser("machine", ABOUT, MACHINE_EXAMPLES, syncs=False)
    made.add_argument("--label", metavar="NAME", help="set the label to NAME")
    return made


def run_machine(arguments: list[str]) -> int:
    given = machine_parser().parse_args(arguments)
    config = options.make_config(given)
    with bare_archive(config) as archive:
        machine = archive.own_machine() if given.label is None else archive.label_machine(given.label)
        options.show_answer(given, config, lambda: _document(machine), lambda _: [f"{machine.label}  {machine.id}"])
    return 0


def _document(machine: Machine) -> dict[str, object]:
    return {"schema": "reread.machine/1", "id": machine.id, "label": machine.label}
