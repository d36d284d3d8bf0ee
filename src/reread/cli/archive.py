"""`reread archive`, `machine`, `doctor`: status, verify, restore, forget and rebuild; machines; what can be read."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from reread import archive as archives
from reread import lazy, views
from reread.config import expanded
from reread.errors import BadInput, printable
from reread.views.numbers import count, left_out_document, left_out_lines, results_waiting, size
from reread.views.text import wrap

from . import options
from .actions import CommandAction, CommandWithActions
from .options import is_agreed
from .session_source import ProgressBar, find, open_archive, refuse_known_sources, unsynced_archive
from .streams import tell, tell_lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from reread import exchange
    from reread.archive import Archive, ArchiveStatus, Damaged, Generation, Machine, StoredSession, Verified
    from reread.config import Config
    from reread.views.values import Document, View
else:
    lazy.bind(globals())

ARCHIVE_EXAMPLES = """\
  reread archive status
  reread archive verify && echo every byte is there
  reread archive restore 3f2a --to ~/restored
  reread archive forget 3f2a
  reread archive forget --damaged"""
EXIT_DAMAGE = 1


def _status(args: options.Options) -> None:
    with open_archive(args) as archive:
        status = archive.safe.status()
    files, read = status.files - status.backups, status.bytes - status.backup_bytes
    rewritten = (
        f"{count(status.rewritten, 'file')} rewritten since the first import; what was there before is kept, too"
        f" ({size(status.earlier_bytes)}): `reread archive restore SESSION --generation 1 --to DIR`"
    )
    lines = [
        f"{count(status.sessions, 'session')}, {count(files, 'file')}, {size(read)} of transcripts",
        f"{count(status.backups, 'backup')} of files that were changed, {size(status.backup_bytes)}",
        f"{count(status.vanished, 'file')} whose source is gone",
        f"{size(status.stored_bytes)} in the safe, {size(status.index_bytes)} of index",
        *_set_aside_lines(status),
        *([rewritten] if status.rewritten else []),
        *left_out_lines(status.left_out),
        *_waiting_lines(status),
    ]
    home = printable(str(status.home))
    args.print_answer(lambda: _status_document(status), lambda view: [home, *_wrapped(lines, view)])


def _status_document(status: ArchiveStatus) -> Document:
    kept = "sessions files vanished bytes backups backup_bytes stored_bytes index_bytes set_aside_bytes"
    return {
        "schema": "reread.status/1",
        "home": str(status.home),
        **views.values.picked(status, kept),
        "left_out": left_out_document(status.left_out),
        **views.values.picked(status, "results_waiting friction_waiting rewritten earlier_bytes"),
    }


def _wrapped(lines: Iterable[str], view: View) -> list[str]:
    return [part for line in lines for part in wrap(line, view.width)]


def _set_aside_lines(status: ArchiveStatus) -> list[str]:
    if not status.set_aside_bytes:
        return []
    return [f"{size(status.set_aside_bytes)} in indexes that rebuilds put aside (reread.db.damaged-*): yours to delete"]


def _waiting_lines(status: ArchiveStatus) -> list[str]:
    """What quick syncs left to do."""
    friction = f"friction of {count(status.friction_waiting, 'session')} is still to be found"
    lines = [results_waiting(status.results_waiting)] if status.results_waiting else []
    lines += [friction] if status.friction_waiting else []
    return [f"{each}; `reread sync` does that now" for each in lines]


def _verify(args: options.Options) -> int:
    with unsynced_archive(args.config) as archive, closing(ProgressBar()) as progress:
        proof = archive.safe.verify(deep=args.deep, report=progress)
    names = (
        "ok files bytes stored_bytes damaged responses_recounted=recounted rows_mended=mended pieces_adopted=adopted"
    )
    more = "bytes_unnamed=unnamed_bytes results_waiting pieces_left_out=left_out"
    document = {
        "schema": "reread.verify/1",
        **views.values.picked(proof, names),
        "pieces_unnamed": len(proof.unnamed),
        **views.values.picked(proof, more),
    }
    args.print_answer(lambda: document, lambda view: _proof_lines(proof, view))
    return 0 if proof.ok else EXIT_DAMAGE


def _proof_lines(proof: Verified, view: View) -> list[str]:
    sums = f"{count(proof.files, 'file')}, {size(proof.bytes)} in {size(proof.stored_bytes)}"
    recounted = f"every byte is intact, {count(proof.recounted, 'response')} counted again"
    verdict = recounted if proof.ok else f"{count(len(proof.damaged), 'damage')}:"
    head = _wrapped([f"{sums}: {verdict}"], view)
    named = f"{count(proof.adopted, 'piece')} of the safe that no row named {_are(proof.adopted)} in the index now"
    unnamed = f"{count(len(proof.unnamed), 'piece')} of the safe ({size(proof.unnamed_bytes)})"
    lines = [
        f"{count(proof.mended, 'row')} led again to bytes that lay elsewhere in the safe" if proof.mended else "",
        named if proof.adopted else "",
        f"{unnamed} {_are(len(proof.unnamed))} named by no row" if proof.unnamed else "",
        *proof.left_out,
        results_waiting(proof.results_waiting) if proof.results_waiting else "",
    ]
    damaged = [f"  {printable(damage)}" for damage in proof.damaged]
    return [*head, *damaged, *_wrapped([*filter(None, lines), *_advice(proof)], view)]


def _advice(proof: Verified) -> list[str]:
    if proof.ok:
        return []
    if all(damage.startswith(("index: ", "database: ")) for damage in proof.damaged):
        return ["run `reread archive rebuild` to rebuild the index from the stored bytes"]
    return [
        "run `reread archive rebuild` to leave it out; the next sync imports again what still has its source, "
        "and `reread archive forget --damaged` removes the rest"
    ]


def _are(number: int) -> str:
    return "is" if number == 1 else "are"


def _restore_options(made: options.Parser) -> None:
    made.word("SESSION", "an id or the start of one, @last, @2")
    made.option("--to DIR", "folder to write to", required=True)
    made.flag("--force", "overwrite existing files")
    made.option(
        "--generation N",
        "as the files were before they were rewritten: 1 is the first that was imported",
        type=options.positive,
    )


def _restore(args: options.Options) -> int:
    to = expanded(args.to)
    with open_archive(args) as archive:
        stored = find(archive, args.session)
        kept = archive.safe.generations(stored.name)
        _check_generation(kept, args.generation)
        _check_target(archive, stored, to, args.config, is_forced=args.force)
        done = archive.safe.restore(stored.name, to, args.generation)
    document = {
        "schema": "reread.restore/1",
        "session": stored.row.uuid,
        "files": [str(path) for path in done.files],
        **views.values.picked(done, "bytes damaged"),
        "generations": views.values.each_picked(kept, "path generation bytes is_last"),
    }
    when = "last imported" if args.generation is None else f"in generation {args.generation}"
    but = f", but for {count(len(done.damaged), 'damage')}:" if done.damaged else ""
    lines = [
        *(printable(str(path)) for path in done.files),
        f"{count(len(done.files), 'file')}, {size(done.bytes)}, as they were {when}{but}",
        *(f"  {damage}" for damage in done.damaged),
        *(_earlier_lines(kept) if args.generation is None else ()),
    ]
    args.print_answer(lambda: document, lambda _: lines)
    return EXIT_DAMAGE if done.damaged else 0


def _check_generation(kept: Sequence[Generation], generation: int | None) -> None:
    last = max((each.generation for each in kept), default=1)
    if generation is not None and generation > last:
        there = f"generations 1 to {last} of its files" if last > 1 else "one generation of its files"
        raise BadInput(f"--generation {generation}: the archive has only {there}")


def _earlier_lines(kept: Sequence[Generation]) -> list[str]:
    """The contents of the same session before its files were rewritten."""
    earlier = [
        f"  --generation {each.generation}  {printable(each.path.name)}, {size(each.bytes)}"
        for each in kept
        if not each.is_last
    ]
    return ["kept, too, from before they were rewritten:", *earlier] if earlier else []


def _check_target(archive: Archive, stored: StoredSession, to: Path, config: Config, *, is_forced: bool) -> None:
    """Refuses a target below a source, even through a link, and one that would overwrite something."""
    targets = archive.safe.restore_targets(stored, to)
    for target in targets:
        refuse_known_sources(target, archive, config)
    there = [target for target in targets if os.path.lexists(target)]
    if there and not is_forced:
        more = f" and {len(there) - 1} more" if len(there) > 1 else ""
        raise BadInput(f"{there[0]}{more}: there already; pass --force to overwrite")
    for target in there:
        target.unlink()


def _forget(args: options.Options) -> None:
    if [args.session is not None, args.damaged, args.machine is not None].count(True) != 1:
        raise BadInput("name the SESSION to forget or a --machine, or pass --damaged to remove what cannot be read")
    if args.machine is not None:
        _forget_machine(args)
    elif args.damaged:
        _forget_damaged(args)
    else:
        _forget_session(args)


def _forget_session(args: options.Options) -> None:
    with unsynced_archive(args.config) as archive:
        stored = archive.inner.find_one(args.session)
        warning = _what_is_removed(stored, len(archive.safe.restore_targets(stored, Path())) - len(stored.files))
        if not args.yes and not is_agreed(
            f"{warning}Remove it from the archive for good?", "forgetting cannot be undone, and"
        ):
            tell_lines("nothing was removed")
            return
        # By its full id: `@last` may mean another session by the time the person has answered.
        done = archive.safe.forget(stored.name)
    document = {"schema": "reread.forget/1", "session": stored.row.uuid, "files": done.files, "bytes": done.bytes}
    gone = f"forgot {printable(stored.row.uuid)}: {count(done.files, 'file')}, {size(done.bytes)}"
    args.print_answer(lambda: document, lambda _: [gone])
    for sentence in _still_elsewhere(args.config.home, stored.row.uuid):
        tell(sentence)


def _still_elsewhere(home: Path, session: str) -> Iterator[str]:
    """Where this machine may have sent a session, and how to remove it there."""
    folder = exchange.last_folder(home)
    if folder is not None:
        later = "the next `reread push` there removes it, and other machines ask before they do"
        yield f"if it was pushed to {folder}, {later}"
    for store in exchange.known_stores(home):
        yield f"if it was pushed to {store}, it is still there: `reread team forget {session}` removes it"


def _forget_damaged(args: options.Options) -> None:
    with unsynced_archive(args.config) as archive:
        found = archive.safe.damaged()
        there_is_some = bool(found.pieces or found.files)
        if there_is_some and not args.yes:
            question = "\n".join([*_damage_lines(found), "Remove what is left of it from the safe for good?"])
            if not is_agreed(question, "forgetting cannot be undone, and"):
                tell_lines("nothing was removed")
                return
        done = archive.safe.forget_damaged() if there_is_some else found
    document = {
        "schema": "reread.forget_damaged/1",
        **views.values.picked(done, "pieces stored_bytes"),
        "files": views.values.each_picked(done.files, "path bytes present=is_there"),
    }
    gone = f"forgot {count(len(done.pieces), 'damaged piece')}, {size(done.stored_bytes)}"
    lines = [gone, *_damage_lines(done)] if there_is_some else ["every byte is intact: nothing to forget"]
    args.print_answer(lambda: document, lambda _: lines)


def _forget_machine(args: options.Options) -> None:
    with unsynced_archive(args.config) as archive, closing(ProgressBar()) as progress:
        found, sessions, total = archive.safe.sessions_of(args.machine)
        name = printable(found.label)
        what = f"{name}: {count(sessions, 'session')}, {size(total)}"
        warning = f"{what}. They stay on {name}; a pull takes none of them again.\n"
        question = f"{warning}Remove all of it from the archive for good?"
        if not args.yes and not is_agreed(question, "forgetting cannot be undone, and"):
            tell_lines("nothing was removed")
            return
        archive.safe.forget_machine(found.id, progress)
    document = {"schema": "reread.forget_machine/1", "machine": found.id, "label": found.label, "sessions": sessions}
    args.print_answer(lambda: {**document, "bytes": total}, lambda _: [f"forgot all of {what}"])


def _damage_lines(found: Damaged) -> list[str]:
    fates = {
        True: "its source still exists: the next sync imports it again",
        False: "lost; a line stands in their place",
    }
    files = [f"  {printable(str(each.path))}: {size(each.bytes)}, {fates[each.is_there]}" for each in found.files]
    return [*(f"  {printable(piece)}" for piece in found.pieces), *files]


def _what_is_removed(stored: StoredSession, backups: int) -> str:
    row = stored.row
    files = f"{count(len(stored.files), 'file')}, {size(row.bytes)}"
    if backups:
        files += f", {count(backups, 'backup')} of files it changed"
    fate = "Its source is gone: this is the only copy."
    if all(name.endswith(".wire") for name in stored.files):
        fate = "It was captured and has no source: this is the only copy."
    elif stored.present:
        fate = "Its source still exists and stays; later syncs pass it by."
    if any(stored.mark):
        fate += " What you noted on it goes with its last copy."
    title = views.text.shorten(row.title or "", 60)
    return f"{printable(row.uuid)}: {title}\n{count(row.prompts, 'prompt')}, {files}. {fate}\n"


def _rebuild(args: options.Options) -> None:
    with unsynced_archive(args.config) as archive, closing(ProgressBar()) as progress:
        sessions = archive.safe.rebuild(progress)
        status = archive.safe.status()
    document = {"schema": "reread.rebuild/1", "sessions": sessions, "set_aside_bytes": status.set_aside_bytes}
    lines = [f"{count(sessions, 'session')} rebuilt", *_set_aside_lines(status)]
    args.print_answer(lambda: document, lambda _: lines)


_FORGET_EXAMPLES = """\
  reread archive forget 3f2a
  reread archive forget 3f2a --yes
  reread archive forget --damaged
  reread archive forget --machine laptop"""
_VERIFY_EXAMPLES = "  reread archive verify --json\n  reread archive verify --deep"
_RESTORE_EXAMPLES = "  reread archive restore 3f2a --to ~/restored"
_ACTIONS = {
    "status": CommandAction(
        "show what is kept, what exists nowhere else, and its size",
        "  reread archive status --json",
        _status,
        syncs=True,
    ),
    "verify": CommandAction(
        "check every byte and every sum; exit with 1 on damage",
        _VERIFY_EXAMPLES,
        _verify,
        {"--deep": "recount every response from the kept bytes, not only a sample"},
    ),
    "restore": CommandAction(
        "write a session's files, byte for byte, to a folder",
        _RESTORE_EXAMPLES,
        _restore,
        add=_restore_options,
        syncs=True,
    ),
    "forget": CommandAction(
        "remove a session, a machine, or what is damaged, for good; asks first",
        _FORGET_EXAMPLES,
        _forget,
        {
            "[SESSION]": "an id or the start of one, @last, @2",
            "--damaged": "remove what `archive verify` reports as damaged",
            "--machine NAME": "throw out all that was pulled from another machine",
            "--yes": "do not ask",
        },
    ),
    "rebuild": CommandAction("rebuild the index from the kept bytes", "  reread archive rebuild", _rebuild),
}
ACTIONS = CommandWithActions(
    "archive", "Inspect and maintain the archive that sessions are kept in.", ARCHIVE_EXAMPLES, _ACTIONS, syncs=True
)
archive_parser, run_archive = ACTIONS.parser, ACTIONS.run


MACHINE_EXAMPLES = """\
  reread machine
  reread machine --label 'the old laptop'
  reread machine --json
  reread list --machine laptop             sessions of one machine
  reread usage machine                     what each has used"""
MACHINE_ABOUT = """\
Show the id and label of this machine. The id is random, created once and kept in the archive folder, so
renaming the host or moving the archive changes nothing. The label is for people: the host name, unless you set
another."""


def machine_parser() -> options.Parser:
    made = options.make_parser("machine", MACHINE_ABOUT, MACHINE_EXAMPLES, syncs=False)
    made.option("--label NAME", "set the label to NAME")
    return made


def run_machine(args: options.Options) -> None:
    with unsynced_archive(args.config) as archive:
        machine = archive.inner.own_machine() if args.label is None else archive.inner.label_machine(args.label)
        code = exchange.own_code(archive.home)
        lines = [f"{machine.label}  {machine.id}", *([f"signs what it pushes with the key {code}"] if code else [])]
        args.print_answer(lambda: _document(machine, code), lambda _: lines)


def _document(machine: Machine, code: str | None) -> dict[str, object]:
    known = {} if code is None else {"key": code}
    return {"schema": "reread.machine/1", "id": machine.id, "label": machine.label, **known}


DOCTOR_EXAMPLES = """\
  reread doctor
  reread doctor --strict && echo all readable
  reread doctor --fields                     which fields records have, and how often
  reread doctor --source ~/backup --json"""


def doctor_parser() -> options.Parser:
    about = "Read every line of every source and report versions, unknown record types, damage and deletions."
    made = options.make_parser("doctor", about, DOCTOR_EXAMPLES, syncs=False)
    made.flag("--strict", "exit with 1 if anything could not be read")
    made.flag("--fields", "count every field by record type")
    return made


def run_doctor(args: options.Options) -> int:
    tree = options.open_tree(args.config)
    kept, forgotten, waiting = _kept(args.config, [files.id for files in tree.sessions])
    with closing(ProgressBar()) as progress:
        tell = archives.Progress.in_phase(progress, "reading")
        health = archives.health.examine(tree, args.config.now, tell, kept, forgotten)
    health.results_waiting = waiting

    def lines(view: View) -> Iterator[str]:
        yield from views.reports.health_lines(health, view)
        if args.fields:
            yield from views.reports.field_lines(health.drift, view)

    args.print_answer(lambda: views.session_json.health_document(health, with_fields=args.fields), lines)
    return EXIT_DAMAGE if args.strict and health.is_damaged else 0


def _kept(config: Config, sessions: list[str]) -> tuple[dict[str, int] | None, set[str], int]:
    """The archive's counts, which of these sessions it must not import, and how many have tool results that are not yet
    indexed. The doctor never creates an archive."""
    with archives.Archive(config.home) as archive:
        if not archive.exists:
            return None, set(), 0
        return archive.inner.kept_bytes(), archive.inner.forgotten_among(sessions), archive.text.count_waiting()
