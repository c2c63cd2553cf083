"""``deniable train --task rewrite``: an auto-encoder of texts, without noise or with that of a rewriting method."""

import dataclasses
import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from deniable.cli.corpus import Corpus, fingerprint_of, halves
from deniable.cli.options import unknown_name
from deniable.cli.runs import StepLines, check_model_outputs, memory_told, resumable, take_up, write_model
from deniable.cli.tables import PIPE
from deniable.errors import InputError

if TYPE_CHECKING:
    from deniable.rewrite.model import Rewriter
    from deniable.rewrite.training import Options

MODEL = "autoencoder"
METHODS = ("adept", "adept-l1", "adept-true", "adept-gaussian", "dptext-fixed")
"""Those that add noise to a vector which training can follow."""


@dataclasses.dataclass(frozen=True)
class Stage:
    """What a run goes on from, and the method whose noise it is trained with (ADePT's second stage).

    Attributes:
        start: file of the model; None to begin anew.
        method: one of `METHODS`; None for no noise.
        epsilon: of the method.
        delta: of the method.

    Raises:
        InputError: a method without a model or epsilon, or epsilon without a method.
    """

    start: Path | None
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
        if self.method not in METHODS:
            raise unknown_name("method", self.method, METHODS)
        if self.start is None:
            raise InputError("--method trains a model on with noise: name the model with --start.")
        if self.epsilon is None:
            raise InputError(f"The method {self.method} needs a budget: give it with --epsilon.")

    def model(self) -> "Rewriter | None":
        """Return the model to go on from."""
        from deniable.rewrite.model import load_rewriter  # noqa: PLC0415 - keeps --help fast

        return None if self.start is None else load_rewriter(self.start)

    def noise(self, model: "Rewriter | None") -> dict[str, Any] | None:
        """Return the method, its parameters, and law and scale of the noise as the decoder sees it.

        Raises:
            InputError: a parameter outside its domain.
        """
        from deniable.rewrite.methods import METHODS as MADE  # noqa: PLC0415
        from deniable.rewrite.methods import VectorMethod, check_options  # noqa: PLC0415

        if self.method is None or model is None:
            return None
        made = MADE[self.method](model, epsilon=self.epsilon, **check_options(self.method, delta=self.delta))
        if not isinstance(made, VectorMethod):
            raise unknown_name("method", self.method, METHODS)
        given = {"epsilon": self.epsilon, **({} if self.delta is None else {"delta": self.delta})}
        law, scale = made.noise
        return {"method": self.method, **given, "law": law, "scale": scale}


def train_rewrite(
    model: str | None,
    corpus: Corpus,
    output: Path,
    given: dict[str, Any],
    stage: Stage,
    *,
    quick: bool,
    limit: int | None,
    every: int,
    seed: int | None,
    force: bool,
) -> None:
    """Train an auto-encoder of texts, and write it with its card.

    Args:
        model: `MODEL`, or None.
        corpus: texts to learn from, and to test on.
        output: where the model goes.
        given: of `deniable.rewrite.training.Options`.
        stage: a model to go on from, and the noise of a method.
        quick: a small network and a short run.
        limit: most tokens of a text; None for the default, or that of the model to go on from.
        every: steps between checkpoints.
        seed: public; None for a fresh key.
        force: overwrite what exists.
    """
    from deniable.learning.commitment import commit  # noqa: PLC0415 - keeps --help fast
    from deniable.learning.loop import Checkpoint  # noqa: PLC0415
    from deniable.rewrite.card import card, text  # noqa: PLC0415
    from deniable.rewrite.model import LIMIT, LONGEST, fit_rewriter, packed, reconstruction  # noqa: PLC0415

    if model not in {None, MODEL}:
        raise unknown_name("model", str(model), [MODEL])
    if limit is not None and not 1 <= limit <= LONGEST:
        raise InputError(f"--limit must be from 1 to {LONGEST:,}. Got {limit}.")
    if PIPE in {str(corpus.data), str(corpus.test)}:
        raise InputError("An interrupted run reads its tables again, which a pipe cannot do: give the path of a file.")
    check_model_outputs(output, corpus.data, corpus.test, stage.start, force=force)
    start = stage.model()
    noise = stage.noise(start)
    options = _options(given, noise, start, quick=quick, limit=limit)
    limit = start.limit if start is not None else limit or LIMIT
    texts, tested = corpus.texts(limit), corpus.tested(limit)
    learned, held_out = halves(texts, corpus)
    for line in corpus.remarks:
        typer.echo(line, err=True)
    fingerprint = fingerprint_of(texts, tested or [])
    parameters = {
        "task": "rewrite",
        "data": fingerprint,
        "limit": limit,
        "start": None if stage.start is None else hashlib.blake2b(stage.start.read_bytes(), digest_size=16).hexdigest(),
        "seed": seed,
        **dataclasses.asdict(options),
    }
    checkpoint = Checkpoint(Path(f"{output}.checkpoint"), parameters, every)
    take_up(checkpoint, force=force)
    with memory_told(), resumable(checkpoint):
        found = fit_rewriter(
            learned,
            held_out,
            options,
            limit=limit,
            seed=seed,
            checkpoint=checkpoint,
            progress=StepLines(),
            start=start,
        )
        figures = reconstruction(found, held_out if tested is None else tested)
        owner = commit(fingerprint)
        about = card(found, owner["commitment"], figures, None if tested is None else len(tested), noise)
        write_model(output, packed(found), about, text(about), owner, force=force)
    checkpoint.remove()
    typer.echo(text(about), err=True)
    typer.echo(f"exact match {figures['exact match'].value:.3f}, BLEU-4 {figures['bleu'].value:.1f}")


def _options(
    given: dict[str, Any], noise: dict[str, Any] | None, start: "Rewriter | None", *, quick: bool, limit: int | None
) -> "Options":
    """Return the options of the run.

    Raises:
        InputError: a value outside its domain, or one that the model to go on from has decided.
    """
    from deniable.rewrite.model import sizes_of  # noqa: PLC0415
    from deniable.rewrite.training import Options  # noqa: PLC0415

    if start is not None:
        for name, value in (("latent", given.get("latent")), ("limit", limit)):
            if value is not None:
                raise InputError(f"--{name} is that of the model to go on from: leave it out.")
        given = {**given, **sizes_of(start)}
    if noise is not None:
        given = {**given, "noise": (noise["law"], noise["scale"])}
    return Options.quick(**given) if quick else Options(**given)
