"""Private classifiers and synthetic tables: central differential privacy of records, and of persons."""

import contextlib
import dataclasses
import functools
import types
from collections.abc import Iterator
from typing import Any, get_args
from unittest import mock

import numpy as np
from randomgen import AESCounter

import deniable as dn
from deniable.persons import linear_training, ngram_counts, noisy_sums, release
from deniable.persons.budget import ADJACENCIES, NOISE_STEPS, Budget
from deniable.persons.collection import Collection, PublicKnowledge
from deniable.persons.features import build_feature_map
from deniable.persons.histograms import CLASS_MEASUREMENT, COUNT_MEASUREMENT, LENGTH_MEASUREMENT, name_column
from deniable.persons.linear_training import CLASSIFIER_MEASUREMENT
from deniable.persons.options import CandidateRequest, ClassifierOptions, GeneratorName, SynthesisOptions
from deniable.persons.planning import COUNTS_MEASUREMENT, plan_budget
from deniable.persons.release import Release
from deniable.persons.style import STYLE_MEASUREMENT
from tests.slow_audits.cases import ABSENT, MeasuredSum, Run, Tape, TrainerAudit

Record = tuple[str, int]
"""A text and its class; -1 for none."""
Person = tuple[Record, ...]
"""All records of one person."""
EPSILON, DELTA = 8.0, 1e-5
CLASSES = ("bad", "good")
PUBLIC_TEXTS = ["good film", "bad film", "good plot", "bad plot", "the film", "the plot", "fine film"]
WORDS = PublicKnowledge(build_feature_map(PUBLIC_TEXTS))
PUBLIC = PublicKnowledge(WORDS.feature_map, PUBLIC_TEXTS, np.array([1, 0, 1, 0, -1, -1, 1], dtype=np.int64))


class SpellingModel:
    """What is measured with a language model needs of it: each word is one of 63 tokens, by its letters."""

    card = types.SimpleNamespace(vocabulary=64)
    end_tokens, end_token = frozenset({0}), 0

    @staticmethod
    def encode(texts: list[str]) -> list[list[int]]:
        """Return the tokens of texts."""
        return [[1 + sum(map(ord, word)) % 63 for word in text.split()] for text in texts]


LONG_TEXT = " ".join(f"word{number}" for number in range(34))
"""It has 99 phrases of one to three words, and a unit counts 100."""


@contextlib.contextmanager
def record_integer_sums(budget: Budget, noise_share: float, played: Tape | None) -> Iterator[Tape]:
    """Yield the tape of what is measured inside, wherever this package adds its noise to integer sums."""
    tape = Tape()
    names = [measurement.name for measurement in budget.measurements for _ in range(measurement.sums)]
    order = iter(sorted(names, key=_rank_measurement))
    counted: list[tuple[Any, ...]] = []
    add_noise, count_keys = noisy_sums.add_noise, ngram_counts._count_keys

    def add_and_note(sums: np.ndarray, generator: AESCounter) -> np.ndarray:
        name = next(order)
        noisy = add_noise(sums, generator)
        if noise_share != 1:
            noisy = sums + np.rint(noise_share * (noisy - sums)).astype(np.int64)
        keys = tuple(counted) if name == COUNTS_MEASUREMENT else None
        if played is not None:
            noisy = _play_sum(played.measured[len(tape.measured)], noisy, keys)
        measured = sums.ravel().copy(), noisy.ravel().copy()
        tape.measured.append(MeasuredSum(name, *measured, budget.compute_norm_bound(name), NOISE_STEPS, keys))
        return noisy

    def count_and_note(*arguments: Any) -> Any:
        tally = count_keys(*arguments)
        counted.extend(sorted(tally))
        return tally

    with contextlib.ExitStack() as stack:
        for module in (linear_training, noisy_sums, ngram_counts):
            stack.enter_context(mock.patch.object(module, "add_noise", add_and_note))
        stack.enter_context(mock.patch.object(ngram_counts, "_count_keys", count_and_note))
        yield tape
    # What the budget pays for and what was measured must be the same sums.
    if next(order, None) is not None:
        raise AssertionError(f"{len(names)} sums are paid for, and {len(tape.measured)} were measured")


def _rank_measurement(name: str) -> int:
    """Return the place of a measurement in the order in which a release makes them."""
    first = (COUNT_MEASUREMENT, CLASSIFIER_MEASUREMENT, CLASS_MEASUREMENT, LENGTH_MEASUREMENT)
    return (*first, name_column("stars"), COUNTS_MEASUREMENT, STYLE_MEASUREMENT).index(name)


def _play_sum(played: MeasuredSum, noisy: np.ndarray, keys: tuple[Any, ...] | None) -> np.ndarray:
    """Return the noisy sum of another run in the shape of this one; keys that it lacks keep their own."""
    if keys is None or played.keys is None:
        return np.asarray(played.noisy, dtype=np.int64).reshape(noisy.shape)
    values = dict(zip(played.keys, played.noisy.tolist(), strict=True))
    return np.array([values.get(key, own) for key, own in zip(keys, noisy.tolist(), strict=True)], dtype=np.int64)


def collect_private(units: list[Any], unit: str) -> Collection:
    """Return the records of units as trainers take them; a record's stars are the length of its text."""
    persons: list[Person] = [(each,) for each in units] if unit == "record" else units
    rows = [(text, label, str(owner)) for owner, person in enumerate(persons) for text, label in person]
    owners = None if unit == "record" else [owner for _, _, owner in rows]
    labels = np.array([label for _, label, _ in rows], dtype=np.int64)
    stars: list[str | None] = [str(1 + len(text) % 3) for text, _, _ in rows]
    return Collection([text for text, _, _ in rows], labels, owners, {"stars": stars})


def make_classifier_run(unit: str, declared: int | None, public: PublicKnowledge = WORDS) -> Run:
    """Return the training of a private linear classifier that begins with public texts, or with zeros."""

    def run(units: list[Any], seed: int, *, noise_share: float = 1.0, played: Tape | None = None) -> Tape:
        options = ClassifierOptions(epsilon=EPSILON, delta=DELTA, records=declared, classes=CLASSES, seed=seed)
        budget = plan_budget(options, len(public.feature_map), unit)
        with record_integer_sums(budget, noise_share, played) as tape:
            model = Release(collect_private(units, unit), options, public).measure().classifier
        tape.released = _encode_classifier(model)
        return tape

    return run


def make_synthesis_run(generator: GeneratorName, unit: str) -> Run:
    """Return what is measured for a synthetic table, which is written from this and public texts alone."""

    def run(units: list[Any], seed: int, *, noise_share: float = 1.0, played: Tape | None = None) -> Tape:
        options = make_synthesis_options(generator, seed)
        budget = plan_budget(options, len(WORDS.feature_map), unit)
        with record_integer_sums(budget, noise_share, played) as tape:
            measured = Release(collect_private(units, unit), options, WORDS).measure()
        knowledge = measured.knowledge
        shares = [knowledge.class_shares, knowledge.length_shares, *measured.column_shares.values()]
        if knowledge.style is not None:
            shares += [knowledge.style.token_shares, knowledge.style.opening_shares]
        tape.released = _encode_classifier(measured.classifier) + b"".join(values.tobytes() for values in shares)
        if measured.counts is not None:
            tape.shown = _list_shown(tape, measured.counts)
        return tape

    return run


def make_synthesis_options(generator: GeneratorName, seed: int | None = None) -> SynthesisOptions:
    """Return the options of a small table."""
    propose = propose_texts if generator == "candidates" else None
    model = SpellingModel() if generator == "language-model" else None
    return SynthesisOptions(
        epsilon=EPSILON,
        delta=DELTA,
        classes=CLASSES,
        seed=seed,
        rows=4,
        generator=generator,
        domains={"stars": ("1", "2", "3")},
        propose=propose,
        model=model,
        prompt=None if model is None else "a review",
    )


def propose_texts(request: CandidateRequest) -> list[str]:
    """Return texts of public words."""
    return [" ".join(["film", "plot"] * (1 + length // 100)) for length in request.lengths.tolist()]


def _encode_classifier(model: dn.texts.LinearClassifier) -> bytes:
    facts = {name: value for name, value in model.facts.items() if name != "seed"}
    return model.weights.tobytes() + repr(sorted(facts.items(), key=str)).encode()


def _list_shown(tape: Tape, counts: Any) -> np.ndarray:
    """Return what is released: noisy sums, and of phrases those above the threshold alone, by public numbers."""
    released = dict(zip(zip(counts.codes.tolist(), counts.ngrams, strict=True), counts.counts.tolist(), strict=True))
    others = [one.noisy / one.noise for one in tape.measured[:-1]]
    phrases = [released.get((label, phrase), 0.0) / counts.deviation for label, phrase in _LONG_PHRASES]
    return np.concatenate([*others, phrases])


_LONG_PHRASES = [(0, key) for _, key in ngram_counts._list_keys(LONG_TEXT, 0)]

COLLECTIONS: dict[str, list[Record]] = {
    "ordinary": [("the good film", 1), ("bad plot", 0), ("a fine film", 1), ("the plot was bad", 0)],
    "empty, unknown and long": [("", 0), ("zork zork", 1), ("good " * 5_000, 1), ("bad film " * 50, 0), ("fine", -1)],
    "repeated": [("fine film", 1)] * 6 + [("fine film", 0)],
    "many phrases": [(" ".join(f"w{number}" for number in range(200)), 0), (LONG_TEXT, 0), (LONG_TEXT, 1)],
}
PERSONS: dict[str, list[Person]] = {
    "ordinary": [tuple(COLLECTIONS["ordinary"][:2]), tuple(COLLECTIONS["ordinary"][2:]), (("good", 1),)],
    "one person with very many records": [(("good film", 1),) * 3_000, (("bad film", 0),), (("bad plot", 0),) * 2],
    "odd records": [tuple(COLLECTIONS["empty, unknown and long"]), (("", -1),), (("plot", 0), ("plot", 1))],
}


def build_audit(name: str, unit: str, setting: str, run: Run, **changes: Any) -> TrainerAudit:
    """Return an audit of a unit against others that say the opposite of the same text."""
    audit = TrainerAudit(
        name,
        setting,
        dn.Guarantee(EPSILON, "the claim under audit", "claimed", delta=DELTA, unit=unit, adjacency=ADJACENCIES[unit]),
        run,
        units=[("good film", 1)] * 7 if unit == "record" else [(("good film", 1),) * 20] * 4,
        canary=("good film", 0) if unit == "record" else (("good film", 0),) * 20,
        other=ABSENT,
        collections={**(COLLECTIONS if unit == "record" else PERSONS)},
    )
    return dataclasses.replace(audit, **changes)


def build_synthesis_audit(generator: GeneratorName) -> TrainerAudit:
    """Return the audit of a generator; those that measure the same have the same statistics."""
    build = functools.partial(
        build_audit, generator, "record", "synthetic table", make_synthesis_run(generator, "record")
    )
    if generator == "counts":
        # A phrase is released if about 45 units of its class count it.
        return build(units=[(LONG_TEXT, 1)] * 110 + [(LONG_TEXT, 0)] * 90, canary=(LONG_TEXT, 0))
    return (
        build() if generator in {"tilted", "language-model"} else build(runs=0, measured_as="tilted, synthetic table")
    )


PERSONS_AUDITS = (
    build_audit("dp-linear", "record", "records", make_classifier_run("record", 8)),
    build_audit(
        "dp-linear",
        "person",
        "persons, their number measured",
        make_classifier_run("person", None),
        run_on_collections=make_classifier_run("person", None, PUBLIC),
    ),
    *(build_synthesis_audit(generator) for generator in get_args(GeneratorName)),
)


@contextlib.contextmanager
def sum_too_much() -> Iterator[None]:
    """Let a contribution be a millionth too long."""
    sum_gradients = noisy_sums.ResidualSums.sum_gradients

    def sum_more(self: Any, weights: Any, clip: Any, bound: int) -> Any:
        return sum_gradients(self, weights, clip, bound + bound // 10**6)

    with mock.patch.object(noisy_sums.ResidualSums, "sum_gradients", sum_more):
        yield


@contextlib.contextmanager
def count_units() -> Iterator[None]:
    """Let a divisor follow the private number of units."""

    def count(declared: Any, budget: Any, units: Any, generator: Any) -> int:  # noqa: ARG001
        return len(units)

    with mock.patch.object(release, "find_nominal_count", count):
        yield
