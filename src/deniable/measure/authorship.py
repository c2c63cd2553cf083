"""Authorship attribution: how often an attacker names the author of a private text."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from deniable.core.errors import InputError, import_extra
from deniable.core.parallel import parallel_map
from deniable.measure.intervals import Estimate
from deniable.measure.labels import (
    BooleanMask,
    ClassCodes,
    FoldRunner,
    RowNumbers,
    TrainTestSplit,
    check_versions,
    encode_labels,
    estimate_accuracy,
    run_folds,
    stratified_folds,
)

_HASHING_OPTIONS = {"n_features": 1 << 18, "norm": None, "alternate_sign": False, "dtype": np.float32}
_STYLE_VIEWS = (
    {"analyzer": "word", "ngram_range": (1, 2), "token_pattern": r"(?u)\b\w+\b"},
    {"analyzer": "char_wb", "ngram_range": (2, 4)},
)
"""Features of style: words and pairs of words, and runs of 2 to 4 characters, punctuation included."""

StyleCounts = tuple[Any, ...]
"""Of n texts, for each view: scikit-learn's sparse counts (n, 2^18)."""


@dataclasses.dataclass(frozen=True)
class AuthorshipResult:
    """How often an attacker who knows other texts of all authors names the author of a text.

    The intervals are over the texts, given the trained attackers: they do not cover that other training texts, or
    other noise, would have given other attackers.

    Attributes:
        ceiling: share of original texts whose author is named by an attacker trained on original texts.
        static: share of private texts whose author is named by an attacker trained on original texts.
        adaptive: share of private texts whose author is named by an attacker trained on private texts.
        majority: share of the author with the most texts, the accuracy of always naming that author.
        authors: number of authors.
        texts: number of attacked texts.
        left_out: number of texts left out, since their author has no other text.
        folds: number of folds.
    """

    ceiling: Estimate
    static: Estimate
    adaptive: Estimate
    majority: float
    authors: int
    texts: int
    left_out: int
    folds: int


def measure_authorship(
    texts: Sequence[str],
    private_versions: Mapping[str, Sequence[str]],
    authors: Sequence[str | None],
    *,
    folds: int = 5,
    seed: int = 0,
) -> dict[str, AuthorshipResult]:
    """Return how often attackers name the authors of private versions of a table, in cross-validation.

    The attackers are linear support vector machines on TF-IDF weights of words and runs of characters. They are
    trained on all folds but one and name the authors of the fold left out: the static attacker has original texts,
    the adaptive attacker private texts (Utpala, Hooker and Chen 2023, "Locally Differentially Private Document
    Generation Using Zero Shot Prompting"). What a privatizer leaves as it is, such as punctuation and lengths, helps
    them. The folds are the same for all versions, and the attackers on originals are trained once for all of them.

    Args:
        texts: n original texts.
        private_versions: name -> n private texts, in the order of the rows.
        authors: (n,) the author of each text. The texts of authors with only one text are left out, and counted.
        folds: number of folds.
        seed: public; the folds follow from it.

    Returns:
        name -> result, for each private version.

    Raises:
        InputError: columns that do not match, a missing author, fewer than 2 authors with 2 texts, or fewer texts
            than folds; or scikit-learn is not installed.
    """
    check_versions(texts, private_versions, len(authors))
    rows, codes = select_attackable_rows(authors)
    splits = stratified_folds(codes, folds, seed, [texts[row] for row in rows])
    columns = [[column[row] for row in rows] for column in (texts, *private_versions.values())]
    original_counts, *private_counts = parallel_map(_count_style, columns)
    runners = [
        _build_fold_runner(original_counts, [original_counts, *private_counts], codes),
        *(_build_fold_runner(other, [other], codes) for other in private_counts),
    ]
    (ceiling_hits, *static_hits), *adaptive_hits = run_folds(runners, splits)
    return {
        name: AuthorshipResult(
            ceiling=estimate_accuracy(ceiling_hits),
            static=estimate_accuracy(static),
            adaptive=estimate_accuracy(adaptive),
            majority=float(np.bincount(codes).max() / len(codes)),
            authors=len(np.unique(codes)),
            texts=len(codes),
            left_out=len(texts) - len(codes),
            folds=folds,
        )
        for name, static, (adaptive,) in zip(private_versions, static_hits, adaptive_hits, strict=True)
    }


def select_attackable_rows(authors: Sequence[str | None]) -> tuple[RowNumbers, ClassCodes]:
    """Return the rows whose authors are known and have at least two texts, and their authors' numbers.

    Raises:
        InputError: fewer than 2 authors with 2 texts.
    """
    codes = encode_labels(authors, "author").codes
    counts = np.bincount(codes[codes >= 0])
    if (counts > 1).sum() < 2:  # noqa: PLR2004 - one author alone leaves nothing to tell apart
        raise InputError(
            f"An attack on authorship needs at least 2 authors with 2 texts each. Got {(counts > 1).sum()} such among "
            f"{len(counts)} authors: give more texts of each, or name another column."
        )
    rows = np.flatnonzero((codes >= 0) & (counts[codes] > 1))
    return rows, np.unique(codes[rows], return_inverse=True)[1].astype(np.int64)


def _count_style(column: Sequence[str]) -> StyleCounts:
    """Count the features of style once for all folds: hashing needs no vocabulary, so nothing is learned from them."""
    # A lone surrogate stands for no character and cannot be hashed.
    encodable_texts = [text.encode("utf-8", "replace").decode("utf-8") for text in column]
    make_vectorizer = _import_sklearn("feature_extraction.text").HashingVectorizer
    return tuple(make_vectorizer(**_HASHING_OPTIONS, **view).transform(encodable_texts) for view in _STYLE_VIEWS)


def _build_fold_runner(
    train_counts: StyleCounts, test_versions: Sequence[StyleCounts], codes: ClassCodes
) -> FoldRunner:
    """Return the runner that trains an attacker on one version and tests it on others."""

    def run_fold(split: TrainTestSplit) -> list[BooleanMask]:
        known_codes = np.unique(codes[split.train])
        if len(known_codes) == 1:  # equal texts share a fold, and those left are of one author
            return [known_codes[0] == codes[split.test] for _ in test_versions]
        compute_weights, model = _fit_attacker([view[split.train] for view in train_counts], codes[split.train])
        return [
            model.predict(compute_weights([view[split.test] for view in version_counts])) == codes[split.test]
            for version_counts in test_versions
        ]

    return run_fold


def _fit_attacker(views: Sequence[Any], codes: ClassCodes) -> tuple[Callable[[Sequence[Any]], Any], Any]:
    """Return the function from counts to weights, and the attacker trained on those weights."""
    transformers = []
    for view in views:
        # Only columns of the training texts, so that memory follows them. One column stays where texts have no word.
        columns = np.union1d(0, np.flatnonzero(view.getnnz(axis=0)))
        transformer = _import_sklearn("feature_extraction.text").TfidfTransformer(sublinear_tf=True)
        transformers.append((columns, transformer.fit(view[:, columns])))

    def compute_weights(given_views: Sequence[Any]) -> Any:  # noqa: ANN401 - scikit-learn's sparse matrix
        pairs = zip(transformers, given_views, strict=True)
        weights = [transformer.transform(view[:, columns]) for (columns, transformer), view in pairs]
        return sparse.hstack(weights, format="csr")

    model = _import_sklearn("svm").LinearSVC(max_iter=10_000, random_state=0)
    return compute_weights, model.fit(compute_weights(views), codes)


def _import_sklearn(name: str) -> Any:  # noqa: ANN401 - a module without types
    return import_extra(f"sklearn.{name}", "An attack on authorship", "measure")
