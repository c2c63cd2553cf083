"""What the card of a rewriter says: its sizes, its training noise, its data and how well it reconstructs."""

from typing import Any

from deniable.core.report import Fact, Report, Section, make_facts
from deniable.learning.card import NO_GUARANTEE, build_card, describe_data, make_share_fact
from deniable.measure.intervals import Estimate
from deniable.rewriting.model import Rewriter

_NOT_PROTECTED = (
    (
        "the training texts: the vocabulary lists their words, and the decoder can repeat whole texts of them; no "
        "guarantee is claimed of them, so train on public texts"
    ),
    "a text that goes through the model alone: it comes back; only a method of deniable rewrite adds noise to it",
)
_SHAPE_OPTIONS = {"latent", "radius", "noise"}
"""Options that the card gives under other names."""


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
        figures: of `deniable.rewriting.model.measure_reconstruction`.
        test_count: number of texts in the test table; None where the figures are of the texts held out.
        training_noise: the method whose noise was added in training, and its parameters; None for no noise.
    """
    facts = model.facts
    options = {name: value for name, value in facts["options"].items() if name not in _SHAPE_OPTIONS}
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
                text="" if training_noise is None else _format_noise(training_noise),
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
            _describe_reconstruction(figures, test_count),
        ),
        not_protected=_NOT_PROTECTED,
    )


def _describe_reconstruction(figures: dict[str, Estimate], test_count: int | None) -> Section:
    """Return how well texts come back without noise."""
    tested_texts = (
        "the texts held out, which also decided when training stopped"
        if test_count is None
        else f"{test_count:,} test texts"
    )
    return Section(
        "reconstruction",
        (
            Fact("texts", tested_texts, "without noise"),
            make_share_fact("exact match", figures["exact match"]),
            make_share_fact("token accuracy", figures["token accuracy"], "tokens in their places"),
            Fact("bleu", figures["bleu"], "BLEU-4 of the corpus", f"{figures['bleu'].value:.1f}"),
        ),
    )


def _format_noise(noise: dict[str, Any]) -> str:
    return ", ".join(f"{value}" if isinstance(value, str) else f"{name} {value:.4g}" for name, value in noise.items())
