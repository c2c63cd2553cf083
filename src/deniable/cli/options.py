"""Options that several commands share, each with one meaning. Nothing heavy is loaded.

What is read is an argument, and what is written is an option. ``--epsilon`` and ``--delta`` are the budget of what a
command releases or verifies; the epsilon of a mechanism that smooths, augments or attacks is ``--mechanism-epsilon``.
``--seed`` repeats results; where a public seed would end the privacy of the output it is called ``--test-seed``.
"""

import contextlib
import dataclasses
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from deniable.cli.commandline import option
from deniable.cli.terminal import say
from deniable.core.errors import InputError, check_positive
from deniable.registry import WORD_MECHANISMS

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    from deniable.space import Space
    from deniable.words import WordMechanism
    from deniable.words.prior import Prior

MECHANISM_NAMES = ("auto", *WORD_MECHANISMS)
METRIC_NAMES = ("steps", "euclidean", "manhattan", "chebyshev", "angular", "poincare", "mahalanobis")
"""Distances between words: those of `deniable.space.metrics.METRICS`, which would load numba."""
HIDE_DEFAULT = "names,places,numbers"

_PIPE_HELP = 'also compressed as .gz or .zst; "-" reads standard input.'
_SHOWN_NAMES = 10
"""Names that a message lists."""


def format_names(names: Sequence[str]) -> str:
    """Return the first of some names, and how many there are besides."""
    shown_names = ", ".join(names[:_SHOWN_NAMES])
    return shown_names if len(names) <= _SHOWN_NAMES else f"{shown_names} and {len(names) - _SHOWN_NAMES:,} more"


def read_word_list(path: Path | None) -> list[str]:
    """Return the words of a file, one a line, blank lines left out; nothing for None."""
    if path is None:
        return []
    try:
        return [word.strip() for word in path.read_text(encoding="utf-8-sig").splitlines() if word.strip()]
    except UnicodeDecodeError:
        raise InputError(f"The list {str(path)!r} is not UTF-8: convert it.") from None
    except OSError as error:
        raise InputError(f"The list {str(path)!r} cannot be read: {error.strerror}.") from None


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
        help="Images: .npz with x_train, y_train, x_test and y_test; or a folder of train/CLASS/*.png and "
        "test/CLASS/*.png.",
    ),
]
ImageModelArgument = Annotated[
    Path, typer.Argument(metavar="MODEL", help="Model file written by deniable train image.", show_default=False)
]
TextModelArgument = Annotated[
    Path, typer.Argument(metavar="MODEL", help="Model file written by deniable train text.", show_default=False)
]

ForceOption = Annotated[
    bool, typer.Option("--force", help="Overwrite existing output files.", rich_help_panel="Output")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print the result as JSON.", rich_help_panel="Output")]


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
    metric: str = dataclasses.field(default="steps", metadata=option(choices=METRIC_NAMES, metavar="METRIC"))
    hide: str = dataclasses.field(default=HIDE_DEFAULT, metadata=option(metavar="CLASS,..."))

    def list_files(self) -> list[Path]:
        """The files that the space and what it hides are read from, which no output may be."""
        from deniable.space.near_lists import SHIPPED_FOLDER
        from deniable.space.sources import find_glove_folder
        from deniable.space.word_classes import BUILTIN_CLASSES

        files = [Path(self.space)]
        if self.space == "glove":
            files = [SHIPPED_FOLDER]
            with contextlib.suppress(InputError):  # steps need no vectors; what does says that they are missing
                files.append(find_glove_folder())
        lists = [Path(entry) for entry in self._hidden if entry not in BUILTIN_CLASSES]
        return [*files, *(path for path in lists if os.path.isfile(path))]  # noqa: PTH113 - any name

    def build(self) -> "Space":
        """The space; a cache that cannot be used is noted.

        Raises:
            InputError: a file that cannot be read, or an unknown class.
        """
        from deniable.core.cache import find_cache_fault
        from deniable.space import Space

        fault = find_cache_fault()
        if fault:
            say(f"note: {fault}", err=True)
        if self.space == "glove":
            return Space.glove(metric=self.metric, hide=self._hidden)
        return Space.load(self.space, metric=self.metric, hide=self._hidden)

    @property
    def _hidden(self) -> list[str]:
        return [] if self.hide.strip() == "none" else [entry.strip() for entry in self.hide.split(",")]


@dataclasses.dataclass(frozen=True, kw_only=True)
class VectorSpaceOptions(SpaceOptions):
    """Words and their vectors."""

    metric: str = dataclasses.field(default="euclidean", metadata=option(choices=METRIC_NAMES, metavar="METRIC"))


@dataclasses.dataclass(frozen=True, kw_only=True)
class WordOptions(SpaceOptions):
    """Words and their vectors.

    Attributes:
        prior: file of public word counts, a word and its count per line; never count the private texts.
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
        from deniable.words.prior import build_prior, read_prior

        if self.prior is None:
            return build_prior(space)
        prior = read_prior(self.prior, space)
        for note in prior.notes:
            say(f"{self.prior}: {note}", err=True)
        return prior


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
    mechanism: str = dataclasses.field(default="auto", metadata=option(choices=MECHANISM_NAMES, metavar="MECHANISM"))

    def __post_init__(self) -> None:
        """Refuse an epsilon before a space is read."""
        check_positive("the mechanism", "epsilon", self.epsilon)

    def build(self, space: "Space") -> "WordMechanism":
        """The mechanism on a space.

        Raises:
            InputError: a parameter out of range.
        """
        from deniable.registry import mechanism

        return mechanism(self.mechanism, space, epsilon=self.epsilon)


@dataclasses.dataclass(frozen=True, kw_only=True)
class OutputOptions:
    """Output.

    Attributes:
        sign_key: key written by deniable key --sign; signs what is written, in CERTIFICATE.sig.
        force: overwrite existing output files.
        verbose: print everything that the certificate says.
    """

    sign_key: Path | None = dataclasses.field(default=None, metadata=option(metavar="FILE"))
    force: bool = False
    verbose: bool = False

    def read_signing_key(self) -> "Ed25519PrivateKey | None":
        """The key of ``--sign-key``; None where it was not given.

        Raises:
            InputError: the file holds none.
        """
        from deniable.core.signatures import read_signing_key

        return None if self.sign_key is None else read_signing_key(self.sign_key)
