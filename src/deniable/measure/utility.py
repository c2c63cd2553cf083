"""What a classifier loses that learns from private texts instead of the original ones."""

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from deniable.errors import InputError
from deniable.measure.classifiers import CLASSIFIERS, Classifier
from deniable.measure.estimate import Estimate, paired_difference, share
from deniable.measure.folds import Hits, Split, Trial, check_texts, deal, pooled
from deniable.measure.labels import Codes


@dataclasses.dataclass(frozen=True)
class Utility:
    """How often the class of an original text is named rightly by a classifier that has not seen the text.

    The intervals are over the tested rows: they say how far another sample of rows could move the shares, with
    the classifiers as they came out. They leave out that other training rows, or other noise, would have given
    other classifiers, and that classifiers of different folds have most of their rows in common.

    Attributes:
        original: share named rightly by classifiers that learned from original texts.
        private: the same after learning from private texts.
        lost: original less private, row by row on the same tested rows.
        majority: share of the most frequent class among the tested rows: what a blind guess gets right.
        classifier: its name.
        folds: 0 where the training and test rows were given.
        rows: tested.
    """

    original: Estimate
    private: Estimate
    lost: Estimate
    majority: float
    classifier: str
    folds: int
    rows: int


def utility(
    texts: Sequence[str],
    private: Sequence[str],
    codes: npt.ArrayLike,
    *,
    classifier: str = "tfidf",
    folds: int = 5,
    seed: int = 0,
) -> Utility:
    """Return what is lost by learning from one private version of a table; see `utilities`."""
    given = {"private": private}
    return utilities(texts, given, codes, classifier=classifier, folds=folds, seed=seed)["private"]


def utilities(
    texts: Sequence[str],
    privates: Mapping[str, Sequence[str]],
    codes: npt.ArrayLike,
    *,
    classifier: str = "tfidf",
    folds: int = 5,
    seed: int = 0,
) -> dict[str, Utility]:
    """Return what is lost by learning from private versions of a table, in cross-validation.

    A classifier learns from all folds but one, as they stand in the original or in a private version, and names
    the classes of that one's original texts (with one split: Carvalho et al. 2021, Figure 1). The folds are the
    same for all versions, and the original is learned once for all of them.

    Args:
        texts: n original texts.
        privates: name -> n private texts, in the order of the rows.
        codes: (n,) class numbers, from 0 on; see `deniable.measure.labels.labels`.
        classifier: a name from `deniable.measure.classifiers.CLASSIFIERS`.
        folds: of the cross-validation.
        seed: public; folds and classifiers follow from it.

    Raises:
        InputError: unknown classifier, columns that do not match, fewer rows than folds, or a class with one row.
    """
    labels = _checked(texts, privates, codes)
    counts = np.bincount(labels)
    if (counts == 1).any():
        alone = int(np.flatnonzero((counts == 1)[labels])[0])
        raise InputError(
            f"Every class needs at least 2 rows. {(counts == 1).sum()} have 1, that of row {alone + 1} among them: "
            "leave such rows out, or merge their classes."
        )
    splits = deal(labels, folds, seed, texts)
    return _utilities(texts, privates, labels, splits, classifier, seed, folds)


def utility_split(
    train_texts: Sequence[str],
    train_private: Sequence[str],
    train_codes: npt.ArrayLike,
    test_texts: Sequence[str],
    test_codes: npt.ArrayLike,
    *,
    classifier: str = "tfidf",
    seed: int = 0,
) -> Utility:
    """Return what is lost where training and test rows are given; the test texts are original ones.

    Args:
        train_texts: m original texts to learn from.
        train_private: the same m texts, privatized.
        train_codes: (m,) their class numbers.
        test_texts: n original texts to name the classes of.
        test_codes: (n,) their class numbers.
        classifier: see `utilities`.
        seed: see `utilities`.

    Raises:
        InputError: unknown classifier, columns that do not match, or no rows to learn from or to test on.
    """
    given = {"private": train_private}
    train, test = _checked(train_texts, given, train_codes), _checked(test_texts, {}, test_codes)
    if not len(train) or not len(test):
        raise InputError(
            f"There must be rows to learn from and to test on. Got {len(train)} and {len(test)}: give some."
        )
    labels = np.concatenate([train, test])
    rows = np.arange(len(labels))
    split = Split(rows[: len(train)], rows[len(train) :])
    # Only the training rows of a private version are ever read.
    columns = {name: [*column, *test_texts] for name, column in given.items()}
    return _utilities([*train_texts, *test_texts], columns, labels, [split], classifier, seed, 0)["private"]


def _trial(make: Callable[[], Classifier], learned: Sequence[str], read: Sequence[str], codes: Codes) -> Trial:
    """Return the trial that learns from one version of the table and is tested on another."""
    classes = int(codes.max()) + 1

    def run(split: Split) -> list[Hits]:
        model = make().fit([learned[row] for row in split.train], codes[split.train], classes)
        named = model.probabilities([read[row] for row in split.test]).argmax(axis=1)
        return [named == codes[split.test]]

    return run


def _utilities(
    texts: Sequence[str],
    privates: Mapping[str, Sequence[str]],
    codes: Codes,
    splits: Sequence[Split],
    classifier: str,
    seed: int,
    folds: int,
) -> dict[str, Utility]:
    if classifier not in CLASSIFIERS:
        raise InputError(f"Unknown classifier {classifier!r}. Known: {', '.join(CLASSIFIERS)}.")
    make = functools.partial(CLASSIFIERS[classifier], seed)
    (base,), *others = pooled([_trial(make, column, texts, codes) for column in (texts, *privates.values())], splits)
    tested = codes[np.concatenate([split.test for split in splits])]
    original, majority = _accuracy(base), float(np.bincount(tested).max() / len(tested))
    return {
        name: Utility(original, _accuracy(hits), paired_difference(base, hits), majority, classifier, folds, len(base))
        for name, (hits,) in zip(privates, others, strict=True)
    }


def _accuracy(hits: Hits) -> Estimate:
    return share(int(hits.sum()), len(hits))


def _checked(texts: Sequence[str], privates: Mapping[str, Sequence[str]], codes: npt.ArrayLike) -> Codes:
    """Return the classes as an array, or say what does not match."""
    given = np.asarray(codes)
    if given.ndim != 1 or (given.size and (given.dtype.kind not in "iu" or given.min() < 0)):
        raise InputError("The classes must be whole numbers from 0 on, one for each text: make them with labels().")
    check_texts(texts, privates, len(given))
    return given.astype(np.int64)
