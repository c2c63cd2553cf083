"""How well a rewriter returns texts when nothing is added to them, and what its card says of it."""

import collections
import math
from collections.abc import Sequence
from typing import Any

from deniable.core.report import Fact, Report, Section, make_facts
from deniable.learning.card import NO_GUARANTEE, build_card, describe_data, make_share_fact
from deniable.measure.intervals import Estimate, as_exact_estimate, estimate_clustered_share, estimate_share
from deniable.rewriting.model import Rewriter
from deniable.text.tokens import split_tokens

_MAX_ORDER = 4
"""Of the n-grams of BLEU-4."""
_NOT_PROTECTED = (
    (
        "the training texts: the vocabulary lists their words, and the decoder can repeat whole texts of them; no "
        "guarantee is claimed of them, so train on public texts"
    ),
    "a text that goes through the model alone: it comes back; only a method of deniable rewrite adds noise to it",
)
_SHAPE_OPTIONS = {"max_tokens", "latent", "radius", "noise"}
"""Options that the card gives under other names."""


def measure_reconstruction(model: Rewriter, texts: Sequence[str]) -> dict[str, Estimate]:
    """Return how well texts come back when nothing is added to their clipped vectors.

    Returns:
        ```exact match``: share of the texts whose tokens come back as they were. ``token accuracy``: share of the
        original's tokens that stand in their places. ``bleu``: BLEU-4 of the corpus, in [0, 100].

    Raises:
        InputError: no texts, or one that is too long.
    """
    originals = [split_tokens(text) for text in texts]
    reconstructed = [split_tokens(text) for text in model.decode(model.encode(texts))] if originals else []
    exact_matches = sum(result == original for result, original in zip(reconstructed, originals, strict=True))
    hits = [
        sum(a == b for a, b in zip(result, original, strict=False))
        for result, original in zip(reconstructed, originals, strict=True)
    ]
    return {
        "exact match": estimate_share(exact_matches, len(originals)),
        "token accuracy": estimate_clustered_share(hits, [len(result) for result in originals]),
        "bleu": as_exact_estimate(compute_bleu(reconstructed, originals)),
    }


def compute_bleu(hypotheses: Sequence[Sequence[str]], references: Sequence[Sequence[str]]) -> float:
    """Return BLEU-4 of a corpus, in [0, 100], with one reference for each text and without smoothing.

    The geometric mean of the modified n-gram precisions for n = 1 ... 4, each of the whole corpus, times
    exp(1 - r / c) where the hypotheses have c tokens, fewer than the r of the references (Papineni et al. 2002, section
    2.3). It is 0 where some precision is 0. An n for which no hypothesis is long enough is left out of the mean.

    Args:
        hypotheses: (k,) tokens of each text.
        references: (k,) tokens of its reference.
    """
    log_precisions = []
    for n in range(1, _MAX_ORDER + 1):
        matches, total = 0, 0
        for texts in zip(hypotheses, references, strict=True):
            given, wanted = (
                collections.Counter(zip(*(tokens[place:] for place in range(n)), strict=False)) for tokens in texts
            )
            matches += (given & wanted).total()
            total += given.total()
        if total:
            log_precisions.append(math.log(matches / total) if matches else -math.inf)
    if not log_precisions:  # all hypotheses are empty: right where all references are
        return 0.0 if any(references) else 100.0
    hypothesis_length, reference_length = sum(map(len, hypotheses)), sum(map(len, references))
    return 100 * math.exp(
        min(0.0, 1 - reference_length / hypothesis_length) + math.fsum(log_precisions) / len(log_precisions)
    )


def build_rewriter_card(
    model: Rewriter,
    commitment: str,
    figures: dict[str, Estimate],
    test_count: int | None,
    training_noise: dict[str, Any] | None,
) -> Report:
    """Return the card of a rewriter.

    Args:
        model: trained.
        commitment: to the data, see `deniable.cli.model_runs.commit_to_data`.
        figures: of `measure_reconstruction`.
        test_count: number of texts in the test table; None where the figures are of the texts held out.
        training_noise: the method whose noise was added in training, and its parameters; None for no noise.
    """
    facts, noise = model.facts, training_noise or {}
    options = {name: value for name, value in facts["options"].items() if name not in _SHAPE_OPTIONS}
    tested_texts = "the texts held out, which also decided when training stopped"
    if test_count is not None:
        tested_texts = f"{test_count:,} test texts"
    return build_card(
        "autoencoder",
        "which rewrites texts",
        model_facts=(
            Fact("coordinates", model.latent, "of the vector of a text"),
            Fact("radius", model.radius, "of the l2 ball into which vectors are clipped"),
            Fact("limit", model.limit, text=f"{model.limit:,} tokens of a text"),
            Fact("words", len(model.vocabulary), text=f"{len(model.vocabulary):,} tokens in the vocabulary"),
            Fact(
                "noise in training",
                training_noise,
                text=", ".join(
                    f"{value}" if isinstance(value, str) else f"{name} {value:.4g}" for name, value in noise.items()
                ),
            ),
            Fact("best epoch", facts["best epoch"]),
            Fact("public seed", facts["seed"]),
        ),
        sections=(
            Section("training records", NO_GUARANTEE),
            Section("options", make_facts(options)),
            describe_data(
                commitment,
                Fact("training texts", facts["records"], text=f"{facts['records']:,}"),
                Fact("texts held out", facts["held out"], text=f"{facts['held out']:,}"),
                Fact("test texts", test_count, text="none" if test_count is None else f"{test_count:,}"),
            ),
            Section(
                "reconstruction",
                (
                    Fact("texts", tested_texts, "without noise"),
                    make_share_fact("exact match", figures["exact match"]),
                    make_share_fact("token accuracy", figures["token accuracy"], "tokens in their places"),
                    Fact("bleu", figures["bleu"], "BLEU-4 of the corpus", f"{figures['bleu'].value:.1f}"),
                ),
            ),
        ),
        not_protected=_NOT_PROTECTED,
    )
