"""``deniable train rewriter``: an auto-encoder of texts, without noise or with the noise of a rewriting method."""

import dataclasses
import functools
import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from deniable.cli.choices import TrainableMethodName
from deniable.cli.commands.train.corpus import (
    RewritingCorpus,
    describe_held_out_words,
    fingerprint_texts,
    split_held_out_texts,
)
from deniable.cli.commands.train.options import (
    BatchSizeOption,
    CheckpointOption,
    ClipOption,
    EpochsOption,
    LearningRateOption,
    ModelOutputOption,
    TestTableOption,
    TrainingForceOption,
    TrainingSeedOption,
)
from deniable.cli.labelled_tables import print_remarks
from deniable.cli.model_runs import LossSteps, ModelFiles, ModelOutput, check_torch, commit_to_data, train_and_write
from deniable.cli.options import (
    MODEL_PANEL,
    DelimiterOption,
    EncodingOption,
    FormatOption,
    QuotingOption,
    TextColumnOption,
    TrainingTableArgument,
    get_choice,
    list_choices,
    make_option,
    select_given,
)
from deniable.cli.progress import format_duration, show_passes, show_steps
from deniable.cli.tables import TableOptions
from deniable.core.errors import InputError
from deniable.core.files import PIPE

if TYPE_CHECKING:
    from deniable.learning.loop import Checkpoint
    from deniable.rewriting.model import Rewriter
    from deniable.rewriting.training import RewriterOptions

_NOISE_PANEL = "Training with noise"
_LONG_TRAINING_SECONDS = 300.0
"""Time from which on a small model is offered."""
_QUICK_SPEEDUP = 20
"""How many times as long the training of a whole model takes as that of a small one; docs/rewrite.md has the times."""

LatentOption = Annotated[
    int | None,
    make_option(
        MODEL_PANEL,
        "--latent",
        "Number of coordinates of the vector that represents a text.",
        default_text="64, or 32 with --quick",
    ),
]
MaximumTokensOption = Annotated[
    int | None,
    make_option(
        MODEL_PANEL, "--max-tokens", "Maximum number of tokens of a text; longer texts are cut.", default_text="64"
    ),
]
QuickOption = Annotated[
    bool,
    make_option(
        MODEL_PANEL, "--quick", "Small network and short run, for a first try, in about a twentieth of the time."
    ),
]
FineTuneOption = Annotated[
    Path | None, make_option(_NOISE_PANEL, "--fine-tune", "Model file to continue from.", metavar="MODEL")
]
MethodOption = Annotated[
    TrainableMethodName | None,
    make_option(
        _NOISE_PANEL,
        "--method",
        (
            f"Rewriting method whose noise is added during training: {list_choices(TrainableMethodName)}. It "
            "needs --fine-tune."
        ),
        metavar="METHOD",
    ),
]
MethodEpsilonOption = Annotated[float | None, make_option(_NOISE_PANEL, "--method-epsilon", "Epsilon of --method.")]
MethodDeltaOption = Annotated[
    float | None, make_option(_NOISE_PANEL, "--method-delta", "Delta of --method, for adept-gaussian.")
]


@dataclasses.dataclass(frozen=True)
class FineTuning:
    """The model that training continues from, and the method whose noise it adds (the second stage of ADePT).

    Attributes:
        base_path: file of the model; None to begin with a new one.
        method: a `TrainableMethodName`; None for no noise.
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
        if self.method is None:
            if self.epsilon is not None or self.delta is not None:
                raise InputError(
                    "--method-epsilon and --method-delta are those of --method: name one, for example adept-gaussian."
                )
            return
        if self.base_path is None:
            raise InputError("--method adds noise to the training of a model: name the model with --fine-tune.")
        if self.epsilon is None:
            raise InputError(f"The method {self.method} needs an epsilon: give it with --method-epsilon.")

    @property
    def base_fingerprint(self) -> str | None:
        """BLAKE2b of the file of the model; None without one."""
        if self.base_path is None:
            return None
        return hashlib.blake2b(self.base_path.read_bytes(), digest_size=16).hexdigest()

    def load_base_model(self) -> "Rewriter | None":
        """Return the model to continue from."""
        from deniable.rewriting.model import load_rewriter

        return None if self.base_path is None else load_rewriter(self.base_path)

    def describe_noise(self, base_model: "Rewriter | None") -> dict[str, Any] | None:
        """Return the method, its parameters, and law and scale of the noise as the decoder sees it.

        Raises:
            InputError: a parameter outside its domain.
        """
        from deniable.registry.methods import REWRITING_METHODS, check_method_options
        from deniable.rewriting.methods.base import VectorMethod

        if self.method is None or base_model is None:
            return None
        method_options = check_method_options(self.method, delta=self.delta)
        rewriting_method = REWRITING_METHODS[self.method](base_model, epsilon=self.epsilon, **method_options)
        if not isinstance(rewriting_method, VectorMethod):
            raise InputError(f"The method {self.method} adds no noise to a vector: choose another.")
        law, scale = rewriting_method.training_noise
        return {"method": self.method, "epsilon": self.epsilon, **method_options, "law": law, "scale": scale}


@dataclasses.dataclass(frozen=True)
class _RewriterRun:
    """What a trained rewriter is a function of, beside the checkpoint.

    Attributes:
        training_texts: to learn from.
        held_out_texts: they say when to stop.
        test_texts: to test on; None for the held-out texts.
        options: of the training.
        maximum_tokens: of a text.
        base_model: the model to continue from, or None.
        noise: that is added, see `FineTuning.describe_noise`.
        fingerprint: of all texts.
        seed: public; None for a fresh key.
        is_quick: whether the model is the small one.
    """

    training_texts: list[str]
    held_out_texts: list[str]
    test_texts: list[str] | None
    options: "RewriterOptions"
    maximum_tokens: int
    base_model: "Rewriter | None"
    noise: dict[str, Any] | None
    fingerprint: str
    seed: int | None
    is_quick: bool


def run_train_rewriter(
    source: TrainingTableArgument,
    *,
    latent: LatentOption = None,
    maximum_tokens: MaximumTokensOption = None,
    quick: QuickOption = False,
    column: TextColumnOption = "text",
    test: TestTableOption = None,
    epochs: EpochsOption = None,
    batch_size: BatchSizeOption = None,
    learning_rate: LearningRateOption = None,
    clip: ClipOption = None,
    fine_tune: FineTuneOption = None,
    method: MethodOption = None,
    method_epsilon: MethodEpsilonOption = None,
    method_delta: MethodDeltaOption = None,
    format_: FormatOption = None,
    delimiter: DelimiterOption = None,
    quoting: QuotingOption = None,
    encoding: EncodingOption = "utf-8",
    output: ModelOutputOption,
    force: TrainingForceOption = False,
    checkpoint_every: CheckpointOption = 20,
    seed: TrainingSeedOption = None,
) -> None:
    """Train an auto-encoder that rewrites texts, and write it with its model card. Train on public texts only.

    With --fine-tune and --method, training continues with the noise of a rewriting method. Run the same command again
    to resume an interrupted run. Requires the train extra of deniable.
    """
    check_torch()
    from deniable.rewriting.model import DEFAULT_TOKEN_LIMIT, MAX_TOKEN_LIMIT

    fine_tuning = FineTuning(fine_tune, get_choice(method), method_epsilon, method_delta)
    if maximum_tokens is not None and not 1 <= maximum_tokens <= MAX_TOKEN_LIMIT:
        raise InputError(f"--max-tokens must be from 1 to {MAX_TOKEN_LIMIT:,}. Got {maximum_tokens}.")
    if PIPE in {str(source), str(test)}:
        raise InputError("An interrupted run reads its tables again, which a pipe cannot do: give the path of a file.")
    model_output = ModelOutput(output, force, checkpoint_every)
    model_output.check(source, test, fine_tune)
    base_model = fine_tuning.load_base_model()
    noise = fine_tuning.describe_noise(base_model)
    given_options: dict[str, float | None] = {"latent": latent, "epochs": epochs, "batch_size": batch_size}
    given_options |= {"learning_rate": learning_rate, "clip": clip}
    options = _build_options(select_given(given_options), noise, base_model, quick=quick, maximum_tokens=maximum_tokens)
    token_limit = maximum_tokens or DEFAULT_TOKEN_LIMIT if base_model is None else base_model.limit
    corpus = RewritingCorpus(source, test, column, TableOptions(format_, delimiter, encoding, quoting))
    texts, test_texts = corpus.read_training_texts(token_limit), corpus.read_test_texts(token_limit)
    training_texts, held_out_texts = split_held_out_texts(texts, corpus)
    print_remarks([*corpus.remarks, *describe_held_out_words(corpus, training_texts, held_out_texts, base_model)])
    fingerprint = fingerprint_texts(texts, test_texts or [])
    run = _RewriterRun(
        training_texts, held_out_texts, test_texts, options, token_limit, base_model, noise, fingerprint, seed, quick
    )
    train_and_write(
        model_output,
        _describe_run(run, fine_tuning),
        functools.partial(_fit_model, run),
        functools.partial(_describe_model, run),
    )


def _build_options(
    given_options: dict[str, Any],
    noise: dict[str, Any] | None,
    base_model: "Rewriter | None",
    *,
    quick: bool,
    maximum_tokens: int | None,
) -> "RewriterOptions":
    """Return the options of the run.

    Raises:
        InputError: a value outside its domain, or one that the model to continue from has decided.
    """
    from deniable.rewriting.model import get_shape_options
    from deniable.rewriting.training import RewriterOptions

    if base_model is not None:
        for name, value in (("--latent", given_options.get("latent")), ("--max-tokens", maximum_tokens)):
            if value is not None:
                raise InputError(f"{name} is that of the model given with --fine-tune: leave it out.")
        given_options = {**given_options, **get_shape_options(base_model)}
    if noise is not None:
        given_options = {**given_options, "noise": (noise["law"], noise["scale"])}
    return RewriterOptions.quick(**given_options) if quick else RewriterOptions(**given_options)


def _describe_run(run: _RewriterRun, fine_tuning: FineTuning) -> dict[str, Any]:
    """Return what a checkpoint must agree with."""
    return {
        "task": "rewrite",
        "data": run.fingerprint,
        "limit": run.maximum_tokens,
        "start": fine_tuning.base_fingerprint,
        "seed": run.seed,
        **dataclasses.asdict(run.options),
    }


def _fit_model(run: _RewriterRun, checkpoint: "Checkpoint") -> "Rewriter":
    """Train the model, or resume its training."""
    from deniable.rewriting.model import fit_rewriter

    with show_steps("training", advise=functools.partial(_advise, is_quick=run.is_quick)) as steps:
        return fit_rewriter(
            run.training_texts,
            run.held_out_texts,
            run.options,
            limit=run.maximum_tokens,
            seed=run.seed,
            checkpoint=checkpoint,
            progress=LossSteps(steps),
            start=run.base_model,
        )


def _advise(left_seconds: float, *, is_quick: bool) -> str:
    """Return how long training will take and, where that is long, what takes less."""
    announcement = (
        f"training takes about {format_duration(left_seconds)} on this machine, or less if it stops improving"
    )
    if is_quick or left_seconds < _LONG_TRAINING_SECONDS:
        return announcement
    quick_time = format_duration(left_seconds / _QUICK_SPEEDUP)
    return (
        f"{announcement}. A small model for a first try takes about {quick_time}, and returns far fewer texts word for "
        "word: stop, and run the command again with --quick --force."
    )


def _describe_model(run: _RewriterRun, model: "Rewriter") -> ModelFiles:
    """Return the files of a trained model, with what tests say of it."""
    from deniable.rewriting.card import build_rewriter_card
    from deniable.rewriting.model import measure_reconstruction

    with show_passes("testing the model"):
        figures = measure_reconstruction(model, run.held_out_texts if run.test_texts is None else run.test_texts)
    owner_record = commit_to_data(run.fingerprint)
    test_count = None if run.test_texts is None else len(run.test_texts)
    card = build_rewriter_card(model, owner_record["commitment"], figures, test_count, run.noise)
    line = f"exact match {figures['exact match'].value:.3f}, BLEU-4 {figures['bleu'].value:.1f}"
    return ModelFiles(model, card, owner_record, line)
