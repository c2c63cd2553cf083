"""Who wrote a private text: how often attackers name the author."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer
from sklearn.svm import LinearSVC

from deniable.core.errors import InputError
from deniable.core.intervals import Estimate, estimate_share
from deniable.core.parallel import parallel_map
from deniable.measure.labels import (
    ClassCodes,
    FoldRunner,
    HitMask,
    RowNumbers,
    TrainTestSplit,
    check_versions,
    encode_labels,
    run_folds,
    stratified_folds,
)

_HASHING_OPTIONS = {"n_features": 1 << 18, "norm": None, "alternate_sign": False, "dtype": np.float32}
_STYLE_VIEWS = (
    {"analyzer": "word", "ngram_range": (1, 2), "token_pattern": r"(?u)\b\w+\b"},
    {"analyzer": "char_wb", "ngram_range": (2, 4)},
)
"""What a style is read from: words and pairs of them, and runs of 2 to 4 characters, punctuation among them."""

StyleCounts = tuple[Any, ...]
"""Of n texts, for each view: scikit-learn's sparse counts (n, 2^18)."""


@dataclasses.dataclass(frozen=True)
class AuthorshipResult:
    """How often the author of a text is named by an attacker who knows other texts of all authors.

    The intervals are over the texts, with the attackers as they came out: they leave out that other texts to learn
    from, or other noise, would have given other attackers.

    Attributes:
        ceiling: share of original texts named rightly after learning from original ones.
        static: share of private texts named rightly after learning from original ones.
        adaptive: share of private texts named rightly after learning from private ones.
        majority: share of the author with most texts: what a blind guess gets right.
        authors: whose texts were attacked.
        texts: attacked.
        left_out: texts that were not, since their author has no other.
        folds: of the cross-validation.
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
    texts: Sequence[str], private: Sequence[str], authors: Sequence[str | None], *, folds: int = 5, seed: int = 0
) -> AuthorshipResult:
    """Return how often the authors of one private version of a table are named; see `measure_authorships`."""
    return measure_authorships(texts, {"private": private}, authors, folds=folds, seed=seed)["private"]


def measure_authorships(
    texts: Sequence[str],
    private_versions: Mapping[str, Sequence[str]],
    authors: Sequence[str | None],
    *,
    folds: int = 5,
    seed: int = 0,
) -> dict[str, AuthorshipResult]:
    """Return how often the authors of private versions of a table are named, in cross-validation.

    The attackers are linear support vector machines on TF-IDF weights of words and runs of characters. They learn
    from all folds but one and name the authors of that one: the static attacker knows original texts, the adaptive
    one private texts (Utpala, Hooker, Chen 2023, "Locally Differentially Private Document Generation Using Zero
    Shot Prompting"). What passes through a privatizer, such as punctuation and lengths, helps them. The folds are
    the same for all versions, and the original is learned once for all of them.

    Args:
        texts: n original texts.
        private_versions: name -> n private texts, in the order of the rows.
        authors: (n,) who wrote each text. The texts of authors with only one are left out, and counted.
        folds: of the cross-validation.
        seed: public; the folds follow from it.

    Raises:
        InputError: columns that do not match, a missing author, fewer than 2 authors with 2 texts, or fewer texts
            than folds.
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
    majority_share = float(np.bincount(codes).max() / len(codes))
    return {
        name: AuthorshipResult(
            _estimate_named_share(ceiling_hits),
            _estimate_named_share(static_version_hits),
            _estimate_named_share(adaptive_version_hits),
            majority_share,
            len(np.unique(codes)),
            len(codes),
            len(texts) - len(codes),
            folds,
        )
        for name, static_version_hits, (adaptive_version_hits,) in zip(
            private_versions, static_hits, adaptive_hits, strict=True
        )
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
            f"Attackers need at least 2 authors with 2 texts each. Got {(counts > 1).sum()} such among {len(counts)} "
            "authors: give more texts of each, or name another column."
        )
    rows = np.flatnonzero((codes >= 0) & (counts[codes] > 1))
    return rows, np.unique(codes[rows], return_inverse=True)[1].astype(np.int64)


def _count_style(column: Sequence[str]) -> StyleCounts:
    """Count once for all folds what styles are read from: hashing needs no vocabulary, so nothing is learned."""
    # A lone surrogate cannot be hashed, and stands for no character.
    encodable_texts = [text.encode("utf-8", "replace").decode("utf-8") for text in column]
    return tuple(HashingVectorizer(**_HASHING_OPTIONS, **view).transform(encodable_texts) for view in _STYLE_VIEWS)


def _build_fold_runner(
    train_counts: StyleCounts, test_versions: Sequence[StyleCounts], codes: ClassCodes
) -> FoldRunner:
    """Return the trial of an attacker who learns from one version and names the authors of others."""

    def run_fold(split: TrainTestSplit) -> list[HitMask]:
        known_codes = np.unique(codes[split.train])
        if len(known_codes) == 1:  # equal texts are held together, and these were all of one author
            return [known_codes[0] == codes[split.test] for _ in test_versions]
        compute_weights, model = _fit_attacker([view[split.train] for view in train_counts], codes[split.train])
        return [
            model.predict(compute_weights([view[split.test] for view in version_counts])) == codes[split.test]
            for version_counts in test_versions
        ]

    return run_fold


def _fit_attacker(views: Sequence[Any], codes: ClassCodes) -> tuple[Callable[[Sequence[Any]], Any], LinearSVC]:
    """Return what turns counts into weights, and the attacker who learned from those weights."""
    # Only what was met in training, so that memory follows the texts. One column stays where texts have no word.
    seen_columns = [np.union1d(0, np.flatnonzero(view.getnnz(axis=0))) for view in views]
    transformers = [
        TfidfTransformer(sublinear_tf=True).fit(view[:, columns])
        for view, columns in zip(views, seen_columns, strict=True)
    ]

    def compute_weights(given_views: Sequence[Any]) -> Any:  # noqa: ANN401 - scikit-learn's sparse matrix
        weights = [
            transformer.transform(view[:, columns])
            for transformer, view, columns in zip(transformers, given_views, seen_columns, strict=True)
        ]
        return sparse.hstack(weights, format="csr")

    return compute_weights, LinearSVC(max_iter=10_000, random_state=0).fit(compute_weights(views), codes)


def _estimate_named_share(hits: HitMask) -> Estimate:
    return estimate_share(int(hits.sum()), len(hits))
