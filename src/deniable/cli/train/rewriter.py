"""``deniable train --task rewrite``: an auto-encoder of texts, without noise or with that of a rewriting method."""

import dataclasses
import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from deniable.cli.model_runs import (
    StepProgress,
    check_model_outputs,
    explain_resumption,
    resume_run,
    translate_memory_errors,
    write_model_files,
)
from deniable.cli.options import unknown_name_error
from deniable.cli.tables import PIPE
from deniable.cli.train.corpus import RewritingCorpus, fingerprint_texts, split_held_out_texts
from deniable.core.errors import InputError

if TYPE_CHECKING:
    from deniable.rewriting.model import Rewriter
    from deniable.rewriting.training import RewriterOptions

REWRITER_KIND = "autoencoder"
TRAINABLE_METHODS = ("adept", "adept-l1", "adept-true", "adept-gaussian", "dptext-fixed")
"""Those that add noise to a vector which training can follow."""


@dataclasses.dataclass(frozen=True)
class FineTuning:
    """What a run goes on from, and the method whose noise it is trained with (ADePT's second stage).

    Attributes:
        base_path: file of the model; None to begin anew.
        method: one of `TRAINABLE_METHODS`; None for no noise.
        epsilon: of the method.
        delta: of the method.

    Raises:
        InputError: a method without a model or epsilon, or epsilon without a method.
    """

    base_path: Path | None
    method: str | None
    epsilon: float | None
    delta: float | None

    def __post_init__(self) -> None:
        if self.method is None and (self.epsilon is not None or self.delta is not None):
            raise InputError(
                "--epsilon and --delta are of a method: name it with --method, for example adept-gaussian."
            )
        if self.method is None:
            return
        if self.method not in TRAINABLE_METHODS:
            raise unknown_name_error("method", self.method, TRAINABLE_METHODS)
        if self.base_path is None:
            raise InputError("--method trains a model on with noise: name the model with --start.")
        if self.epsilon is None:
            raise InputError(f"The method {self.method} needs a budget: give it with --epsilon.")

    def load_base_model(self) -> "Rewriter | None":
        """Return the model to go on from."""
        from deniable.rewriting.model import load_rewriter  # noqa: PLC0415 - keeps --help fast

        return None if self.base_path is None else load_rewriter(self.base_path)

    def describe_noise(self, base_model: "Rewriter | None") -> dict[str, Any] | None:
        """Return the method, its parameters, and law and scale of the noise as the decoder sees it.

        Raises:
            InputError: a parameter outside its domain.
        """
        from deniable.registry.methods import REWRITING_METHODS as MADE  # noqa: PLC0415
        from deniable.registry.methods import check_method_options  # noqa: PLC0415
        from deniable.rewriting.methods.base import VectorMethod  # noqa: PLC0415

        if self.method is None or base_model is None:
            return None
        rewriting_method = MADE[self.method](
            base_model, epsilon=self.epsilon, **check_method_options(self.method, delta=self.delta)
        )
        if not isinstance(rewriting_method, VectorMethod):
            raise unknown_name_error("method", self.method, TRAINABLE_METHODS)
        parameters = {"epsilon": self.epsilon, **({} if self.delta is None else {"delta": self.delta})}
        law, scale = rewriting_method.training_noise
        return {"method": self.method, **parameters, "law": law, "scale": scale}


def run_train_rewriter(
    kind: str | None,
    corpus: RewritingCorpus,
    output: Path,
    given_options: dict[str, Any],
    fine_tuning: FineTuning,
    *,
    quick: bool,
    maximum_tokens: int | None,
    checkpoint_steps: int,
    seed: int | None,
    force: bool,
) -> None:
    """Train an auto-encoder of texts, and write it with its card.

    Args:
        kind: `REWRITER_KIND`, or None.
        corpus: texts to learn from, and to test on.
        output: where the model goes.
        given_options: of `deniable.rewriting.training.RewriterOptions`.
        fine_tuning: a model to go on from, and the noise of a method.
        quick: a small network and a short run.
        maximum_tokens: most tokens of a text; None for the default, or that of the model to go on from.
        checkpoint_steps: steps between checkpoints.
        seed: public; None for a fresh key.
        force: overwrite what exists.
    """
    from deniable.learning.card import commit_to_data  # noqa: PLC0415 - keeps --help fast
    from deniable.learning.loop import Checkpoint  # noqa: PLC0415
    from deniable.rewriting.card import build_rewriter_card  # noqa: PLC0415
    from deniable.rewriting.model import (  # noqa: PLC0415
        DEFAULT_TOKEN_LIMIT,
        MAX_TOKEN_LIMIT,
        fit_rewriter,
        measure_reconstruction,
    )

    if kind not in {None, REWRITER_KIND}:
        raise unknown_name_error("model", str(kind), [REWRITER_KIND])
    if maximum_tokens is not None and not 1 <= maximum_tokens <= MAX_TOKEN_LIMIT:
        raise InputError(f"--limit must be from 1 to {MAX_TOKEN_LIMIT:,}. Got {maximum_tokens}.")
    if PIPE in {str(corpus.training_path), str(corpus.test_path)}:
        raise InputError("An interrupted run reads its tables again, which a pipe cannot do: give the path of a file.")
    check_model_outputs(output, corpus.training_path, corpus.test_path, fine_tuning.base_path, force=force)
    base_model = fine_tuning.load_base_model()
    noise = fine_tuning.describe_noise(base_model)
    options = _build_training_options(given_options, noise, base_model, quick=quick, maximum_tokens=maximum_tokens)
    maximum_tokens = base_model.limit if base_model is not None else maximum_tokens or DEFAULT_TOKEN_LIMIT
    corpus_texts, test_texts = corpus.read_training_texts(maximum_tokens), corpus.read_test_texts(maximum_tokens)
    training_texts, held_out_texts = split_held_out_texts(corpus_texts, corpus)
    for line in corpus.remarks:
        typer.echo(line, err=True)
    fingerprint = fingerprint_texts(corpus_texts, test_texts or [])
    parameters = {
        "task": "rewrite",
        "data": fingerprint,
        "limit": maximum_tokens,
        "start": None
        if fine_tuning.base_path is None
        else hashlib.blake2b(fine_tuning.base_path.read_bytes(), digest_size=16).hexdigest(),
        "seed": seed,
        **dataclasses.asdict(options),
    }
    checkpoint = Checkpoint(Path(f"{output}.checkpoint"), parameters, checkpoint_steps)
    resume_run(checkpoint, force=force)
    with translate_memory_errors(), explain_resumption(checkpoint):
        rewriter = fit_rewriter(
            training_texts,
            held_out_texts,
            options,
            limit=maximum_tokens,
            seed=seed,
            checkpoint=checkpoint,
            progress=StepProgress(),
            start=base_model,
        )
        figures = measure_reconstruction(rewriter, held_out_texts if test_texts is None else test_texts)
        owner_record = commit_to_data(fingerprint)
        model_card = build_rewriter_card(
            rewriter, owner_record["commitment"], figures, None if test_texts is None else len(test_texts), noise
        )
        write_model_files(output, rewriter, model_card, owner_record, force=force)
    checkpoint.remove()
    typer.echo(model_card.to_text(), err=True)
    typer.echo(f"exact match {figures['exact match'].value:.3f}, BLEU-4 {figures['bleu'].value:.1f}")


def _build_training_options(
    given_options: dict[str, Any],
    noise: dict[str, Any] | None,
    base_model: "Rewriter | None",
    *,
    quick: bool,
    maximum_tokens: int | None,
) -> "RewriterOptions":
    """Return the options of the run.

    Raises:
        InputError: a value outside its domain, or one that the model to go on from has decided.
    """
    from deniable.rewriting.model import get_shape_options  # noqa: PLC0415
    from deniable.rewriting.training import RewriterOptions  # noqa: PLC0415

    if base_model is not None:
        for name, value in (("latent", given_options.get("latent")), ("limit", maximum_tokens)):
            if value is not None:
                raise InputError(f"--{name} is that of the model to go on from: leave it out.")
        given_options = {**given_options, **get_shape_options(base_model)}
    if noise is not None:
        given_options = {**given_options, "noise": (noise["law"], noise["scale"])}
    return RewriterOptions.quick(**given_options) if quick else RewriterOptions(**given_options)
