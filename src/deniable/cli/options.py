"""Options that several commands share, each with one meaning, and exit codes. Nothing heavy is loaded.

What is read is an argument, and what is written is an option. ``--epsilon`` and ``--delta`` are the budget of what a
command releases or verifies; the epsilon of a mechanism that smooths, augments or attacks is ``--mechanism-epsilon``.
``--seed`` repeats results; where a public seed would end the privacy of the output it is called ``--test-seed``.
"""

import dataclasses
import difflib
import enum
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from deniable.cli.choices import (
    CaseHandling,
    EscapesName,
    MechanismName,
    MetricName,
    OverBudgetHandling,
    UnknownWordHandling,
)
from deniable.cli.commandline import option
from deniable.core.errors import check_positive

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    from deniable.space import Space
    from deniable.words import WordMechanism
    from deniable.words.prior import Prior

TableFormatName = Literal["csv", "tsv", "jsonl", "parquet", "txt"]
QuotingName = Literal["standard", "none"]

PRIVACY_PANEL, MODEL_PANEL, TRAINING_PANEL, DATA_PANEL = "Privacy", "Model", "Training", "Data"
WORDS_PANEL, TABLE_PANEL, OUTPUT_PANEL = "Words and their vectors", "Table format", "Output"
ATTACK_WORDS_PANEL, CLAIM_PANEL, SAMPLING_PANEL = "Words that an attack may use", "Claim", "Sampling"
BLACK_BOX_PANEL, CERTIFICATION_PANEL = "Black box", "Certification"

_PIPE_HELP = 'also compressed as .gz or .zst; "-" reads standard input.'
_SHOWN_NAMES = 10
"""Names that a message lists."""


def list_choices(choices: type[enum.StrEnum]) -> str:
    """Return all choices for a help text: "a, b or c"."""
    *first_names, last_name = [choice.value for choice in choices]
    return f"{', '.join(first_names)} or {last_name}"


def get_choice(choice: enum.StrEnum | None) -> str | None:
    """Return the name that was chosen, as plain text that a model file can hold; None for no choice."""
    return None if choice is None else choice.value


def suggest_name(name: str, known_names: Sequence[str]) -> str:
    """Return "Did you mean 'tem'?" for a name close to a known one; nothing for any other."""
    close_matches = difflib.get_close_matches(name.lower(), known_names, n=1)
    return f"Did you mean {close_matches[0]!r}?" if close_matches else ""


def format_names(names: Sequence[str]) -> str:
    """Return the first of some names, and how many there are besides."""
    shown_names = ", ".join(names[:_SHOWN_NAMES])
    return shown_names if len(names) <= _SHOWN_NAMES else f"{shown_names} and {len(names) - _SHOWN_NAMES:,} more"


def select_given(options: Mapping[str, object]) -> dict[str, object]:
    """Return the options that were given."""
    return {name: value for name, value in options.items() if value is not None}


def read_optional_signing_key(path: Path | None) -> "Ed25519PrivateKey | None":
    """Return the key of ``--sign-key``; None where it was not given.

    Raises:
        InputError: the file holds none.
    """
    from deniable.core.signatures import read_signing_key

    return None if path is None else read_signing_key(path)


def make_option(panel: str, *names_and_help: str, default_text: str | bool = True, **settings: Any) -> Any:  # noqa: ANN401
    """Return an option of typer.

    Args:
        panel: title of the group of options that help shows it in.
        names_and_help: its names, then its help.
        default_text: what help shows as the default, where that is not the value itself.
        settings: further settings of `typer.Option`.
    """
    *names, help_text = names_and_help
    return typer.Option(*names, help=help_text, rich_help_panel=panel, show_default=default_text, **settings)


# What is read.
TableArgument = Annotated[
    str, typer.Argument(metavar="INPUT", help=f"Table to read: csv, tsv, jsonl, parquet or txt, {_PIPE_HELP}")
]
LabelledTableArgument = Annotated[
    str, typer.Argument(metavar="INPUT", help=f"Table to read: csv, tsv, jsonl or parquet, {_PIPE_HELP}")
]
TrainingTableArgument = Annotated[
    Path, typer.Argument(metavar="INPUT", help="Table to train on: csv, tsv, jsonl or parquet, also .gz or .zst.")
]
ImagesArgument = Annotated[
    Path,
    typer.Argument(
        metavar="DATA",
        help="Images: .npz with x_train, y_train, x_test and y_test; a folder or archive of train/CLASS/*.png and "
        "test/CLASS/*.png; or a folder of IDX files.",
    ),
]
TextModelArgument = Annotated[
    Path, typer.Argument(metavar="MODEL", help="Model file written by deniable train text.", show_default=False)
]

# The budget of a release, and its mechanism.
EpsilonOption = Annotated[
    float,
    make_option(PRIVACY_PANEL, "--epsilon", "Privacy budget per word and unit of distance."),
]
MechanismOption = Annotated[
    MechanismName,
    make_option(
        PRIVACY_PANEL,
        "--mechanism",
        f"Word mechanism: {list_choices(MechanismName)}. auto: tight where it is fast and keeps more words, otherwise "
        "calibrated.",
        metavar="MECHANISM",
    ),
]
UnknownOption = Annotated[
    UnknownWordHandling,
    make_option(PRIVACY_PANEL, "--unknown", "Unknown words: draw one in their place, mask or drop them."),
]
CaseOption = Annotated[
    CaseHandling,
    make_option(PRIVACY_PANEL, "--case", "Letter case; copy reveals the text's capitals."),
]
KeepOption = Annotated[
    Path | None,
    make_option(PRIVACY_PANEL, "--keep", "Public words, one a line, that are never changed.", metavar="FILE"),
]
ChosenFromDataOption = Annotated[
    bool,
    make_option(
        PRIVACY_PANEL,
        "--chosen-from-data",
        "Record that epsilon was chosen from this input.",
    ),
]
TestSeedOption = Annotated[
    int | None,
    make_option(PRIVACY_PANEL, "--test-seed", "Public seed, for tests: output is NOT private."),
]

# Columns of a table, and how it is written.
TextColumnsOption = Annotated[
    list[str] | None,
    make_option(
        DATA_PANEL,
        "--column",
        "-c",
        "Name of a column with text; may be given more than once.",
        metavar="COLUMN",
        default_text="text",
    ),
]
TextColumnOption = Annotated[
    str, make_option(DATA_PANEL, "--column", "-c", "Name of the column with text.", metavar="COLUMN")
]
RecordIdOption = Annotated[
    str | None,
    make_option(
        DATA_PANEL, "--id", "Name of the column with unique record ids.", metavar="COLUMN", default_text="row number"
    ),
]
UnescapeOption = Annotated[
    EscapesName | None,
    make_option(
        DATA_PANEL,
        "--unescape",
        "Decode HTML entities such as &#039; before words are read.",
    ),
]
DropOption = Annotated[
    list[str] | None,
    make_option(
        DATA_PANEL,
        "--drop",
        "Column to leave out; may be given more than once.",
        metavar="COLUMN",
    ),
]
CopiedColumnsOption = Annotated[
    str | None,
    make_option(
        DATA_PANEL,
        "--columns",
        'Names of the only columns to copy beside texts and ids, separated by commas; "" for none.',
        metavar="COLUMN,...",
        default_text="all but the dropped ones",
    ),
]
LabelOption = Annotated[
    str, make_option(DATA_PANEL, "--label", "Name of the column with the class of each text.", metavar="COLUMN")
]
PremiseOption = Annotated[
    str | None,
    make_option(
        DATA_PANEL,
        "--premise",
        "Column of the first text of a pair; never changed.",
        metavar="COLUMN",
    ),
]
RowLimitOption = Annotated[
    int | None,
    make_option(
        DATA_PANEL,
        "--limit",
        "Maximum number of rows to use (the first ones).",
        min=1,
        metavar="ROWS",
        default_text="all",
    ),
]
FormatOption = Annotated[
    TableFormatName | None,
    make_option(
        TABLE_PANEL,
        "--format",
        "Format of the table.",
        default_text="by its name",
    ),
]
DelimiterOption = Annotated[
    str | None,
    make_option(
        TABLE_PANEL,
        "--delimiter",
        "Between cells of csv, tsv.",
        metavar="CHARACTER",
        default_text="comma; tab for tsv",
    ),
]
QuotingOption = Annotated[
    QuotingName | None,
    make_option(
        TABLE_PANEL,
        "--quoting",
        "Quotes of csv and tsv files; none are ordinary characters.",
        default_text=False,
    ),
]
EncodingOption = Annotated[str, make_option(TABLE_PANEL, "--encoding", "Character encoding.")]

# The ledger of what each person has spent.
LedgerOption = Annotated[
    str | None,
    make_option(
        PRIVACY_PANEL,
        "--ledger",
        "Ledger to charge first; needs --person.",
        metavar="WHERE",
    ),
]
LedgerKeyOption = Annotated[
    Path | None,
    make_option(PRIVACY_PANEL, "--key-file", "Key of the ledger.", metavar="FILE", default_text="WHERE.key"),
]
ChargedPersonOption = Annotated[
    str | None, make_option(DATA_PANEL, "--person", "Whose record it is, for --ledger.", metavar="COLUMN")
]
OverBudgetOption = Annotated[
    OverBudgetHandling,
    make_option(
        PRIVACY_PANEL,
        "--over-budget",
        "Rows beyond its budget.",
    ),
]

# Words with vectors, and how often they occur.
SpaceOption = Annotated[
    str,
    make_option(
        WORDS_PANEL,
        "--space",
        "Word vectors: glove (built in), or a GloVe, word2vec or .npz file.",
        metavar="SOURCE",
    ),
]
MetricOption = Annotated[
    MetricName,
    make_option(WORDS_PANEL, "--metric", f"Distance: {list_choices(MetricName)}.", metavar="METRIC"),
]
HideOption = Annotated[
    str,
    make_option(
        WORDS_PANEL,
        "--hide",
        "Classes to hide: names, places, numbers, health, files of words; or none.",
        metavar="CLASS,...",
    ),
]
HIDE_DEFAULT = "names,places,numbers"
PriorOption = Annotated[
    Path | None,
    make_option(
        WORDS_PANEL,
        "--prior",
        "Public counts, a word and its count a line; never of private texts.",
        metavar="FILE",
        default_text="Zipf's law by rank",
    ),
]

# The words that an attack on a text classifier may use.
SubstitutionsOption = Annotated[
    Path | None,
    make_option(
        ATTACK_WORDS_PANEL,
        "--substitutions",
        'JSON object {"word": ["substitute", ...]}: the words that may replace each word.',
        metavar="FILE",
    ),
]
MechanismEpsilonOption = Annotated[
    float | None, make_option(ATTACK_WORDS_PANEL, "--mechanism-epsilon", "Epsilon of --mechanism.")
]

# Randomness and output.
SeedOption = Annotated[
    int, make_option(OUTPUT_PANEL, "--seed", "Seed of all random draws; the same seed gives the same results.")
]
CertificateOption = Annotated[
    str | None,
    make_option(
        OUTPUT_PANEL,
        "--certificate",
        "Where to write the certificate.",
        metavar="FILE",
        default_text="OUTPUT.certificate.json",
    ),
]
SignKeyOption = Annotated[
    Path | None,
    make_option(
        OUTPUT_PANEL,
        "--sign-key",
        "Key written by deniable key --sign: signs what is written, in CERTIFICATE.sig.",
        metavar="FILE",
    ),
]
ForceOption = Annotated[bool, make_option(OUTPUT_PANEL, "--force", "Overwrite existing output files.")]
JsonOption = Annotated[bool, make_option(OUTPUT_PANEL, "--json", "Print the result as JSON.")]


# Options that several commands share, as dataclasses: what a command takes as a whole, see `commandline`.
@dataclasses.dataclass(frozen=True, kw_only=True)
class SpaceOptions:
    """Words and their vectors.

    Attributes:
        space: word vectors: glove (built in), or a GloVe, word2vec or .npz file.
        metric: distance between words.
        hide: classes to hide: names, places, numbers, health, files of words; or none.
    """

    space: str = dataclasses.field(default="glove", metadata=option(metavar="SOURCE"))
    metric: str = dataclasses.field(
        default=MetricName.STEPS.value, metadata=option(choices=list(MetricName), metavar="METRIC")
    )
    hide: str = dataclasses.field(default=HIDE_DEFAULT, metadata=option(metavar="CLASS,..."))

    def list_files(self) -> list[Path]:
        """The files that the space and what it hides are read from, which no output may be."""
        from deniable.cli.building import find_word_files

        return find_word_files(self.space, self.hide)

    def build(self) -> "Space":
        """The space; a cache that cannot be used is noted.

        Raises:
            InputError: a file that cannot be read, or an unknown class.
        """
        from deniable.cli.building import build_space

        return build_space(self.space, self.metric, self.hide)


@dataclasses.dataclass(frozen=True, kw_only=True)
class WordOptions(SpaceOptions):
    """Words and their vectors.

    Attributes:
        prior: public counts, a word and its count a line; never of private texts.
    """

    prior: Path | None = dataclasses.field(
        default=None, metadata=option(metavar="FILE", show_default="Zipf's law by rank")
    )

    def list_files(self) -> list[Path]:
        """The files that words, what is hidden of them and their counts are read from, which no output may be."""
        return [*super().list_files(), *([] if self.prior is None else [self.prior])]

    def load_prior(self, space: "Space") -> "Prior":
        """The prior of ``--prior``, or Zipf's law; what of the file was left out is noted.

        Raises:
            InputError: the file cannot be read, or has no usable counts.
        """
        from deniable.cli.building import load_word_prior

        return load_word_prior(self.prior, space)


@dataclasses.dataclass(frozen=True, kw_only=True)
class WordPrivacy:
    """Privacy.

    Attributes:
        epsilon: privacy budget per word and unit of distance, which is a step unless --metric says otherwise.
        mechanism: word mechanism; auto is tight where it is fast and keeps more words, otherwise calibrated.

    Raises:
        InputError: an epsilon that no mechanism takes.
    """

    epsilon: float
    mechanism: str = dataclasses.field(
        default="auto", metadata=option(choices=list(MechanismName), metavar="MECHANISM")
    )

    def __post_init__(self) -> None:
        """Refuse an epsilon before a space is read."""
        check_positive("the mechanism", "epsilon", self.epsilon)

    def build(self, space: "Space") -> "WordMechanism":
        """The mechanism on a space.

        Raises:
            InputError: a parameter out of range.
        """
        from deniable.cli.building import build_word_mechanism

        return build_word_mechanism(space, self.mechanism, self.epsilon)


@dataclasses.dataclass(frozen=True, kw_only=True)
class OutputOptions:
    """Output.

    Attributes:
        certificate: where to write the certificate.
        sign_key: key written by deniable key --sign; signs what is written, in CERTIFICATE.sig.
        force: overwrite existing output files.
    """

    certificate: str | None = dataclasses.field(
        default=None, metadata=option(metavar="FILE", show_default="OUTPUT.certificate.json")
    )
    sign_key: Path | None = dataclasses.field(default=None, metadata=option(metavar="FILE"))
    force: bool = False

    def read_signing_key(self) -> "Ed25519PrivateKey | None":
        """The key of ``--sign-key``; None where it was not given.

        Raises:
            InputError: the file holds none.
        """
        return read_optional_signing_key(self.sign_key)
