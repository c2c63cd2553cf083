"""What options stand for: spaces, mechanisms, priors, lists of words. Heavy imports wait for use."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from deniable.core.errors import InputError, check_positive

if TYPE_CHECKING:
    from deniable.models.text.substitutions import SubstituteSource, Substitutions
    from deniable.space import Space
    from deniable.words import WordMechanism
    from deniable.words.prior import Prior


def find_vector_files(source: str) -> list[Path]:
    """Return the files, or the folders of files, that a space may be read from."""
    from deniable.space.near_lists import SHIPPED_FOLDER
    from deniable.space.sources import find_glove_folder

    if source != "glove":
        return [Path(source)]
    try:
        return [SHIPPED_FOLDER, find_glove_folder()]
    except InputError:  # steps need no vectors; what does says that they are missing
        return [SHIPPED_FOLDER]


def find_word_files(source: str, hide: str) -> list[Path]:
    """Return the files that a space and what it hides are read from."""
    from deniable.space.word_classes import BUILTIN_CLASSES

    lists = [Path(entry) for entry in _split_classes(hide) if entry not in BUILTIN_CLASSES]
    return [*find_vector_files(source), *(path for path in lists if os.path.isfile(path))]  # noqa: PTH113 - any name


def _split_classes(hide: str) -> list[str]:
    return [] if hide.strip() == "none" else [entry.strip() for entry in hide.split(",")]


def build_space(source: str, metric: str, hide: str) -> "Space":
    """Return the space that the options describe.

    Args:
        source: ``glove``, or a file of words with vectors.
        metric: its name.
        hide: classes of words, or files that list one, separated by commas; ``none`` for nothing.

    Raises:
        InputError: a file that cannot be read, or an unknown class.
    """
    from deniable.core.cache import find_cache_fault
    from deniable.space import Space

    fault = find_cache_fault()
    if fault:
        typer.echo(f"note: {fault}", err=True)
    hidden = _split_classes(hide)
    if source == "glove":
        return Space.glove(metric=metric, hide=hidden)
    return Space.load(source, metric=metric, hide=hidden)


def build_word_mechanism(space: "Space", name: str, epsilon: float) -> "WordMechanism":
    """Return the mechanism of that name on a space.

    Raises:
        InputError: a parameter out of range.
    """
    from deniable.registry.words import mechanism

    check_mechanism_epsilon(name, epsilon)
    return mechanism(name, space, epsilon=epsilon)


def check_mechanism_epsilon(name: str, epsilon: float) -> None:
    """Raise `InputError` for an epsilon that no mechanism takes, before a space is read."""
    from deniable.registry.words import WORD_MECHANISMS

    check_positive(WORD_MECHANISMS[name].__name__ if name in WORD_MECHANISMS else "the mechanism", "epsilon", epsilon)


def build_optional_mechanism(space: "Space", name: str | None, epsilon: float | None) -> "WordMechanism | None":
    """Return the mechanism that ``--mechanism`` and ``--mechanism-epsilon`` name, or None for neither.

    Raises:
        InputError: one without the other, or a mechanism that cannot be built.
    """
    if name is None and epsilon is None:
        return None
    if name is None or epsilon is None:
        raise InputError("--mechanism and --mechanism-epsilon belong together: give both, for example tem and 3.")
    return build_word_mechanism(space, name, epsilon)


def read_optional_substitutions(space: "Space", path: Path | None) -> "Substitutions | None":
    """Return the substitutions of a file; None for None.

    Raises:
        InputError: it cannot be read, or the space has none of its words.
    """
    from deniable.models.text.substitutions import read_substitutions

    return None if path is None else read_substitutions(path, space)


def build_substitute_source(
    space: "Space", substitutions: Path | None, mechanism: str | None, epsilon: float | None
) -> "SubstituteSource | None":
    """Return where new words come from: the substitutions or the mechanism that options name, or None.

    Raises:
        InputError: both, a mechanism without epsilon, or one that cannot be read or built.
    """
    if substitutions is None:
        return build_optional_mechanism(space, mechanism, epsilon)
    if mechanism is not None or epsilon is not None:
        raise InputError("--substitutions excludes --mechanism and --mechanism-epsilon: leave one of them out.")
    return read_optional_substitutions(space, substitutions)


def describe_substitutions(path: Path | None, source: "SubstituteSource | None") -> list[str]:
    """Return what was left out of the file of substitutions, one line each, for the owner."""
    return [] if path is None else [f"{path}: {note}" for note in getattr(source, "notes", ())]


def load_word_prior(path: Path | None, space: "Space") -> "Prior":
    """Return the prior of a file of public counts, and say what of it was left out; Zipf's law for None.

    Raises:
        InputError: the file cannot be read, or has no usable counts.
    """
    from deniable.words.prior import build_prior, read_prior

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
