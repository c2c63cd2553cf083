"""Options that several commands share, and what they stand for. Heavy imports wait for use."""

import difflib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from deniable.core.errors import InputError

if TYPE_CHECKING:
    from deniable.space import Space
    from deniable.words import WordMechanism
    from deniable.words.prior import Prior

_SHOWN_NAMES = 10
"""Names that a message lists."""
_TASK_PHRASES = {"image": "of images", "text": "of texts", "rewrite": "for rewriting"}
"""What models of each task are called."""

EpsilonOption = Annotated[
    float, typer.Option("--epsilon", help="Privacy parameter per unit of distance: smaller is more private.")
]
MechanismOption = Annotated[
    str,
    typer.Option(
        "--mechanism",
        help="auto, calibrated, tight, tem, multivariate-laplace or truncated-gumbel. "
        "auto is tight where that is quick and keeps more, else calibrated.",
    ),
]
SpaceOption = Annotated[
    str,
    typer.Option(
        "--space",
        help="glove (50,000 words that come with deniable), or a file: GloVe or word2vec text, word2vec .bin, .npz.",
    ),
]
FormatOption = Annotated[
    str | None, typer.Option("--format", help="csv, tsv, jsonl, parquet or txt; by default from the ending.")
]
PriorOption = Annotated[
    Path | None,
    typer.Option(
        "--prior",
        metavar="FILE",
        help="Public word counts, a word and its count on each line, never made from private texts.  "
        "[default: Zipf's law by the space's ranks]",
        show_default=False,
    ),
]
DelimiterOption = Annotated[str | None, typer.Option(help="Of csv and tsv.  [default: , and tab]", show_default=False)]
MetricOption = Annotated[str, typer.Option("--metric", help="euclidean, manhattan, chebyshev or angular.")]


def unknown_name_error(kind: str, name: str, known_names: Sequence[str]) -> InputError:
    """Return the error for a name that is not known, with the nearest one that is."""
    close_matches = difflib.get_close_matches(name.lower(), known_names, n=1)
    hint = f"Did you mean {close_matches[0]!r}?" if close_matches else f"Known: {', '.join(known_names)}."
    return InputError(f"Unknown {kind} {name!r}. {hint}")


def format_names(names: Sequence[str]) -> str:
    """Return the first of some names, and how many there are besides."""
    shown_names = ", ".join(names[:_SHOWN_NAMES])
    return shown_names if len(names) <= _SHOWN_NAMES else f"{shown_names} and {len(names) - _SHOWN_NAMES:,} more"


def select_given(options: Mapping[str, object]) -> dict[str, object]:
    """Return the options that were given."""
    return {name: value for name, value in options.items() if value is not None}


def check_task_options(task: str, options_by_task: Mapping[str, Mapping[str, object]]) -> None:
    """Raise `InputError` where an option of other tasks alone was given.

    Args:
        task: the one asked for.
        options_by_task: the options of every task.
    """
    for other, options in options_by_task.items():
        for name in select_given(options):
            if name not in options_by_task[task]:
                raise InputError(
                    f"--{name.replace('_', '-')} is for models {_TASK_PHRASES[other]}. Got one {_TASK_PHRASES[task]}: leave it out."
                )


def none_if_default(default: str, value: str) -> str | None:
    """Return a value that was chosen; None for the default, which says nothing."""
    return None if value == default else value


def find_vector_files(source: str) -> Path:
    """Return the file, or the folder of files, that a space is read from."""
    from deniable.space.sources import find_glove_folder  # noqa: PLC0415

    return find_glove_folder() if source == "glove" else Path(source)


def build_space(source: str, metric: str) -> "Space":
    """Return the space that the options describe.

    Raises:
        InputError: a file that cannot be read, or an unknown metric.
    """
    from deniable.core.cache import find_cache_fault  # noqa: PLC0415
    from deniable.space import Space  # noqa: PLC0415

    fault = find_cache_fault()
    if fault:
        typer.echo(f"note: {fault}", err=True)
    return Space.glove(metric=metric) if source == "glove" else Space.load(source, metric=metric)


def build_mechanism_from_options(name: str, space: str, metric: str, epsilon: float) -> "WordMechanism":
    """Return the mechanism that the options describe.

    Raises:
        InputError: unknown name, a file that cannot be read, or a parameter out of range.
    """
    check_mechanism_options(name, epsilon)  # before a space is read
    return build_word_mechanism(build_space(space, metric), name, epsilon)


def build_word_mechanism(space: "Space", name: str, epsilon: float) -> "WordMechanism":
    """Return the mechanism of that name on a space.

    Raises:
        InputError: unknown name, or a parameter out of range.
    """
    from deniable.registry.words import WORD_MECHANISMS, choose_word_mechanism  # noqa: PLC0415

    check_mechanism_options(name, epsilon)
    return choose_word_mechanism(space, epsilon) if name == "auto" else WORD_MECHANISMS[name](space, epsilon=epsilon)


def check_mechanism_options(name: str, epsilon: float) -> None:
    """Raise `InputError` for an unknown mechanism or an epsilon out of range, before a space is read."""
    from deniable.core.errors import check_positive  # noqa: PLC0415
    from deniable.registry.words import WORD_MECHANISMS  # noqa: PLC0415

    known_names = ["auto", *WORD_MECHANISMS]
    if name not in known_names:
        raise unknown_name_error("mechanism", name, known_names)
    check_positive(WORD_MECHANISMS[name].__name__ if name in WORD_MECHANISMS else "the mechanism", "epsilon", epsilon)


def load_word_prior(path: Path | None, space: "Space") -> "Prior":
    """Return the prior of a file of public counts, and say what of it was left out; Zipf's law for None.

    Raises:
        InputError: the file cannot be read, or has no usable counts.
    """
    from deniable.words.prior import build_prior, read_prior  # noqa: PLC0415

    if path is None:
        return build_prior(space)
    prior = read_prior(path, space)
    for note in prior.notes:
        typer.echo(f"{path}: {note}", err=True)
    return prior


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
