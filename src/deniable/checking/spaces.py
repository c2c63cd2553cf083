"""The space of a certificate, found again: the words that come with the package, or a file that the checker has."""

import re
from collections.abc import Sequence
from pathlib import Path

from deniable.checking.statements import Statements
from deniable.core.errors import InputError, shorten_text
from deniable.space import Space
from deniable.space.metrics import resolve_metric
from deniable.space.word_classes import BUILTIN_CLASSES

_GLOVE_SOURCE = re.compile(r"GloVe 6B(?: 50d)?, ([1-9][0-9]{0,5}) most frequent words")
_METRIC_NAME = re.compile(r"(?P<metric>[^,(]+(?:\([^()]*\))?)(?:, with (?P<classes>.+) hidden)?")
MIN_REBUILT_WORDS, MAX_REBUILT_WORDS = 2, 50_000
"""Words of a space that is built because a certificate says so: proofs take the square of their number."""
MAX_FOLLOWED_EDGES = MAX_REBUILT_WORDS * 16
"""Edges that a search from one word may follow where a certificate says how steps are counted: there is one search a
word, and for some mechanisms a hundred. With twelve neighbours and five steps 12^5 = 250,000 are followed."""


def find_space(
    statements: Statements, given: Space | Path | None, hide: Sequence[str | Path] = ()
) -> tuple[Space | None, str]:
    """Return the space that a certificate is about, or None and why it is not at hand.

    No path or address of the certificate is ever opened.

    Args:
        statements: of the certificate.
        given: the checker's own space, or a file of words and vectors; None for the words of the package.
        hide: files with lists of the hidden classes that do not come with the package.

    Raises:
        InputError: the checker's file cannot be read, or does not suit the metric.
    """
    if isinstance(given, Space):
        return given, ""
    metric, classes = _parse_metric(statements.get_text("space", "metric"))
    unknown = [name for name in classes if name not in BUILTIN_CLASSES]
    if metric is None or len(unknown) > len(hide):
        missing = f"the list of the hidden class {shorten_text(repr(unknown[0]), 40)}" if metric else "the metric"
        return None, f"{missing} is not at hand"
    hidden = [*(name for name in classes if name in BUILTIN_CLASSES), *hide] if classes else []
    if given is not None:
        return Space.load(given, metric=metric, hide=hidden), ""
    match = _GLOVE_SOURCE.fullmatch(statements.get_text("space", "source"))
    size = int(match[1]) if match else 0
    if not MIN_REBUILT_WORDS <= size <= MAX_REBUILT_WORDS:
        return None, f"the space is not at hand (nor one of up to {MAX_REBUILT_WORDS:,} words of GloVe): give its file"
    options = resolve_metric(metric).step_options
    if options and min(size * options.neighbours, options.neighbours**options.reach) > MAX_FOLLOWED_EDGES:
        return None, f"to count {metric} from each of {size:,} words takes long: give the space"
    return Space.glove(size, metric=metric, hide=hidden), ""


def _parse_metric(name: str) -> tuple[str | None, list[str]]:
    """Return the metric that a certificate names, None for one of the owner's own, and the hidden classes."""
    match = _METRIC_NAME.fullmatch(name)
    classes = match["classes"].split(", ") if match and match["classes"] else []
    metric = match["metric"] if match else ""
    try:
        return resolve_metric(metric).name, classes
    except InputError:
        return None, classes
