"""``deniable train rewriter``: an auto-encoder of texts, without noise or with the noise of a rewriting method."""

import dataclasses
import functools
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deniable.cli.commandline import option
from deniable.cli.model_runs import (
    HELD_OUT_SHARE,
    LossSteps,
    ModelFiles,
    ResumableOutput,
    check_torch,
    commit_to_data,
    refuse_pipes,
    train_and_write,
)
from deniable.cli.options import TrainingTableArgument
from deniable.cli.owner_remarks import describe_source_markup, describe_unlisted_words
from deniable.cli.progress import format_duration, show_passes, show_steps
from deniable.cli.rows import Roles, describe_rows, read_table
from deniable.cli.tables import TableOptions
from deniable.cli.terminal import say
from deniable.core.errors import InputError
from deniable.rewriting.options import MAX_TOKENS, RewriterOptions

if TYPE_CHECKING:
    from deniable.learning.loop import Checkpoint
    from deniable.rewriting.model import Rewriter

_LONG_TRAINING_SECONDS = 300.0
"""Time from which on a small model is offered."""
_QUICK_SPEEDUP = 20
"""How many times as long the training of a whole model takes as that of a small one; docs/rewrite.md has the times."""
_MIN_TEXTS = 10


@dataclasses.dataclass(frozen=True, kw_only=True)
class RewriterChoice:
    """Model.

    Attributes:
        latent: number of coordinates of the vector that represents a text.
        max_tokens: maximum number of tokens of a text; longer texts are cut.
        quick: small network and short run, for a first try, in about a twentieth of the time.
        epochs: maximum number of passes over the texts.
        batch_size: number of texts in a training step.
        learning_rate: learning rate of the optimizer.
        clip: clipping norm of gradients.

    Raises:
        InputError: a value outside its domain.
    """

    latent: int | None = dataclasses.field(default=None, metadata=option(show_default="64, or 32 with --quick"))
    max_tokens: int | None = dataclasses.field(default=None, metadata=option(show_default="64"))
    quick: bool = False
    epochs: int | None = dataclasses.field(
        default=None, metadata=option(panel="Training", show_default="12, or 3 with --quick")
    )
    batch_size: int | None = dataclasses.field(
        default=None, metadata=option(panel="Training", show_default="64, or 32 with --quick")
    )
    learning_rate: float | None = dataclasses.field(
        default=None, metadata=option(panel="Training", show_default="0.003")
    )
    clip: float | None = dataclasses.field(default=None, metadata=option(panel="Training", show_default="1"))

    def __post_init__(self) -> None:
        """Refuse what no network can have before a table is read."""
        if self.max_tokens is not None and not 1 <= self.max_tokens <= MAX_TOKENS:
            raise InputError(f"--max-tokens must be from 1 to {MAX_TOKENS:,}. Got {self.max_tokens}.")
        self.build()

    def build(self, **further: Any) -> RewriterOptions:  # noqa: ANN401 - of several types
        """The options of the training, with further ones."""
        given = {name: value for name, value in dataclasses.asdict(self).items() if value is not None}
        is_quick = given.pop("quick")
        return (RewriterOptions.quick if is_quick else RewriterOptions)(**given, **further)


@dataclasses.dataclass(frozen=True, kw_only=True)
class FineTuning:
    """Training with noise.

    Attributes:
        fine_tune: model file to continue from.
        method: rewriting method whose noise is added during training, which needs --fine-tune.
        method_epsilon: epsilon of --method.
        method_delta: delta of --method, for adept-gaussian.

    Raises:
        InputError: a method without a model or epsilon, or epsilon without a method.
    """

    fine_tune: Path | None = dataclasses.field(default=None, metadata=option(metavar="MODEL"))
    method: str | None = dataclasses.field(
        default=None,
        metadata=option(
            choices=["adept", "adept-l1", "adept-true", "adept-norm", "adept-gaussian", "dptext-fixed", "dptext-norm"],
            metavar="METHOD",
        ),
    )
    method_epsilon: float | None = None
    method_delta: float | None = None

    def __post_init__(self) -> None:
        """Refuse a method of which a part is missing."""
        if self.method is None:
            if self.method_epsilon is not None or self.method_delta is not None:
                raise InputError(
                    "--method-epsilon and --method-delta are those of --method: name one, for example adept-gaussian."
                )
        elif self.fine_tune is None:
            raise InputError("--method adds noise to the training of a model: name the model with --fine-tune.")
        elif self.method_epsilon is None:
            raise InputError(f"The method {self.method} needs an epsilon: give it with --method-epsilon.")

    def describe_noise(self, start: "Rewriter") -> dict[str, Any] | None:
        """The method, its parameters, and law and scale of the noise as the decoder sees it; None for no method.

        Raises:
            InputError: a parameter outside its domain.
        """
        from deniable.registry import REWRITING_METHODS, check_method_options
        from deniable.rewriting.methods import VectorMethod

        if self.method is None:
            return None
        options = check_method_options(self.method, delta=self.method_delta)
        method = REWRITING_METHODS[self.method](start, epsilon=self.method_epsilon, **options)
        if not isinstance(method, VectorMethod):
            raise InputError(f"The method {self.method} adds no noise to a vector: choose another.")
        law, scale = method.training_noise
        return {"method": self.method, "epsilon": self.method_epsilon, **options, "law": law, "scale": scale}


@dataclasses.dataclass(frozen=True, kw_only=True)
class TextTables:
    """Data.

    Attributes:
        column: name of the column with text.
        test: table to test on.
    """

    column: str = dataclasses.field(default="text", metadata=option("--column", "-c", metavar="COLUMN"))
    test: Path | None = dataclasses.field(
        default=None, metadata=option(metavar="FILE", show_default="a tenth of INPUT")
    )

    def read(self, source: Path, table: TableOptions, max_tokens: int, remarks: list[str]) -> tuple[list[str], str]:
        """The texts of a table, and its fingerprint: rows without a text are left out, and long texts are cut.

        Args:
            source: path of the table.
            table: how it is written.
            max_tokens: of a text.
            remarks: on what was left out or cut, to which those on this table are added.

        Raises:
            InputError: the table cannot be read, or has no row with a text.
        """
        from deniable.rewriting.tokens import truncate_text
        from deniable.text.tokens import split_tokens

        rows = read_table(str(source), table, Roles(text=self.column))
        lengths = [len(split_tokens(text)) for text in rows.texts]
        empty = [place for place, length in enumerate(lengths) if not length]
        usable = rows.leave_out({f"without a text in {self.column!r}": empty})
        long = [number for number in usable.numbers if lengths[number] > max_tokens]
        cut = f"with more than {max_tokens:,} tokens, of which only the first are used"
        remarks += usable.remarks
        remarks += describe_source_markup(source, usable.texts)
        remarks += describe_rows(str(source), long, cut)
        return [truncate_text(text, max_tokens) for text in usable.texts], rows.fingerprint


def run_train_rewriter(
    source: TrainingTableArgument,
    choice: RewriterChoice,
    tables: TextTables,
    table: TableOptions,
    tuning: FineTuning,
    output: ResumableOutput,
    seed: Annotated[
        int | None,
        typer.Option("--seed", help="Seed of all random draws.", rich_help_panel="Output", show_default="random"),
    ] = None,
) -> None:
    """Train an auto-encoder that rewrites texts, and write it with its model card. Train on public texts only.

    With --fine-tune and --method, training continues with the noise of a rewriting method. Run the same command again
    to resume an interrupted run. Requires the train extra of deniable.

    Examples:
        deniable train rewriter public.csv --column text --output rewriter.model
    """
    check_torch()
    from deniable.rewriting.card import build_rewriter_card, measure_reconstruction
    from deniable.rewriting.model import fit_rewriter, load_rewriter

    refuse_pipes(source, tables.test)
    output.check(source, tables.test, tuning.fine_tune)
    start, noise, options = None, None, choice.build()
    if tuning.fine_tune is not None:
        start = load_rewriter(tuning.fine_tune)
        noise = tuning.describe_noise(start)
        for name in ("latent", "max_tokens"):
            if getattr(choice, name) is not None:
                raise InputError(
                    f"--{name.replace('_', '-')} is set by the model given with --fine-tune: leave it out."
                )
        options = choice.build(max_tokens=start.limit, noise=None if noise is None else (noise["law"], noise["scale"]))
    remarks: list[str] = []
    texts, data = tables.read(source, table, options.max_tokens, remarks)
    test_texts, test_data = None, ""
    if tables.test is not None:
        try:
            test_texts, test_data = tables.read(tables.test, table, options.max_tokens, remarks)
        except InputError as error:
            raise InputError(f"In --test: {error}") from None
    training_texts, held_out_texts = _hold_out_texts(texts, source, remarks)
    for remark in [*remarks, *_describe_held_out_words(source, training_texts, held_out_texts, start)]:
        say(remark, err=True)

    def fit(checkpoint: "Checkpoint") -> "Rewriter":
        with show_steps("training", advise=functools.partial(_advise, is_quick=choice.quick)) as steps:
            return fit_rewriter(
                training_texts,
                held_out_texts,
                options,
                seed=seed,
                checkpoint=checkpoint,
                progress=LossSteps(steps),
                start=start,
            )

    def describe(model: "Rewriter") -> ModelFiles:
        with show_passes("testing the model"):
            figures = measure_reconstruction(model, held_out_texts if test_texts is None else test_texts)
        owner_record = commit_to_data(data + test_data)
        test_count = None if test_texts is None else len(test_texts)
        card = build_rewriter_card(model, owner_record["commitment"], figures, test_count, noise)
        line = f"exact match {figures['exact match'].value:.3f}, BLEU-4 {figures['bleu'].value:.1f}"
        return ModelFiles(model, card, owner_record, line)

    train_and_write(output, fit, describe)


def _hold_out_texts(texts: list[str], source: Path, remarks: list[str]) -> tuple[list[str], list[str]]:
    """Texts to learn from, and held-out texts that say when to stop; no text is in both.

    Raises:
        InputError: there are too few.
    """
    from deniable.core.randomness import derive_key_from_seed, make_generator

    distinct_texts = [*dict.fromkeys(texts)]
    count = len(distinct_texts)
    if count < _MIN_TEXTS:
        raise InputError(
            f"{str(source)!r} has too few distinct texts to learn from, {count}: give at least {_MIN_TEXTS}."
            + "".join(f" ({remark})" for remark in remarks)
        )
    order = make_generator(derive_key_from_seed(0), "held out").permutation(count)
    held_out = [distinct_texts[index] for index in sorted(order[: round(HELD_OUT_SHARE * count)])]
    held_out_set = {*held_out}
    return [text for text in texts if text not in held_out_set], held_out


def _describe_held_out_words(
    source: Path, training_texts: list[str], held_out_texts: list[str], start: "Rewriter | None"
) -> list[str]:
    """A remark where the vocabulary of the model to be lacks many words of texts that it does not learn from."""
    from deniable.rewriting.tokens import Vocabulary

    if start is None:
        words = Vocabulary.build(training_texts).words
        advice = "Train on more texts, of one language with spaces between its words"
    else:
        words, advice = start.vocabulary.words, "Go on with texts of the kind that the model of --fine-tune knows"
    return describe_unlisted_words(source, held_out_texts, words, advice)


def _advise(left_seconds: float, *, is_quick: bool) -> str:
    """How long training will take and, where that is long, what takes less."""
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
