"""Learns the weights that prompts are judged by, and tells how well they do on owners they were not learned from.

    python evals/train.py            cross-validate by owner
    python evals/train.py --write    learn from everything, and write src/reread/features/friction/weights.json

A logistic regression moves the beliefs of `priors.py`: the believed score is one column of its own, hardly held back,
and every feature may depart from it as far as the labels pay for it.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from functools import reduce
from math import inf
from random import Random
from typing import NamedTuple

import numpy as np
from sklearn.ensemble import GradientBoostingClassifier  # type: ignore[import-untyped]
from sklearn.linear_model import LogisticRegression  # type: ignore[import-untyped]

import priors
from measuring import TEACH, TUNE, Score, interval, kappa
from prompts import HERE, KINDS, Labelled, recorded, second_reader, written

WEIGHTS = HERE.parent / "src" / "reread" / "features" / "friction" / "weights.json"
PRIORS = {"correction": priors.CORRECTION, "manual_step": priors.MANUAL_STEP, "re_ask": priors.RE_ASK}
WANTED_PRECISION = {"correction": 0.8, "manual_step": 0.85, "re_ask": 0.75}
"""The threshold lies where the cross-validation is still so precise."""
_STRENGTH = 0.12
"""The square of how far a weight may depart from its belief, in log-odds: a third."""
_BARELY_HELD = 5.0
_LEAST_WEIGHT = 0.03
_DRAWS = 2000
_WRITTEN_WEIGHT = 0.5
"""What we made up ourselves says less than what was recorded."""


class Learned(NamedTuple):
    weights: dict[str, float]

    def score(self, each: Labelled) -> float:
        return sum(self.weights.get(name, 0.0) for name in set(each.judged.features))


def learn(kind: str, prompts: Sequence[Labelled]) -> Learned:
    """Weights from the prompts whose kind is known."""
    known = [each for each in prompts if each.is_one[kind] is not None]
    believed = PRIORS[kind]
    names = _names(kind, known)
    place = {name: number for number, name in enumerate(names)}
    table = np.zeros((len(known), len(names) + 1))
    for row, each in enumerate(known):
        for name in set(each.judged.features):
            if name in place:
                table[row, place[name]] = 1.0
        table[row, -1] = _BARELY_HELD * sum(believed.get(name, 0.0) for name in set(each.judged.features))
    weight = [_WRITTEN_WEIGHT if each.repository == "written" else 1.0 for each in known]
    model = LogisticRegression(C=_STRENGTH, fit_intercept=False, max_iter=5000)
    model.fit(table, [each.is_one[kind] for each in known], sample_weight=weight)
    *moved, scale = model.coef_[0]
    found = {name: believed.get(name, 0.0) * scale * _BARELY_HELD for name in {*names, *believed}}
    for name, by in zip(names, moved, strict=True):
        found[name] += by
    return Learned({name: float(value) for name, value in found.items() if abs(value) >= _LEAST_WEIGHT})


def _names(kind: str, prompts: Sequence[Labelled]) -> list[str]:
    """For corrections every feature; for the rarer kinds what is believed in.

    Single words are no features: learned from so few owners, those with most weight were names of their projects.
    """
    if kind != "correction":
        return sorted(PRIORS[kind])
    return sorted({name for each in prompts for name in each.judged.features if not name.startswith("alike:")})


class Held(NamedTuple):
    """A prompt with the score of weights that never saw its owner."""

    prompt: Labelled
    score: float


class Boosted(NamedTuple):
    """Boosted trees on the same features and on the believed score: measured, and not used."""

    kind: str
    names: list[str]
    model: GradientBoostingClassifier

    def score(self, each: Labelled) -> float:
        return float(self.model.decision_function(_rows(self.kind, self.names, [each]))[0])


def boost(kind: str, prompts: Sequence[Labelled]) -> Boosted:
    known = [each for each in prompts if each.is_one[kind] is not None]
    names = sorted({name for each in known for name in each.judged.features})
    model = GradientBoostingClassifier(
        n_estimators=150, learning_rate=0.06, max_depth=2, min_samples_leaf=8, subsample=0.6, max_features=0.3,
        random_state=1,
    )  # fmt: skip
    weight = [_WRITTEN_WEIGHT if each.repository == "written" else 1.0 for each in known]
    model.fit(_rows(kind, names, known), [each.is_one[kind] for each in known], sample_weight=weight)
    return Boosted(kind, names, model)


def _rows(kind: str, names: Sequence[str], prompts: Sequence[Labelled]) -> np.ndarray:
    believed = PRIORS[kind]
    features = [set(each.judged.features) for each in prompts]
    return np.array(
        [[*(name in has for name in names), sum(believed.get(name, 0.0) for name in has)] for has in features]
    )


def held_out(
    kind: str,
    prompts: Sequence[Labelled],
    made: Sequence[Labelled],
    learner: Callable[[str, Sequence[Labelled]], Learned | Boosted] = learn,
) -> list[Held]:
    """Each owner's prompts judged by what was learned from all others."""
    found = []
    for owner in sorted({each.owner for each in prompts}):
        learned = learner(kind, [*(each for each in prompts if each.owner != owner), *made])
        found += _scored(kind, learned, [each for each in prompts if each.owner == owner])
    return [each for each in found if each.prompt.is_one[kind] is not None]


def _scored(kind: str, learned: Learned | Boosted, prompts: Sequence[Labelled]) -> list[Held]:
    return [Held(each, learned.score(each) if _may_be(kind, each) else -inf) for each in prompts]


def _may_be(kind: str, each: Labelled) -> bool:
    """As in use: an opening prompt corrects nothing, and without an earlier one nothing is asked again."""
    return bool(each.judged.after) if kind == "correction" else kind != "re_ask" or each.judged.again is not None


def threshold(kind: str, held: Sequence[Held]) -> float:
    """The lowest score down to which the judgement is as precise as wanted."""
    ordered = sorted(held, key=lambda each: -each.score)
    right, least = 0, ordered[0].score
    for number, each in enumerate(ordered, 1):
        right += bool(each.prompt.is_one[kind])
        if each.prompt.is_one[kind] and right / number >= WANTED_PRECISION[kind] and each.score > -inf:
            least = each.score
    return least


def by_owner(kind: str, held: Sequence[Held], more: Sequence[Held]) -> dict[str, Score]:
    """What is found of each owner's prompts; the threshold, too, is set by those of the others."""
    found = {}
    for owner in sorted({each.prompt.owner for each in held}):
        least = threshold(kind, [*(each for each in held if each.prompt.owner != owner), *more])
        own = [each for each in held if each.prompt.owner == owner]
        pairs = Counter((each.score >= least, bool(each.prompt.is_one[kind])) for each in own)
        found[owner] = Score(pairs[True, True], pairs[True, False], pairs[False, True])
    return found


def _added(scores: Iterable[Score]) -> Score:
    return reduce(Score.plus, scores, Score())


def _spread(scores: Sequence[Score], of: Callable[[Score], float]) -> tuple[float, float]:
    """The interval of 95 % that other owners would give: theirs are drawn anew, since prompts of one are alike."""
    draw = Random(1)  # noqa: S311  no secret
    drawn = sorted(of(_added(draw.choices(scores, k=len(scores)))) for _ in range(_DRAWS))
    return drawn[_DRAWS // 40], drawn[-_DRAWS // 40]


def report() -> dict[str, float]:
    """Prints how each kind does on owners that were not learned from; returns the thresholds."""
    prompts, made = recorded(), [*written(TUNE), *written(TEACH)]
    others_labels = second_reader()
    owners = len({each.owner for each in prompts})
    print(
        f"by owner: {len(prompts)} prompts of {owners} owners, each judged by weights and a threshold from the others"
    )
    print("and from the sessions written to teach; intervals of 95 % by owner")
    thresholds = {}
    for kind in KINDS:
        held = held_out(kind, prompts, made)
        # Those that were asked again are too few among the recordings to set a threshold by.
        more = _scored(kind, learn(kind, prompts), made) if kind == "re_ask" else []
        thresholds[kind] = threshold(kind, [*held, *more])
        found = by_owner(kind, held, more)
        _print(kind, "all owners", list(found.values()))
        _print_recalls(kind, ("weighted sum", held), ("boosted trees", held_out(kind, prompts, made, boost)))
        _print_if_judged(kind, held, thresholds[kind])
        for owner, score in sorted(found.items(), key=lambda each: -each[1].right - each[1].missed):
            if score.right + score.missed > 1:
                _print("", owner, [score])
        _print_agreement([(each.is_one[kind], each.as_read_by(others_labels).is_one[kind]) for each in prompts])
    return thresholds


def _print(kind: str, who: str, scores: Sequence[Score]) -> None:
    score = _added(scores)
    precision, recall = (_spread(scores, of) for of in (lambda each: each.precision, lambda each: each.recall))
    if len(scores) == 1:
        precision = interval(score.right, score.right + score.false)
        recall = interval(score.right, score.right + score.missed)
    print(
        f"  {kind:12} {who:22} precision {score.precision:.2f} ({precision[0]:.2f} to {precision[1]:.2f})"
        f"  recall {score.recall:.2f} ({recall[0]:.2f} to {recall[1]:.2f})"
        f"  {score.right:3} right {score.false:3} false {score.missed:3} missed"
    )


def _print_recalls(kind: str, *ways: tuple[str, Sequence[Held]]) -> None:
    """The recall of each way at the same precisions, from the whole order of prompts."""
    for way, held in ways:
        told = "  ".join(f"{_recall_at(least, kind, held):.2f} at {least:.2f}" for least in _PRECISIONS)
        print(f"  {'':12} {way:22} recall {told}")


_PRECISIONS = (0.85, 0.8, 0.75, 0.7, 0.6)


def _recall_at(least: float, kind: str, held: Sequence[Held]) -> float:
    ordered = sorted((each for each in held if each.score > -inf), key=lambda each: -each.score)
    hits = [bool(each.prompt.is_one[kind]) for each in ordered]
    right = [sum(hits[:number]) for number in range(1, len(hits) + 1)]
    found = [count for number, count in enumerate(right, 1) if count / number >= least]
    return max(found, default=0) / max(1, sum(bool(each.prompt.is_one[kind]) for each in held))


def _print_if_judged(kind: str, held: Sequence[Held], least: float) -> None:
    """What a judge who is right nine times in ten would make of the doubtful quarter, and of the doubtful among what is
    found, which is what `retro --doubtful` asks about. This is arithmetic: no real judge was measured."""
    ordered = sorted((each for each in held if each.score > -inf), key=lambda each: abs(each.score - least))
    quarter = ordered[: len(held) // 4]
    for what, asked in (("quarter", quarter), ("found", [each for each in quarter if each.score >= least])):
        names = {id(each) for each in asked}
        right = false = missed = 0.0
        for each in held:
            is_one = bool(each.prompt.is_one[kind])
            taken = (0.9 if is_one else 0.1) if id(each) in names else float(each.score >= least)
            right, false, missed = right + taken * is_one, false + taken * (not is_one), missed + (1 - taken) * is_one
        print(
            f"  {'':12} {'doubtful ' + what:22} precision {right / (right + false):.2f}  recall"
            f" {right / (right + missed):.2f}  if a judge were right on nine in ten of {len(asked)}; none was measured"
        )


def _print_agreement(said: Sequence[tuple[bool | None, bool | None]]) -> None:
    """How far two readers agree where both were sure."""
    pairs = Counter((bool(one), bool(other)) for one, other in said if one is not None and other is not None)
    print(
        f"  {'':12} {'both readers':22} kappa {kappa(pairs.elements()):.2f}  {pairs[True, True]} by both,"
        f" {pairs[True, False]} by the first alone, {pairs[False, True]} by the second alone, of {pairs.total()}"
    )


def write(thresholds: dict[str, float]) -> None:
    prompts = [*recorded(), *written(TUNE), *written(TEACH)]
    document: dict[str, object] = {"trained": datetime.now(UTC).date().isoformat()}
    for kind in KINDS:
        weights = learn(kind, prompts).weights
        ordered = {name: round(weights[name], 3) for name in sorted(weights)}
        document[kind] = {"threshold": round(thresholds[kind], 3), "weights": ordered}
    WEIGHTS.write_text(json.dumps(document, ensure_ascii=False, indent=1) + "\n", "utf-8")
    print(f"wrote {WEIGHTS.name}, {WEIGHTS.stat().st_size / 1000:.1f} kB")


if __name__ == "__main__":
    found = report()
    if sys.argv[1:] == ["--write"]:
        write(found)
