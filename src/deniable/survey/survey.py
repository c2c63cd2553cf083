"""The survey: every way to release one table, with the same classifiers, folds and attackers."""

import dataclasses
import functools
import platform
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Protocol

import numpy as np

from deniable import __version__
from deniable.core.errors import InputError, import_extra
from deniable.core.parallel import count_cores
from deniable.measure.attackers.language_model import TrigramModel, WordNumbers, measure_perplexity, number_texts
from deniable.measure.attackers.reader import Reader
from deniable.measure.authorship import AuthorshipResult, measure_authorship
from deniable.measure.classifiers import ClassifierMaker, build_classifier
from deniable.measure.intervals import Estimate
from deniable.measure.labels import BooleanMask, FoldRunner, RowNumbers, run_folds
from deniable.measure.linkage import measure_linkage
from deniable.measure.membership import measure_membership
from deniable.measure.roc import MembershipResult
from deniable.measure.utility import UtilityResult, build_fold_runner, compare_classifiers
from deniable.space import Space
from deniable.survey.limits import Limits, Need
from deniable.survey.results import KINDS, Result, Survey, TableSummary, advise
from deniable.survey.table import Plan, Table, sample_rows
from deniable.words.prior import Prior

ProgressStage = Callable[[str], AbstractContextManager[None]]
"""Entered with the name of each part of the work, such as `deniable.cli.progress.show_passes`."""
DEFAULT_LIMITS = Limits()


class Way(Protocol):
    """A way to release a table. To survey another one, write a class with these two members."""

    @property
    def name(self) -> str:
        """Name, such as ``records, epsilon 8``."""

    def measure(self, bench: "Bench") -> Result:
        """Return the figures of this way on a table, from drafts with the public seed of the plan.

        Raises:
            InputError: it cannot be taken on this table.
        """


@dataclasses.dataclass(frozen=True, eq=False)
class Bench:
    """A table, and what every way to release it is measured with: the same folds, classifiers and attackers.

    Attributes:
        table: private.
        plan: sizes and seed.
        space: the words that attackers read.
        prior: public word frequencies.
        reader: an attacker on words with a language model; None for none.
        watch: words of which it is counted how often the reader guesses them.

    Raises:
        InputError: the words have no vectors, or these are not installed.
    """

    table: Table
    plan: Plan
    space: Space
    prior: Prior
    reader: Reader | None = None
    watch: Collection[str] = ()

    def __post_init__(self) -> None:
        """Read the vectors of the words, which an attacker links texts by, before anything is measured."""
        self.space.vectors  # noqa: B018 - refuses words that have none

    @functools.cached_property
    def numbered_texts(self) -> list[WordNumbers]:
        """The texts as word numbers."""
        return number_texts(self.space, self.table.texts)

    @functools.cached_property
    def rows_with_words(self) -> RowNumbers:
        """Rows of the texts that have a word."""
        return np.flatnonzero([len(words) for words in self.numbered_texts])

    @functools.cached_property
    def attacked_rows(self) -> RowNumbers:
        """Rows whose words are attacked."""
        return sample_rows(self.rows_with_words, self.plan.attacked, self.plan.seed)

    @functools.cached_property
    def attacker_texts(self) -> list[WordNumbers] | None:
        """Texts that the attacker on words has read: public ones, or those of the table equal to no attacked one.

        None where the latter are fewer than the attacked ones: then either half of these serves better, for the other.
        """
        if self.table.known is not None:
            return number_texts(self.space, [text or "" for text in self.table.known])
        targets = {self.numbered_texts[row].tobytes() for row in self.attacked_rows.tolist()}
        others = [words for words in self.numbered_texts if len(words) and words.tobytes() not in targets]
        return others if len(others) >= len(self.attacked_rows) else None

    @functools.cached_property
    def _original_hits(self) -> BooleanMask:
        """Whether classifiers trained on the originals were right, split after split."""
        return run_folds([self.make_runner(self.table.texts)], self.table.splits)[0][0]

    @functools.cached_property
    def _fluency_judge(self) -> tuple[TrigramModel | None, RowNumbers]:
        """A language model of half of the texts, None where it has no known word; and the rows of the other half."""
        order = np.random.default_rng(self.plan.seed).permutation(len(self.table.texts))
        half = len(order) // 2
        sequences = [self.numbered_texts[row] for row in order[:half].tolist()]
        has_words = any((words < len(self.space)).any() for words in sequences)
        return TrigramModel.fit(sequences, len(self.space)) if has_words else None, np.sort(order[half:])

    def make_runner(self, texts: Sequence[str]) -> FoldRunner:
        """Return what trains a classifier on a version of the table, row by row, and tests it on the originals."""
        return build_fold_runner(
            functools.partial(build_classifier, self.plan.classifier, self.plan.seed),
            self.table.select_learned(texts),
            self.table.select_learned(self.table.texts),
            self.table.codes,
        )

    def test_classifier(self, runner: FoldRunner, folds: int | None = None) -> UtilityResult | None:
        """Return the scores of a classifier beside that trained on the originals; None without labels.

        Args:
            runner: trains and tests it.
            folds: number of folds that it is tested on, the first ones, with the classes that occur there; None for
                all.
        """
        if not self.table.classes:
            return None
        splits = self.table.splits[:folds]
        hits = run_folds([runner], splits)[0][0]
        codes = np.unique(self.table.tested_codes[: len(hits)], return_inverse=True)[1]
        originals = self._original_hits[: len(hits)]
        return compare_classifiers(originals, hits, codes, self.plan.classifier, len(splits))

    def attack_membership(
        self, private: Sequence[str] | None = None, classifier: ClassifierMaker | None = None
    ) -> dict[str, MembershipResult]:
        """Return attacks on classifiers trained on the originals, or on private texts of all rows; none without labels.

        Args:
            private: n private texts; None for the originals.
            classifier: returns from a seed what is attacked; None for the plan's.
        """
        if not self.table.classes:
            return {}
        places = sample_rows(np.arange(len(self.table.learned)), self.plan.members, self.plan.seed)
        texts, private_texts = (
            None if column is None else [column[row] for row in self.table.learned[places].tolist()]
            for column in (self.table.texts, private)
        )
        return measure_membership(
            texts or [],
            self.table.codes[places],
            private=private_texts,
            classifier=classifier or self.plan.classifier,
            shadows=self.plan.shadows,
            seed=self.plan.seed,
        )

    def attack_authorship(self, private: Sequence[str]) -> AuthorshipResult | None:
        """Return attacks on the authors of private texts of all rows; None without authors."""
        if self.table.authors is None:
            return None
        folds, seed = self.plan.folds, self.plan.seed
        versions = {"private": private}
        return measure_authorship(self.table.texts, versions, self.table.authors, folds=folds, seed=seed)["private"]

    def link(self, texts: Sequence[str], *, is_aligned: bool) -> Estimate:
        """Return the share of private texts of all rows whose original is found; see `measure_linkage`."""
        rows = sample_rows(np.arange(len(self.table.texts)), self.plan.linked, self.plan.seed)
        released = [texts[row] for row in rows.tolist()]
        return measure_linkage(self.space, self.table.texts, released, rows, is_aligned=is_aligned)

    def measure_perplexity(self, texts: Sequence[str], *, is_by_row: bool = True) -> Estimate | None:
        """Return how surprising texts are to the language model; None where none of their words is known.

        Args:
            texts: one for each row, of which only those are judged that the model has not read; or texts of no row.
            is_by_row: which of the two.
        """
        model, rows = self._fluency_judge
        sequences = number_texts(self.space, [texts[row] for row in rows.tolist()] if is_by_row else texts)
        if model is None or not any((words < len(self.space)).any() for words in sequences):
            return None
        return measure_perplexity(model, sequences)

    def measure_originals(self) -> Result:
        """Return the figures of the originals, which releases are compared with."""
        return Result(
            kind="originals",
            name="originals",
            utility=self.test_classifier(self.make_runner(self.table.texts)) if self.table.classes else None,
            membership=self.attack_membership(),
            perplexity=self.measure_perplexity(self.table.texts),
        )

    def summarize(self) -> TableSummary:
        """Return what the table holds.

        Raises:
            InputError: no word of it is in the vocabulary.
        """
        table, lengths = self.table, np.array([len(words) for words in self.numbered_texts])
        unknown = int(sum((words == len(self.space)).sum() for words in self.numbered_texts))
        if unknown == lengths.sum():
            raise InputError(f"None of the {unknown} words of the texts is in the vocabulary: use other vectors.")
        return TableSummary(
            rows=len(table.texts),
            whole=table.table_rows,
            empty=sum(not text.strip() for text in table.texts),
            words=int(lengths.sum()),
            unknown=unknown,
            median=int(np.sort(lengths)[(len(lengths) - 1) // 2]),
            longest=int(lengths.max()),
            classes=table.classes,
            learned=len(table.learned),
            unlabelled=table.unlabelled,
            lone=len(table.texts) - len(table.learned) - table.unlabelled if table.classes else 0,
            unit=table.unit,
            units=table.units,
        )


def survey_table(
    bench: Bench,
    ways: Sequence[Way],
    *,
    limits: Limits = DEFAULT_LIMITS,
    need: Need = "texts",
    progress: ProgressStage = lambda _: nullcontext(),
) -> Survey:
    """Return every way to release a table with its guarantee, its attackers and its use.

    All draws have a public seed: they serve to measure, and are never released.

    Args:
        bench: the table, and what it is measured with.
        ways: to release it, with different names.
        limits: what counts as protected and as useful.
        need: what is needed of the table.
        progress: function from the name of each part of the work to a context that is entered for it.

    Raises:
        InputError: the table has no word of the vocabulary, or no way can be taken on it.
    """
    names = [way.name for way in ways]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"The ways of a survey must differ. Got {name!r} twice: give each once.")
    table, plan, space = bench.table, bench.plan, bench.space
    summary = bench.summarize()
    seconds: dict[str, float] = {}

    @contextmanager
    def time_stage(name: str) -> Iterator[None]:
        start = time.perf_counter()
        with progress(name):
            yield
        seconds[name] = round(time.perf_counter() - start, 2)

    with time_stage("measuring the originals"):
        originals = bench.measure_originals()
    results: dict[str, Result] = {}
    failures: dict[str, str] = {}
    for way in ways:
        with time_stage(f"measuring {way.name}"):
            try:
                result = way.measure(bench)
                results.setdefault(result.name, result)  # two shares of guessed words may have one epsilon
            except InputError as error:
                failures[way.name] = str(error)
    if not results:
        raise InputError(next(iter(failures.values()), "A survey needs at least one way to release. Got none."))
    ordered = sorted(results.values(), key=lambda one: (KINDS.index(one.kind), one.epsilon or 0.0))
    return Survey(
        table=summary,
        space={
            "source": space.source,
            "words": len(space),
            "metric": space.metric_name,
            "fingerprint": space.fingerprint,
        },
        prior=bench.prior.name,
        blind=bench.prior.blind_success,
        results=tuple(ordered),
        originals=originals,
        advice=advise(ordered, limits, need),
        failures=failures,
        about={
            "deniable": __version__,
            "python": platform.python_version(),
            "numpy": np.__version__,
            "scikit-learn": import_extra("sklearn", "A survey", "measure").__version__,
            "cores": count_cores(),
            "date": time.strftime("%Y-%m-%d", time.gmtime()),
            **dataclasses.asdict(plan),
            "attacked": len(bench.attacked_rows),
            "known": len(table.known or ()),
            "read": len(bench.attacker_texts or ()),
            "members": min(plan.members, len(table.learned)),
            "seconds": seconds,
        },
    )
