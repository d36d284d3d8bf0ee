"""Prompts with what a person said of them: the recordings beside the project, and the sessions written for it."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import notation
import reread
from reread.features.friction.corrections import Judged, judge
from reread.features.friction.detection import ConversationUnderTest

HERE = Path(__file__).parent
LABELS = HERE / "labels"
CORPUS = HERE.parents[1] / "shared" / "corpus"
"""Recorded sessions; labels name their lines and quote nothing."""
MORE = CORPUS.parent / "labels"
"""More of them, labelled by others; what two readers did not agree on is `unsure` there."""
KINDS = ("correction", "manual_step", "re_ask")
_SAID = {"yes": True, "1": True, "no": False, "0": False}
"""Whatever else was said (`unsure`, `unclear`, `not_a_person`) counts neither way."""


class Labelled(NamedTuple):
    """A prompt with its features and what it is."""

    owner: str
    repository: str
    judged: Judged
    is_one: dict[str, bool | None]

    def as_read_by(self, other: dict[str, dict[str, bool | None]]) -> Labelled:
        """The same prompt with what another reader said of it; a prompt that one did not read counts neither way."""
        return self._replace(is_one=other.get(self.judged.record.uuid or "", dict.fromkeys(KINDS)))


def recorded() -> list[Labelled]:
    """Of the recordings, each prompt once."""
    return list(_read(_labels()))


def _labels() -> dict[Path, dict[str, dict[str, bool | None]]]:
    """By file and prompt: all lists name the same three kinds."""
    found: dict[Path, dict[str, dict[str, bool | None]]] = {}
    for root, path in ((CORPUS, CORPUS / "labels.tsv"), (CORPUS, LABELS / "prompts.tsv"), (MORE, MORE / "labels.tsv")):
        with path.open(encoding="utf-8") as lines:
            for row in csv.DictReader(lines, delimiter="\t"):
                uuid = row.get("prompt_uuid") or row["prompt"]
                found.setdefault(root / row["path"], {})[uuid] = {kind: _SAID.get(row[kind]) for kind in KINDS}
    return found


def second_reader() -> dict[str, dict[str, bool | None]]:
    """By prompt: what a reader said of the same recordings who knew neither the other labels nor what is looked for."""
    with (LABELS / "second_reader.tsv").open(encoding="utf-8") as lines:
        return {
            row["prompt"]: {kind: _SAID.get(row[kind]) for kind in KINDS}
            for row in csv.DictReader(lines, delimiter="\t")
        }


def _read(labels: dict[Path, dict[str, dict[str, bool | None]]]) -> Iterator[Labelled]:
    seen: set[str] = set()
    for path, said in labels.items():
        repository = path.relative_to(CORPUS.parent).parts[2]
        for each in judge(ConversationUnderTest(session := reread.load(path), session.id)):
            uuid = each.record.uuid
            if uuid in said and uuid not in seen:
                seen.add(uuid)
                yield Labelled(repository.partition("+")[0], repository, each, said[uuid])


def written(path: Path) -> list[Labelled]:
    """Of the sessions in our own notation; each session is an owner of its own."""
    found = []
    for script in notation.read(path):
        labels = {(label.kind, label.uuid) for label in script.labels}
        for each in judge(ConversationUnderTest(script.session, script.session.id)):
            said: dict[str, bool | None] = {kind: (kind, each.record.uuid or "") in labels for kind in KINDS}
            found.append(Labelled(script.name, "written", each, said))
    return found
