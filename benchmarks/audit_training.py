"""What an audit by one run sees of a private linear classifier of film reviews, at its claim and at a quarter of it.

    python benchmarks/audit_training.py --data DIR [--canaries 1000] [--runs 3]

DIR holds ``imdb_train.parquet`` (private: text, label) and ``rotten.parquet`` (public: text). Canaries are texts of
public words that the reviews use least, with labels at random; half of them, by fair coins, join the reviews. The score
of a canary is the weight of its label, less that of the other class, along the canary's own features. Each trained
model is judged twice, as training by any noise and as training by Gaussian noise, each at 95% confidence. The last
lines are no statistics: the sums of the first step of the descent, with and without one review.
"""

import argparse
import dataclasses
import math
import time
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow.parquet as pq

from deniable.auditing.games import Claim, NoiseKind
from deniable.auditing.training.bounds import judge_scores, plan_guesses
from deniable.core.guarantees import ADDED_OR_REMOVED_RECORD, Guarantee, Verdict
from deniable.persons.budget import NOISE_STEPS
from deniable.persons.classifier import LinearClassifier
from deniable.persons.collection import RECORD, Collection, PublicKnowledge, UnitRows
from deniable.persons.features import FeatureMap, build_feature_map
from deniable.persons.linear_training import CLASSIFIER_MEASUREMENT, plan_linear_training, sum_residuals
from deniable.persons.options import ClassifierOptions
from deniable.persons.planning import plan_budget
from deniable.persons.release import Release

Array = npt.NDArray[np.float64]
CLASSES = ("negative", "positive")
DELTA = 1e-5
NOISES: tuple[NoiseKind, ...] = ("any", "gaussian")
HEADINGS = ("trained at", "claim", "noise", "right guesses", "epsilon >=", "detectable", "verdict", "seconds")


@dataclasses.dataclass(frozen=True)
class CanaryText:
    """A record that an audit adds to a training set: words with spaces between, and the number of a class."""

    text: str
    label: int


@dataclasses.dataclass(frozen=True)
class Reviews:
    """The private reviews."""

    texts: list[str]
    labels: list[int]


def main() -> None:
    """Train, judge and print one row of a markdown table for each claim and kind of noise."""
    options = parse_options()
    table = pq.read_table(options.data / "imdb_train.parquet", columns=["text", "label"]).to_pydict()
    reviews = Reviews(table["text"], table["label"])
    feature_map = build_feature_map(pq.read_table(options.data / "rotten.parquet").column("text").to_pylist())
    words = find_rare_words(reviews, feature_map, options.words * options.canaries)
    canaries = draw_canaries(words, options.canaries, len(CLASSES), words_per_canary=options.words)
    print(f"{len(reviews.texts):,} reviews, {options.canaries:,} canaries, delta {DELTA:g}, 95% confidence\n")
    print("| " + " | ".join(HEADINGS) + " |\n|" + " --- |" * len(HEADINGS))
    for epsilon, claims in ((1.0, (1.0,)), (4.0, (4.0, 1.0)), (16.0, (4.0,))):
        for _ in range(options.runs):
            start = time.perf_counter()
            included, model = train_with_canaries(reviews, canaries, feature_map, epsilon)
            scores = score_canaries(model, canaries)
            seconds = time.perf_counter() - start
            for claim in claims:
                for noise in NOISES:
                    tested, plan = Claim(state_claim(claim), noise=noise), plan_guesses(len(included), None)
                    design = f"one training run with {len(included):,} canaries"
                    verdict = judge_scores(tested, included, scores, plan, design)
                    print(format_row(epsilon, noise, verdict, seconds), flush=True)
    print(f"\n{check_step(reviews, feature_map)}")


def parse_options() -> argparse.Namespace:
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--canaries", type=int, default=1_000)
    parser.add_argument("--words", type=int, default=4, help="words of a canary (default: %(default)s)")
    parser.add_argument("--runs", type=int, default=3, help="models trained for each epsilon (default: %(default)s)")
    return parser.parse_args()


def find_rare_words(reviews: Reviews, feature_map: FeatureMap, count: int) -> list[str]:
    """Return the words of the vocabulary that the reviews use least: what else trains them hides a canary."""
    used = np.bincount(feature_map.extract_features(reviews.texts).indices, minlength=len(feature_map))
    order = np.argsort(used[1 : 1 + len(feature_map.words)], kind="stable")
    return [feature_map.words[place] for place in order[:count]]


def state_claim(epsilon: float) -> Guarantee:
    """Return the claim that is judged."""
    return Guarantee(epsilon, "the claim under audit", "claimed", delta=DELTA, adjacency=ADDED_OR_REMOVED_RECORD)


def train_with_canaries(
    reviews: Reviews, canaries: list[CanaryText], feature_map: FeatureMap, epsilon: float
) -> tuple[npt.NDArray[np.bool_], LinearClassifier]:
    """Return the coins and a model trained on the reviews and the canaries whose coin says so."""
    included = np.random.default_rng().random(len(canaries)) < 0.5  # noqa: PLR2004 - a fair coin
    added = [canary for canary, is_included in zip(canaries, included, strict=True) if is_included]
    texts = reviews.texts + [canary.text for canary in added]
    labels = np.array(reviews.labels + [canary.label for canary in added], dtype=np.int64)
    # The nominal number is declared: it must not follow the coins.
    settings = ClassifierOptions(epsilon=epsilon, delta=DELTA, records=len(reviews.texts), classes=CLASSES)
    release = Release(Collection(texts, labels), settings, PublicKnowledge(feature_map))
    return included, release.measure().classifier


def score_canaries(model: LinearClassifier, canaries: list[CanaryText]) -> Array:
    """Return the margin of each canary's label along its own features, the constant one left out."""
    features = model.feature_map.extract_features([canary.text for canary in canaries])
    features.data[features.indices == 0] = 0.0
    margins = model.score_features(features)
    labels = np.array([canary.label for canary in canaries])
    scores: Array = margins[np.arange(len(canaries)), labels]
    return scores


def draw_canaries(words: list[str], canaries: int, classes: int, *, words_per_canary: int) -> list[CanaryText]:
    """Draw texts that share no word, with labels at random, as many of each class as of the others but for one.

    A model that learned such a text has nothing else to learn its words from, and what it learned of others cancels.
    """
    random = np.random.default_rng(0)
    places = random.permutation(len(words))[: canaries * words_per_canary].reshape(canaries, words_per_canary)
    labels = random.permutation(np.arange(canaries) % classes)
    return [
        CanaryText(" ".join(words[place] for place in row), label)
        for row, label in zip(places.tolist(), labels.tolist(), strict=True)
    ]


def check_step(reviews: Reviews, feature_map: FeatureMap, epsilon: float = 4.0, neighbours: int = 25) -> str:
    """Say what one review less does to the first sum of a descent, in the integers that are summed: no statistics."""
    features = feature_map.extract_features(reviews.texts)
    options = ClassifierOptions(epsilon=epsilon, delta=DELTA, records=len(reviews.texts), classes=CLASSES)
    budget = plan_budget(options, len(feature_map), RECORD)
    plan = plan_linear_training(budget, len(reviews.texts))
    bound = budget.compute_norm_bound(CLASSIFIER_MEASUREMENT)
    labels = np.array(reviews.labels, dtype=np.int64)
    weights = np.zeros((len(feature_map), len(CLASSES) - 1))

    def compute_sum(rows: list[Any]) -> npt.NDArray[np.int64]:
        units = UnitRows(RECORD, np.array(rows, dtype=np.int64), np.arange(len(rows) + 1))
        return sum_residuals(features, labels, units, len(CLASSES)).sum_gradients(weights, plan.clip, bound).ravel()

    rows = list(range(len(reviews.texts)))
    whole = compute_sum(rows)
    dropped = np.random.default_rng().choice(len(rows), neighbours, replace=False).tolist()
    moves = [whole - compute_sum(rows[:row] + rows[row + 1 :]) for row in dropped]
    largest = max(sum(int(step) ** 2 for step in move) for move in moves)
    verdict = "more" if largest > bound**2 else "no more"
    return (
        f"Without one of {neighbours} reviews the first sum moves by at most {math.sqrt(largest) / bound:.6f} times "
        f"its bound, {verdict} than it may; its noise is {NOISE_STEPS:,} steps, its bound {bound:,}."
    )


def format_row(trained: float, noise: str, verdict: Verdict, seconds: float) -> str:
    """Return one line of the table."""
    witness = verdict.witness
    right = "none" if witness is None else f"{witness.correct_guesses} of {witness.guesses}"
    detectable = f"{verdict.detectable_epsilon:.2f}"
    cells = (f"{trained:g}", f"{verdict.claim:g}", noise, right, f"{verdict.lower_bound:.2f}", detectable)
    return f"| {' | '.join(cells)} | {verdict.status} | {seconds:.0f} |"


if __name__ == "__main__":
    main()
