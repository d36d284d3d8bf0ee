"""Whether suggestions are worth pasting: `make eval` prints the share of them that a reader would take.

Every draft that the recorded sessions of one repository, or the demonstration, lead to was judged by hand: is it true,
is it useful, was it known already, would it do harm. The labels name drafts by a digest and quote nothing.
"""

from __future__ import annotations

import csv
import sys
import tempfile
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import reread
from prompts import CORPUS, LABELS, MORE
from reread.archive import Archive
from reread.features.friction.suggestions import MOST, Suggestion

JUDGED = LABELS / "suggestions.tsv"
SAMPLES = Path(reread.__file__).parent / "samples"


class Draft(NamedTuple):
    owner: str
    suggestion: Suggestion

    @property
    def key(self) -> str:
        named = f"{self.owner}\n{self.suggestion.place}\n{self.suggestion.draft}"
        return sha256(named.encode()).hexdigest()[:12]


def drafts() -> Iterator[Draft]:
    """What the person at each repository would be shown."""
    owners: dict[str, list[Path]] = {}
    for part in (CORPUS / "recorded", CORPUS / "labelled", MORE / "sessions"):
        for folder in sorted(part.iterdir()) if part.is_dir() else ():
            owners.setdefault(folder.name, []).append(folder)
    for owner, folders in [("demonstration", [SAMPLES]), *owners.items()]:
        with tempfile.TemporaryDirectory(prefix="reread-eval-") as home, Archive(Path(home), folders) as archive:
            archive.sync()
            yield from (Draft(owner, each) for each in archive.friction.retro().suggestions[:MOST])


def report(*, is_shown: bool) -> None:
    with JUDGED.open(encoding="utf-8") as lines:
        judged = {row["draft"]: row for row in csv.DictReader(lines, delimiter="\t")}
    found = list(drafts())
    known = [judged[each.key] for each in found if each.key in judged]
    false, harmful = (sum(row[what] == said for row in known) for what, said in (("true", "no"), ("harmful", "yes")))
    taken = sum(row["true"] == "yes" and row["useful"] == "yes" and row["known"] == "no" for row in known)
    print(f"suggestions: {len(found)} drafts of {len({each.owner for each in found})} archives, {len(known)} judged")
    share = taken / max(1, len(known))
    print(f"  {taken} of {len(known)} a reader would take ({share:.2f}), {false} false, {harmful} harmful")
    for each in found if is_shown else ():
        print(
            f"\n{each.key} {each.owner} {each.suggestion.title}\n{each.suggestion.draft}\n({each.suggestion.checked})"
        )


if __name__ == "__main__":
    report(is_shown="--show" in sys.argv)
