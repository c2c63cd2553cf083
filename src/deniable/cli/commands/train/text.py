"""``deniable train text``: a text classifier, private, or trained as usual, with certified bounds or on copies."""

import dataclasses
import functools
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from deniable.cli.building import build_space, build_substitute_source, describe_substitutions, find_word_files
from deniable.cli.charging import LedgerChoice
from deniable.cli.choices import MechanismName, MetricName, OverBudgetHandling, TextKind, TextTraining
from deniable.cli.commands.train.documents import build_training_documents, read_test_table
from deniable.cli.commands.train.options import (
    BatchSizeOption,
    BudgetDeltaOption,
    BudgetEpsilonOption,
    CheckpointOption,
    ClassesOption,
    ClipOption,
    EpochsOption,
    LearningRateOption,
    MaxRecordsOption,
    ModelOutputOption,
    PersonOption,
    PublicLabelOption,
    PublicOption,
    RecordsOption,
    TestTableOption,
    TrainingForceOption,
    TrainingSeedOption,
)
from deniable.cli.labelled_tables import (
    LabelledColumns,
    print_remarks,
    read_labelled_table,
)
from deniable.cli.model_runs import (
    LossSteps,
    ModelFiles,
    ModelOutput,
    check_torch,
    commit_to_data,
    train_and_write,
)
from deniable.cli.options import (
    HIDE_DEFAULT,
    MODEL_PANEL,
    ChosenFromDataOption,
    DelimiterOption,
    EncodingOption,
    FormatOption,
    HideOption,
    LabelOption,
    LedgerKeyOption,
    LedgerOption,
    MetricOption,
    OverBudgetOption,
    PremiseOption,
    QuotingOption,
    SpaceOption,
    TextColumnOption,
    TrainingTableArgument,
    get_choice,
    list_choices,
    make_option,
    select_given,
)
from deniable.cli.private_tables import PrivateColumns, PublicFile
from deniable.cli.progress import show_passes, show_steps
from deniable.cli.tables import TableOptions
from deniable.core.errors import InputError
from deniable.core.files import PIPE

if TYPE_CHECKING:
    from deniable.learning.loop import Checkpoint
    from deniable.models.text.documents import Documents
    from deniable.models.text.model import TextModel
    from deniable.models.text.substitutions import SubstituteSource
    from deniable.models.text.training import TextTrainingOptions
    from deniable.space import Space

_PERTURBED_PANEL = "Perturbed words, for ibp and augmented"
_PRIVATE_KINDS = (TextKind.DP_LINEAR, TextKind.DP_FASTTEXT)
_LINEAR_OPTIONS = ("person", "max_records", "public", "public_label", "ledger", "key_file", "over_budget")
"""Options that only dp-linear takes."""
_SOURCE_OPTIONS = ("substitutions", "mechanism", "mechanism_epsilon")
"""Options that say which words may stand in the place of others."""
_DEFAULT_CHECKPOINT = 20
_NO_PIPE = "An interrupted run reads its tables again, which a pipe cannot do: give the path of a file."

KindOption = Annotated[
    TextKind, make_option(MODEL_PANEL, "--kind", f"Kind of model: {list_choices(TextKind)}.", metavar="KIND")
]
TrainingOption = Annotated[
    TextTraining,
    make_option(
        MODEL_PANEL,
        "--training",
        "Training: normal, ibp (certified) or augmented.",
        metavar="METHOD",
    ),
]
IbpWeightOption = Annotated[
    float | None,
    make_option(_PERTURBED_PANEL, "--ibp-weight", "Final weight of the worst case, for ibp.", default_text="0.8"),
]
IbpRampOption = Annotated[
    float | None,
    make_option(
        _PERTURBED_PANEL,
        "--ibp-ramp",
        "Share of the training that phases it in, for ibp.",
        metavar="SHARE",
        default_text="2/3",
    ),
]
CopiesOption = Annotated[
    int | None,
    make_option(_PERTURBED_PANEL, "--copies", "Perturbed copies of each text, for augmented.", default_text="4"),
]
SubstitutionsOption = Annotated[
    Path | None,
    make_option(
        _PERTURBED_PANEL,
        "--substitutions",
        'JSON object {"word": ["substitute", ...]}.',
        metavar="FILE",
    ),
]
MechanismOption = Annotated[
    MechanismName | None,
    make_option(
        _PERTURBED_PANEL,
        "--mechanism",
        "Word mechanism that draws the copies, for augmented.",
        metavar="MECHANISM",
    ),
]
MechanismEpsilonOption = Annotated[
    float | None, make_option(_PERTURBED_PANEL, "--mechanism-epsilon", "Epsilon of --mechanism.")
]


@dataclasses.dataclass(frozen=True)
class _TextTask:
    """What every kind of training is told.

    Attributes:
        source: path of the table.
        columns: its columns.
        test: path of the table to test on; None for a tenth of the first one.
        output: where the model goes.
        space: vector file, or ``glove``.
        hide: classes of words that are hidden, as the option names them.
    """

    source: Path
    columns: LabelledColumns
    test: Path | None
    output: ModelOutput
    space: str
    hide: str

    def check_files(self, *read_paths: Path | None, hide: str | None = None) -> None:
        """Raise `InputError` where an output cannot be written, or would overwrite what is read."""
        word_files = find_word_files(self.space, self.hide if hide is None else hide)
        self.output.check(*self._tables, *read_paths, *word_files)

    def refuse_pipes(self) -> None:
        """Raise `InputError` where a table is a pipe, which gives itself once."""
        if PIPE in map(str, self._tables):
            raise InputError(_NO_PIPE)

    @property
    def _tables(self) -> list[Path]:
        return [path for path in (self.source, self.test) if path is not None]


@dataclasses.dataclass(frozen=True)
class _TextRun:
    """What a trained text classifier is a function of, beside the checkpoint.

    Attributes:
        kind: one of `deniable.models.text.networks.TEXT_NETWORKS`.
        options: of the training.
        space: whose words it reads.
        word_source: of substitutes and copies; None for neither.
        training_documents: to learn from.
        test_documents: to test on.
        fingerprint: of the tables.
        seed: public; None for a fresh key.
    """

    kind: str
    options: "TextTrainingOptions"
    space: "Space"
    word_source: "SubstituteSource | None"
    training_documents: "Documents"
    test_documents: "Documents"
    fingerprint: str
    seed: int | None


def run_train_text(
    source: TrainingTableArgument,
    *,
    kind: KindOption,
    training: TrainingOption = TextTraining.NORMAL,
    column: TextColumnOption = "text",
    label: LabelOption,
    premise: PremiseOption = None,
    test: TestTableOption = None,
    epsilon: BudgetEpsilonOption = None,
    delta: BudgetDeltaOption = None,
    person: PersonOption = None,
    max_records: MaxRecordsOption = None,
    records: RecordsOption = None,
    classes: ClassesOption = None,
    public: PublicOption = None,
    public_label: PublicLabelOption = None,
    ledger: LedgerOption = None,
    key_file: LedgerKeyOption = None,
    over_budget: OverBudgetOption = OverBudgetHandling.REFUSE,
    chosen_from_data: ChosenFromDataOption = False,
    epochs: EpochsOption = None,
    batch_size: BatchSizeOption = None,
    learning_rate: LearningRateOption = None,
    clip: ClipOption = None,
    ibp_weight: IbpWeightOption = None,
    ibp_ramp: IbpRampOption = None,
    copies: CopiesOption = None,
    substitutions: SubstitutionsOption = None,
    mechanism: MechanismOption = None,
    mechanism_epsilon: MechanismEpsilonOption = None,
    space: SpaceOption = "glove",
    metric: MetricOption = MetricName.EUCLIDEAN,
    hide: HideOption = HIDE_DEFAULT,
    format_: FormatOption = None,
    delimiter: DelimiterOption = None,
    quoting: QuotingOption = None,
    encoding: EncodingOption = "utf-8",
    output: ModelOutputOption,
    force: TrainingForceOption = False,
    checkpoint_every: CheckpointOption = _DEFAULT_CHECKPOINT,
    seed: TrainingSeedOption = None,
) -> None:
    """Train a text classifier, and write it with its model card.

    dp-linear and dp-fasttext are private and take the options under Privacy: both hide every record, and dp-linear
    also every person. The other kinds claim no privacy. FILE.card.json and FILE.card.txt are for those who receive the
    model; FILE.owner.json is for its owner only. Run the same command again to resume an interrupted run. Requires the
    train extra of deniable.
    """
    check_torch()
    columns = LabelledColumns(column, label, premise, TableOptions(format_, delimiter, encoding, quoting))
    task = _TextTask(source, columns, test, ModelOutput(output, force, checkpoint_every), space, hide)
    budget_options = {
        "epsilon": epsilon,
        "delta": delta,
        "person": person,
        "max_records": max_records,
        "records": records,
        "classes": classes,
        "public": public,
        "public_label": public_label,
        "chosen_from_data": chosen_from_data or None,
        "ledger": ledger,
        "key_file": key_file,
        "over_budget": None if over_budget is OverBudgetHandling.REFUSE else over_budget,
    }
    step_options = {"epochs": epochs, "batch_size": batch_size, "learning_rate": learning_rate, "clip": clip}
    word_options = {
        "training": None if training is TextTraining.NORMAL else training,
        "ibp_weight": ibp_weight,
        "ibp_ramp": ibp_ramp,
        "copies": copies,
        "substitutions": substitutions,
        "mechanism": mechanism,
        "mechanism_epsilon": mechanism_epsilon,
    }
    if kind not in _PRIVATE_KINDS:
        refuse_options(kind.value, budget_options)
        _train_openly(task, kind.value, metric, word_options, step_options, seed)
        return
    other_metric = None if metric is MetricName.EUCLIDEAN else metric
    refuse_options(kind.value, {**word_options, "premise": premise, "metric": other_metric, "seed": seed})
    if kind is TextKind.DP_FASTTEXT:
        _train_dp_fasttext(task, {**budget_options, **step_options})
    else:
        _train_dp_linear(task, budget_options, step_options)


def _train_openly(
    task: _TextTask,
    kind: str,
    metric: MetricName,
    word_options: dict[str, Any],
    step_options: dict[str, Any],
    seed: int | None,
) -> None:
    """Train a kind that claims no privacy."""
    from deniable.models.text.training import check_substitute_source

    options = _build_options(kind, word_options, step_options)
    task.refuse_pipes()
    substitutions = word_options["substitutions"]
    task.check_files(substitutions)
    space = build_space(task.space, metric, task.hide)
    mechanism = get_choice(word_options["mechanism"])
    word_source = build_substitute_source(space, substitutions, mechanism, word_options["mechanism_epsilon"])
    check_substitute_source(options, word_source)
    table = read_labelled_table(str(task.source), task.columns)
    test_table = None if task.test is None else read_test_table(task.test, task.columns)
    documents, test_documents, remarks = build_training_documents(table, test_table, space, kind)
    print_remarks([*describe_substitutions(substitutions, word_source), *remarks])
    fingerprint = table.fingerprint if test_table is None else f"{table.fingerprint} {test_table.fingerprint}"
    run = _TextRun(kind, options, space, word_source, documents, test_documents, fingerprint, seed)
    train_and_write(
        task.output, _describe_run(run), functools.partial(_fit_model, run), functools.partial(_describe_model, run)
    )


def _train_dp_linear(task: _TextTask, budget_options: dict[str, Any], step_options: dict[str, Any]) -> None:
    """Train a private kind on noisy sums."""
    from deniable.cli.commands.train.private_text import PrivateTraining, train_private_text

    every = task.output.checkpoint_every
    unused_options = {
        "hide": None if task.hide == HIDE_DEFAULT else task.hide,
        "checkpoint_every": None if every == _DEFAULT_CHECKPOINT else every,
    }
    refuse_options(TextKind.DP_LINEAR.value, {**step_options, **unused_options})
    options, columns = {**budget_options}, task.columns
    public, public_label = options.pop("public"), options.pop("public_label")
    options["chosen_from_data"] = bool(options["chosen_from_data"])
    over_budget = options.pop("over_budget") or OverBudgetHandling.REFUSE
    ledger = LedgerChoice(options.pop("ledger"), options.pop("key_file"), over_budget)
    if public is None and public_label is not None:
        raise InputError("--public-label is for --public: name the public table too, or leave it out.")
    task.check_files(public, *map(Path, ledger.list_files()), hide="none")
    training = PrivateTraining(
        source=task.source,
        columns=PrivateColumns(columns.text, columns.label, options.pop("person"), columns.table_format),
        public=None if public is None else PublicFile(public, columns.text, public_label, columns.table_format),
        space=task.space,
        test=task.test,
        ledger=ledger,
        **options,
    )
    train_private_text(training, task.output)


def _train_dp_fasttext(task: _TextTask, options: dict[str, Any]) -> None:
    """Train a private kind on frozen word vectors."""
    from deniable.cli.commands.train.dp_fasttext import train_dp_fasttext

    given = select_given(options)
    for name in _LINEAR_OPTIONS:
        if name in given:
            raise InputError(
                f"--{name.replace('_', '-')} means nothing to --kind dp-fasttext, which hides single records and knows "
                "no public texts: take --kind dp-linear, or leave it out."
            )
    task.refuse_pipes()
    task.check_files()
    columns = PrivateColumns(task.columns.text, task.columns.label, None, task.columns.table_format)
    train_dp_fasttext(task.source, columns, given, (task.space, task.hide), task.test, task.output)


def refuse_options(kind: str, options: Mapping[str, object]) -> None:
    """Raise `InputError` for an option that means nothing to a kind of model."""
    for name in select_given(options):
        option = f"--{name.replace('_', '-')}"
        raise InputError(f"{option} means nothing to --kind {kind}: leave it out.")


def _build_options(kind: str, word_options: dict[str, Any], step_options: dict[str, Any]) -> "TextTrainingOptions":
    """Return the options of the training.

    Raises:
        InputError: an option of another training method, or a value outside its domain.
    """
    from deniable.models.text.training import make_text_training_options

    training = word_options["training"] or TextTraining.NORMAL
    needed_trainings = {"ibp_weight": "ibp", "ibp_ramp": "ibp", "copies": "augmented"}
    for name, needed_training in needed_trainings.items():
        if word_options[name] is not None and training.value != needed_training:
            option = f"--{name.replace('_', '-')}"
            raise InputError(f"{option} is for --training {needed_training}. Got {training.value}: leave it out.")
    source_options = {name: word_options[name] for name in _SOURCE_OPTIONS}
    if training is TextTraining.NORMAL and select_given(source_options):
        raise InputError(
            "--substitutions, --mechanism and --mechanism-epsilon are for --training ibp and augmented: choose one of "
            "these, or leave them out."
        )
    weights = {"kappa": word_options["ibp_weight"], "ramp": word_options["ibp_ramp"], "copies": word_options["copies"]}
    return make_text_training_options(kind, method=training.value, **select_given({**step_options, **weights}))


def _describe_run(run: _TextRun) -> dict[str, Any]:
    """Return what a checkpoint must agree with."""
    from deniable.models.text.model import describe_source

    return {
        "model": run.kind,
        "data": run.fingerprint,
        "space": run.space.fingerprint,
        "drawn from": None if run.word_source is None else describe_source(run.word_source),
        "seed": run.seed,
        **dataclasses.asdict(run.options),
    }


def _fit_model(run: _TextRun, checkpoint: "Checkpoint") -> "TextModel":
    """Train the model, or resume its training."""
    from deniable.models.text.model import fit_text_model

    with show_steps("training") as steps:
        return fit_text_model(
            run.kind,
            run.space,
            run.training_documents,
            run.options,
            source=run.word_source,
            seed=run.seed,
            checkpoint=checkpoint,
            progress=LossSteps(steps),
        )


def _describe_model(run: _TextRun, model: "TextModel") -> ModelFiles:
    """Return the files of a trained model, with what tests say of it."""
    from deniable.models.text.card import build_text_card
    from deniable.models.text.model import certify_by_intervals, measure_text_accuracy
    from deniable.models.text.substitutions import Substitutions

    certified_count = None
    with show_passes("testing the model"):
        clean_accuracy = measure_text_accuracy(model, run.test_documents)
        if isinstance(run.word_source, Substitutions):
            certified_count = int(certify_by_intervals(model, run.test_documents, run.word_source).sum())
    owner_record = commit_to_data(run.fingerprint)
    card = build_text_card(
        model,
        run.training_documents,
        run.test_documents,
        owner_record["commitment"],
        clean_accuracy,
        certified_count,
        run.word_source,
    )
    figures = f"clean accuracy {clean_accuracy.value:.3f}"
    return ModelFiles(model, card, owner_record, figures)
