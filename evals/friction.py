"""How well friction is found: `make eval` prints precision and recall of every detector on each part of the labels."""

from __future__ import annotations

import sys

from measuring import measure, parts


def main(arguments: list[str]) -> None:
    """`--misses PART` also lists what was missed and what was found wrongly there; never look at `held out` to tune."""
    shown = arguments[1] if arguments[:1] == ["--misses"] else None
    for name, labelled in parts().items():
        measured = measure(labelled)
        labels = sum(score.right + score.missed for kind, score in measured.scores.items() if " " not in kind)
        print(f"{name}: {measured.sessions} sessions, {measured.moments} moments judged, {labels} of them friction")
        for kind, score in sorted(measured.scores.items()):
            counts = f"{score.right:4} right {score.false:4} false {score.missed:4} missed"
            print(f"  {kind:18} precision {score.precision:.2f}  recall {score.recall:.2f}  {counts}")
        if shown == name:
            for miss in sorted(measured.misses):
                told = "false" if miss.is_false else "missed"
                print(f"  {told:6} {miss.label.kind} {miss.label.about} {miss.label.uuid}")


if __name__ == "__main__":
    main(sys.argv[1:])
