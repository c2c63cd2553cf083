"""Who wrote a private text: how often attackers name the author."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer
from sklearn.svm import LinearSVC

from deniable.errors import InputError
from deniable.measure.estimate import Estimate, share
from deniable.measure.folds import Hits, Rows, Split, Trial, check_texts, deal, pooled
from deniable.measure.labels import Codes, labels
from deniable.parallel import each

_HASHED = {"n_features": 1 << 18, "norm": None, "alternate_sign": False, "dtype": np.float32}
_VIEWS = (
    {"analyzer": "word", "ngram_range": (1, 2), "token_pattern": r"(?u)\b\w+\b"},
    {"analyzer": "char_wb", "ngram_range": (2, 4)},
)
"""What a style is read from: words and pairs of them, and runs of 2 to 4 characters, punctuation among them."""

Counts = tuple[Any, ...]
"""Of n texts, for each view: scikit-learn's sparse counts (n, 2^18)."""


@dataclasses.dataclass(frozen=True)
class Authorship:
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


def authorship(
    texts: Sequence[str], private: Sequence[str], authors: Sequence[str | None], *, folds: int = 5, seed: int = 0
) -> Authorship:
    """Return how often the authors of one private version of a table are named; see `authorships`."""
    return authorships(texts, {"private": private}, authors, folds=folds, seed=seed)["private"]


def authorships(
    texts: Sequence[str],
    privates: Mapping[str, Sequence[str]],
    authors: Sequence[str | None],
    *,
    folds: int = 5,
    seed: int = 0,
) -> dict[str, Authorship]:
    """Return how often the authors of private versions of a table are named, in cross-validation.

    The attackers are linear support vector machines on TF-IDF weights of words and runs of characters. They learn
    from all folds but one and name the authors of that one: the static attacker knows original texts, the adaptive
    one private texts (Utpala, Hooker, Chen 2023, "Locally Differentially Private Document Generation Using Zero
    Shot Prompting"). What passes through a privatizer, such as punctuation and lengths, helps them. The folds are
    the same for all versions, and the original is learned once for all of them.

    Args:
        texts: n original texts.
        privates: name -> n private texts, in the order of the rows.
        authors: (n,) who wrote each text. The texts of authors with only one are left out, and counted.
        folds: of the cross-validation.
        seed: public; the folds follow from it.

    Raises:
        InputError: columns that do not match, a missing author, fewer than 2 authors with 2 texts, or fewer texts
            than folds.
    """
    check_texts(texts, privates, len(authors))
    rows, codes = attackable(authors)
    splits = deal(codes, folds, seed, [texts[row] for row in rows])
    columns = [[column[row] for row in rows] for column in (texts, *privates.values())]
    original, *others = each(_counted, columns)
    trials = [_trial(original, [original, *others], codes), *(_trial(other, [other], codes) for other in others)]
    (ceiling, *static), *adaptive = pooled(trials, splits)
    majority = float(np.bincount(codes).max() / len(codes))
    return {
        name: Authorship(
            _named(ceiling),
            _named(before),
            _named(after),
            majority,
            len(np.unique(codes)),
            len(codes),
            len(texts) - len(codes),
            folds,
        )
        for name, before, (after,) in zip(privates, static, adaptive, strict=True)
    }


def attackable(authors: Sequence[str | None]) -> tuple[Rows, Codes]:
    """Return the rows whose authors are known and have at least two texts, and their authors' numbers.

    Raises:
        InputError: fewer than 2 authors with 2 texts.
    """
    codes = labels(authors, "author").codes
    counts = np.bincount(codes[codes >= 0])
    if (counts > 1).sum() < 2:  # noqa: PLR2004 - one author alone leaves nothing to tell apart
        raise InputError(
            f"Attackers need at least 2 authors with 2 texts each. Got {(counts > 1).sum()} such among {len(counts)} "
            "authors: give more texts of each, or name another column."
        )
    rows = np.flatnonzero((codes >= 0) & (counts[codes] > 1))
    return rows, np.unique(codes[rows], return_inverse=True)[1].astype(np.int64)


def _counted(column: Sequence[str]) -> Counts:
    """Count once for all folds what styles are read from: hashing needs no vocabulary, so nothing is learned."""
    # A lone surrogate cannot be hashed, and stands for no character.
    written = [text.encode("utf-8", "replace").decode("utf-8") for text in column]
    return tuple(HashingVectorizer(**_HASHED, **view).transform(written) for view in _VIEWS)


def _trial(learned: Counts, versions: Sequence[Counts], codes: Codes) -> Trial:
    """Return the trial of an attacker who learns from one version and names the authors of others."""

    def run(split: Split) -> list[Hits]:
        known = np.unique(codes[split.train])
        if len(known) == 1:  # equal texts are held together, and these were all of one author
            return [known[0] == codes[split.test] for _ in versions]
        weigh, model = _learn([view[split.train] for view in learned], codes[split.train])
        return [model.predict(weigh([view[split.test] for view in counts])) == codes[split.test] for counts in versions]

    return run


def _learn(views: Sequence[Any], codes: Codes) -> tuple[Callable[[Sequence[Any]], Any], LinearSVC]:
    """Return what turns counts into weights, and the attacker who learned from those weights."""
    # Only what was met in training, so that memory follows the texts. One column stays where texts have no word.
    met = [np.union1d(0, np.flatnonzero(view.getnnz(axis=0))) for view in views]
    scales = [TfidfTransformer(sublinear_tf=True).fit(view[:, kept]) for view, kept in zip(views, met, strict=True)]

    def weigh(given: Sequence[Any]) -> Any:  # noqa: ANN401 - scikit-learn's sparse matrix
        parts = [scale.transform(view[:, kept]) for scale, view, kept in zip(scales, given, met, strict=True)]
        return sparse.hstack(parts, format="csr")

    return weigh, LinearSVC(max_iter=10_000, random_state=0).fit(weigh(views), codes)


def _named(hits: Hits) -> Estimate:
    return share(int(hits.sum()), len(hits))
