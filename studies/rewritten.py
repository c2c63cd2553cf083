"""What rewriting leaves of texts, who finds them again, and how far apart an encoder puts them. Needs torch."""

import dataclasses
import functools
import math
import secrets
from collections.abc import Sequence
from typing import Any

import numpy as np

from deniable.core.arrays import FloatArray, IntArray
from deniable.learning.artifact import serialize_model
from deniable.learning.loop import Checkpoint
from deniable.measure.classifiers import TfIdfClassifier
from deniable.measure.intervals import estimate_share
from deniable.measure.labels import ClassCodes
from deniable.published.adept.mechanism import ADePT
from deniable.registry import list_methods_with, rewriting_method
from deniable.rewriting.audits import AuditView, audit_pair, encode_clipped_vectors, measure_text_distances
from deniable.rewriting.card import compute_bleu
from deniable.rewriting.methods import RewritingMethod, VectorMethod
from deniable.rewriting.model import Rewriter, fit_rewriter, load_rewriter
from deniable.rewriting.options import RewriterOptions
from deniable.rewriting.ranking import evaluate_success, get_norm_order, rank_true_candidates
from deniable.rewriting.tokens import truncate_text
from deniable.text.tokens import split_tokens
from deniable.vectors import L2Ball
from studies.flights import FILES, read_intents, read_rows
from studies.rows import Row, row_of, rows_of
from studies.runner import Context
from studies.text_guesses import (
    drop_indistinguishable_texts,
    find_nearest_candidates,
    fit_inverter,
    measure_guesses,
    propose_texts,
)
from studies.text_search import search_nearest_texts

FIRST = {"named": 1, "among ten": 10}
"""How many texts an attacker names for each success."""
_AUDIT_CONFIDENCE = 0.999
"""As in the zoo."""
_PAIRS = 2_000
"""Pairs of texts behind a median distance."""
_TEXTS_PER_BATCH = 2_000
"""Texts rewritten at a time."""


@dataclasses.dataclass(frozen=True, eq=False)
class Part:
    """One file of the corpus.

    Attributes:
        texts: k of them.
        intents: (k,) numbers of their classes; one that no training text has is -1.
    """

    texts: list[str]
    intents: ClassCodes


@dataclasses.dataclass(frozen=True, eq=False)
class Bench:
    """What all cells share.

    Attributes:
        context: of the run; its sizes are `studies.adept_atis.Sizes`.
        train: what auto-encoders and classifiers learn from.
        dev: texts held out in training.
        test: what both are measured on.
    """

    context: Context
    train: Part
    dev: Part
    test: Part

    @property
    def sizes(self) -> Any:  # noqa: ANN401 - of the study
        """Those of the run."""
        return self.context.sizes

    @property
    def model(self) -> Rewriter:
        """The auto-encoder that rewrites."""
        return self.load_encoder(self.sizes.dimensions)

    @functools.cached_property
    def candidates(self) -> list[str]:
        """All K texts of the corpus that the auto-encoder reads as distinct ones."""
        everything = [*self.train.texts, *self.dev.texts, *self.test.texts]
        return drop_indistinguishable_texts(everything, self.model.vocabulary)

    @functools.cached_property
    def proposals(self) -> tuple[list[str], list[str]]:
        """Test texts that an attacker's corpus lacks, and all texts that the attacker considers.

        The attacker has the corpus but for the test texts, and a language model of it (Habernal 2021, Appendix C).
        """
        model, count = self.model, self.sizes.proposals
        known = drop_indistinguishable_texts([*self.train.texts, *self.dev.texts], model.vocabulary)
        truths = drop_indistinguishable_texts([*known, *self.test.texts], model.vocabulary)[len(known) :]
        seed = self.context.derive_seed("proposals")
        return truths, [*known, *propose_texts(known, model.vocabulary, count, max_tokens=model.limit, seed=seed)]

    def load_encoder(self, n: int) -> Rewriter:
        """Return the auto-encoder of a dimension, trained once in a run."""
        return self.context.share(f"encoder {n}", lambda: self._train_encoder(n))

    def _train_encoder(self, n: int) -> Rewriter:
        """Train, or resume from what an interrupted run has kept: the model, or a checkpoint of its training."""
        sizes, is_main = self.sizes, n == self.sizes.dimensions
        options = RewriterOptions(
            latent=n,
            hidden=sizes.hidden,
            embedding=sizes.embedding,
            epochs=sizes.epochs if is_main else sizes.short,
            spliced=sizes.spliced if is_main else 0,
        )
        path, unfinished = (self.context.scratch(f"encoder-{n}.{ending}") for ending in ("model", "checkpoint"))
        if path is None or unfinished is None:
            return self.fit(options, self.context.derive_seed("train", n))
        if path.is_file():
            return load_rewriter(path)
        checkpoint = Checkpoint(unfinished, sizes.interval)
        model = self.fit(options, self.context.derive_seed("train", n), checkpoint=checkpoint)
        part = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
        part.write_bytes(serialize_model(model))
        part.replace(path)
        checkpoint.remove()
        return model

    def fit(self, options: RewriterOptions, seed: int, **further: Any) -> Rewriter:  # noqa: ANN401 - as it takes them
        """Return an auto-encoder trained on the distinct training texts."""
        return fit_rewriter(list(dict.fromkeys(self.train.texts)), self.dev.texts, options, seed=seed, **further)

    def build_method(self, name: str, epsilon: float, *parts: object, model: Rewriter | None = None) -> RewritingMethod:
        """Return a method with noise from a seed of its own, by which the study can be run again."""
        model = model or self.model
        options: dict[str, Any] = {"delta": self.sizes.delta} if name in list_methods_with("delta") else {}
        if name in list_methods_with("max_draws"):
            options["max_draws"] = min(self.sizes.draws, model.limit)
        seed = self.context.derive_seed("noise", name, epsilon, *parts)
        return rewriting_method(name, model, epsilon=epsilon, seed=seed, **options)

    def build_vectors(self, name: str, epsilon: float, *parts: object, model: Rewriter | None = None) -> VectorMethod:
        """Return a method that releases vectors."""
        method = self.build_method(name, epsilon, *parts, model=model)
        if not isinstance(method, VectorMethod):
            raise TypeError(name)
        return method


def read_corpus(context: Context) -> Bench:
    """Return ATIS in the parts of its files, some training and test texts drawn at random where sizes say so."""
    sizes, rows = context.sizes, {name: read_rows(context, name) for name in FILES}
    for name, split, count in ((FILES[0], "train", sizes.train), (FILES[2], "test", sizes.test)):
        order = np.random.default_rng(context.derive_seed("rows", split)).permutation(len(rows[name]))
        rows[name] = [rows[name][row] for row in np.sort(order[:count]).tolist()]
    number_of = {intent: number for number, intent in enumerate(sorted({intent for _, intent in rows[FILES[0]]}))}
    parts = (
        Part([text for text, _ in own], np.array([number_of.get(intent, -1) for _, intent in own], dtype=np.int64))
        for own in rows.values()
    )
    return Bench(context, *parts)


def encode_texts(model: Rewriter, texts: Sequence[str]) -> FloatArray:
    """Return the vectors (k, n) of texts, clipped to the model's ball; of long texts those of their first tokens."""
    return L2Ball(model.radius).clip(model.encode([truncate_text(text, model.limit) for text in texts]))


def describe_corpus(bench: Bench, original: str, silent: str, frequent: str) -> list[Row]:
    """Return what there is before any noise: of the originals, and of texts that went through the auto-encoder."""
    model, test = bench.model, bench.test
    through = [model.decode(encode_texts(model, part.texts)) for part in (bench.train, test)]
    hits = int((test.intents == np.bincount(bench.train.intents).argmax()).sum())
    return [
        name_intents(bench, original, None, bench.train.texts),
        *measure_utility(bench, silent, None, *through),
        row_of(frequent, None, "intents named", estimate_share(hits, len(test.texts))),
        *rows_of(original, None, candidates=len(bench.candidates), vocabulary=len(model.vocabulary)),
        *count_words(original, list(read_intents(bench.context))),
    ]


def count_words(curve: str, texts: Sequence[str]) -> list[Row]:
    """Return number, lengths and different words of all texts of the corpus, by white space.

    Apostrophes apart, what follows one is a word of its own, the apostrophe included.
    """
    words = [text.split() for text in texts]
    lengths = [len(own) for own in words]
    apart = {word for text in texts for word in text.replace("'", " '").split()}
    return [
        *rows_of(curve, None, utterances=len(texts), shortest=min(lengths), longest=max(lengths)),
        Row(curve, None, "words", len({word for own in words for word in own})),
        Row(curve, None, "words, apostrophes apart", len(apart)),
    ]


def name_intents(bench: Bench, curve: str, x: float | None, rewritten: Sequence[str]) -> Row:
    """Return how often a classifier that learned from rewritten training texts names intents of original test texts."""
    truth, classes = bench.test.intents, int(bench.train.intents.max()) + 1
    classifier = TfIdfClassifier().fit(rewritten, bench.train.intents, classes)
    # An intent that no training text has, -1, is never guessed.
    right = int((classifier.probabilities(bench.test.texts).argmax(axis=1) == truth).sum())
    return row_of(curve, x, "intents named", estimate_share(right, len(truth)))


def measure_utility(bench: Bench, curve: str, x: float | None, train: Sequence[str], test: Sequence[str]) -> list[Row]:
    """Return what is left of training and test texts as rewritten."""
    wanted, given = [split_tokens(text) for text in bench.test.texts], [split_tokens(text) for text in test]
    return [
        name_intents(bench, curve, x, train),
        Row(curve, x, "BLEU", compute_bleu(given, wanted)),
        row_of(curve, x, "returned", measure_guesses(bench.test.texts, test)["exact"]),
    ]


def measure_method(bench: Bench, name: str, epsilon: float) -> list[Row]:
    """Return what one method leaves of texts, and how often an attacker finds them: by vectors, and by new texts."""
    method, texts, sizes = bench.build_method(name, epsilon), bench.candidates, bench.sizes
    test, train = method.rewrite(bench.test.texts), method.rewrite(bench.train.texts)
    random, ranks = np.random.default_rng(bench.context.derive_seed("truths", name, epsilon)), {}
    if isinstance(method, VectorMethod):
        points, order = encode_clipped_vectors(method, texts), get_norm_order(method.mechanism)
        can_be_refuted = epsilon < math.log(len(texts) - 1)
        truths = random.integers(len(texts), size=sizes.releases if can_be_refuted else sizes.beyond)
        ranks["vector"] = rank_true_candidates(method.mechanism.sample(points[truths]), truths, points, order)
    truths, given = random.integers(len(texts), size=sizes.rewritten), list[str]()
    for start in range(0, len(truths), _TEXTS_PER_BATCH):
        given += method.rewrite([texts[row] for row in truths[start : start + _TEXTS_PER_BATCH].tolist()])
    points = encode_texts(bench.model, texts)
    ranks["text"] = rank_true_candidates(encode_texts(bench.model, given), truths, points, 2)
    return [*measure_utility(bench, name, epsilon, train, test), *judge_ranks(method, epsilon, ranks, len(texts))]


def judge_ranks(method: RewritingMethod, epsilon: float, ranks: dict[str, IntArray], candidates: int) -> list[Row]:
    """Return how often true texts came first, beside what the claim permits, and whether that refutes it."""
    guarantee, rows, bounds = method.guarantee, [], []
    delta = guarantee.delta
    for word, first in FIRST.items():
        for source, own in ranks.items():
            hits = int((own <= first).sum())
            success = evaluate_success(hits, len(own), candidates, epsilon=epsilon, delta=delta, first=first)
            rows.append(row_of(method.name, epsilon, f"{word} from the {source}", success.success_rate))
            bounds.append(success.epsilon_lower_bound)
        rows.append(Row(method.name, epsilon, f"{word}, permitted", success.max_success_rate))
    least = max(bounds)
    return [*rows, *rows_of(method.name, epsilon, epsilon_by_ranking=least, refuted_by_ranking=least > epsilon)]


def measure_tuned(bench: Bench, name: str, curve: str, epsilon: float) -> list[Row]:
    """Return what is left where the auto-encoder was trained on with the noise (Krishna et al. 2021, second stage)."""
    noise = bench.build_vectors(name, epsilon).training_noise
    options = RewriterOptions(epochs=bench.sizes.tuning, spliced=bench.sizes.spliced, noise=noise)
    model = bench.fit(options, bench.context.derive_seed("tune", name, epsilon), start=bench.model)
    method = bench.build_method(name, epsilon, "tuned", model=model)
    test, train = method.rewrite(bench.test.texts), method.rewrite(bench.train.texts)
    return measure_utility(bench, curve, epsilon, train, test)


def measure_distances(
    bench: Bench, name: str, curve: str = "", n: int | None = None, texts: list[str] | None = None
) -> list[Row]:
    """Return how far apart texts lie under a method, in sensitivities that its noise is calibrated to.

    Args:
        bench: with texts and encoders.
        name: of the method.
        curve: of the rows; that of the method where it is empty.
        n: of the encoder; None for that of the study.
        texts: all candidates where it is None.
    """
    method = bench.build_vectors(name, bench.sizes.audited, model=bench.load_encoder(n) if n else None)
    points = encode_clipped_vectors(method, texts or bench.candidates)
    distances = measure_text_distances(method.mechanism, points)
    one, other = np.random.default_rng(bench.context.derive_seed("pairs")).integers(len(points), size=(2, _PAIRS))
    apart = np.linalg.norm(points[one] - points[other], ord=get_norm_order(method.mechanism), axis=1)
    return rows_of(
        curve or name,
        n,
        pairs=distances.pair_count,
        pairs_beyond=distances.violation_share,
        median_distance=float(np.median(apart)) / distances.claimed_sensitivity,
        largest_distance=distances.ratio,
    )


def audit_method(bench: Bench, name: str, view: AuditView) -> list[Row]:
    """Return the outcome of an audit of the two texts of the corpus that a method protects least."""
    method = bench.build_vectors(name, bench.sizes.audited, "audit", view)
    seed = bench.context.derive_seed("audit", name, view)
    return audit_farthest(bench, method, name, bench.sizes.audited, bench.candidates, view, seed)


def audit_farthest(
    bench: Bench, method: VectorMethod, curve: str, x: float, texts: list[str], view: AuditView, seed: int
) -> list[Row]:
    """Return the outcome of an audit of the two of some texts that lie farthest apart."""
    farthest = measure_text_distances(method.mechanism, encode_clipped_vectors(method, texts))
    pair = texts[farthest.first_row], texts[farthest.second_row]
    verdict = audit_pair(method, *pair, view=view, samples=bench.sizes.samples, confidence=_AUDIT_CONFIDENCE, seed=seed)
    return [
        Row(curve, x, f"epsilon at least, {view}", verdict.lower_bound),
        Row(curve, x, f"detectable, {view}", verdict.detectable_epsilon or 0.0),
        Row(curve, x, f"refuted, {view}", float(verdict.status == "refuted")),
    ]


def measure_encoder(bench: Bench, name: str, curve: str, n: int) -> list[Row]:
    """Return distances, losses and an audit of published ADePT, called ``name``, behind an encoder of a dimension."""
    model, audited = bench.load_encoder(n), bench.sizes.audited
    method = bench.build_vectors(name, audited, "grown", n, model=model)
    texts = drop_indistinguishable_texts(bench.candidates, model.vocabulary)
    # The law is that of noise without a public seed.
    exact = ADePT(epsilon=audited, radius=model.radius).exact_loss(n).lower / audited
    return [
        *rows_of(curve, n, largest_distance_of_vectors=exact, square_root=math.sqrt(n)),
        *measure_distances(bench, name, curve, n, texts),
        *audit_farthest(bench, method, curve, n, texts, "likelihood", bench.context.derive_seed("audit", "grown", n)),
    ]


def guess_blindly(bench: Bench, curve: str) -> list[Row]:
    """Return how many texts are among an attacker's guesses at all, and what a blind guess has of them."""
    (truths, guesses), words = bench.proposals, bench.model.vocabulary
    known = {tuple(words.to_ids(text)) for text in guesses}
    reached = sum(tuple(words.to_ids(text)) in known for text in truths)
    chosen = np.random.default_rng(bench.context.derive_seed("blind")).integers(len(guesses), size=len(truths))
    return [
        row_of(curve, None, "reached", estimate_share(reached, len(truths))),
        Row(curve, None, "guesses", len(guesses)),
        *compare_guesses(curve, None, "guess", truths, [guesses[row] for row in chosen.tolist()]),
    ]


def guess_texts(bench: Bench, name: str, epsilon: float) -> list[Row]:
    """Return what an attacker guesses who takes the likeliest of the proposals."""
    truths, guesses = bench.proposals
    method = bench.build_vectors(name, epsilon, "proposals")
    points, order = encode_clipped_vectors(method, guesses), get_norm_order(method.mechanism)
    named = find_nearest_candidates(method.release(truths), points, order)
    return compare_guesses(name, epsilon, "guess", truths, [guesses[row] for row in named.tolist()])


def invert_vectors(bench: Bench, name: str, epsilon: float) -> list[Row]:
    """Return what is read of test texts: by the public decoder, by one trained on releases, and by search from there.

    The search is slow, and asked for some of the texts only.
    """
    method, sizes, texts = bench.build_vectors(name, epsilon, "inversion"), bench.sizes, bench.test.texts
    seed = bench.context.derive_seed("inverter", name, epsilon)
    attacker = fit_inverter(method, bench.train.texts, epochs=sizes.inverting, seed=seed)
    released = method.release(texts)
    read, some = attacker.invert(released), slice(sizes.searched)
    return [
        *compare_guesses(name, epsilon, "public decoder", texts, method.decode(released)),
        *compare_guesses(name, epsilon, "trained decoder", texts, read),
        *compare_guesses(name, epsilon, "trained decoder, some", texts[some], read[some]),
        *compare_guesses(
            name, epsilon, "search", texts[some], search_nearest_texts(method, released[some], read[some])
        ),
    ]


def compare_guesses(
    curve: str, x: float | None, reader: str, truths: Sequence[str], guesses: Sequence[str]
) -> list[Row]:
    """Return how many texts are guessed word for word, and how many of their words."""
    found = measure_guesses(truths, guesses)
    return [
        row_of(curve, x, f"{what}, {reader}", found[key]) for what, key in (("texts", "exact"), ("words", "tokens"))
    ]
