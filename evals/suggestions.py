"""Whether suggestions are worth pasting: `make eval` prints the share of them that a reader would take.

Every draft that the recorded sessions of one repository, or the demonstration, lead to was judged by hand: is it true,
is it useful, was it known already, would it do harm; each by at least two readers. The second had not seen what the
first said of the recorded ones; the third had seen no verdict, only the drafts and the transcripts. The fourth and the
fifth are two readings by one hand: of the drafts as they are shown, then of the transcripts. The labels name drafts by
a digest and quote nothing.
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


def drafts() -> Iterator[tuple[str, list[Draft]]]:
    """What the person at each repository would be shown, by repository."""
    owners: dict[str, list[Path]] = {}
    for part in (CORPUS / "recorded", CORPUS / "labelled", MORE / "sessions"):
        for folder in sorted(part.iterdir()) if part.is_dir() else ():
            owners.setdefault(folder.name, []).append(folder)
    for owner, folders in [("demonstration", [SAMPLES]), *owners.items()]:
        with tempfile.TemporaryDirectory(prefix="reread-eval-") as home, Archive(Path(home), folders) as archive:
            archive.sync()
            yield owner, [Draft(owner, each) for each in archive.friction.retro().suggestions[:MOST]]


def report(*, is_shown: bool) -> None:
    judged: dict[str, dict[str, dict[str, str]]] = {}
    with JUDGED.open(encoding="utf-8") as lines:
        for row in csv.DictReader(lines, delimiter="\t"):
            judged.setdefault(row["reader"], {})[row["draft"]] = row
    by_owner = dict(drafts())
    found = [each for made in by_owner.values() for each in made]
    print(f"suggestions: {len(found)} drafts, of {sum(map(bool, by_owner.values()))} of {len(by_owner)} archives")
    taken: dict[str, set[str]] = {}
    for reader, verdicts in judged.items():
        known = [verdicts[each.key] for each in found if each.key in verdicts]
        taken[reader] = {row["draft"] for row in known if [row[of] for of in _ASKED] == ["yes", "yes", "no"]}
        false, harmful = (
            sum(row[what] == said for row in known) for what, said in (("true", "no"), ("harmful", "yes"))
        )
        share = len(taken[reader]) / max(1, len(known))
        print(
            f"  {reader} reader: {len(taken[reader])} of {len(known)} worth pasting ({share:.2f}), {false} false,"
            f" {harmful} harmful"
        )
    asked = {each.key: [reader for reader in judged if each.key in judged[reader]] for each in found}
    by_all = sum(len(said) > 1 and all(key in taken[reader] for reader in said) for key, said in asked.items())
    print(f"  all readers of a draft: {by_all} of {len(found)} worth pasting ({by_all / max(1, len(found)):.2f})")
    for owner, drafted in sorted(by_owner.items()):
        taken_by = (
            f"{sum(each.key in taken[reader] for reader in asked[each.key])}/{len(asked[each.key])}" for each in drafted
        )
        print(f"    {owner}: {', '.join(taken_by) or 'no draft'}")
    for each in found if is_shown else ():
        words = f"{each.key} {each.owner} {each.suggestion.title}\n{each.suggestion.draft}"
        print(f"\n{words}\n({each.suggestion.checked})")


_ASKED = ("true", "useful", "known")


if __name__ == "__main__":
    report(is_shown="--show" in sys.argv)
