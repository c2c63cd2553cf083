"""What a survey finds: one record for each way to release the table, all of them as JSON, and what to do."""

import dataclasses
import enum
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from deniable.core.guarantees import encode_nonfinite_numbers
from deniable.measure.authorship import AuthorshipResult
from deniable.measure.entities.survival import EntitySurvival
from deniable.measure.intervals import Estimate, as_exact_estimate
from deniable.measure.reading import Reading
from deniable.measure.recovery import RecoveryResult
from deniable.measure.roc import MembershipResult
from deniable.measure.similarity import TextSimilarity
from deniable.measure.utility import ScoreComparison, UtilityResult
from deniable.survey.limits import MAX_WHOLE_DELTA, MAX_WHOLE_EPSILON, Limits, Need
from deniable.words.outcomes import Outcomes

_MAX_UNEXPLORED_RATIO = 1.25
"""Between measured epsilons of a larger ratio, one that was not measured may give what neither of them gives."""
SCHEMA = "deniable-survey/1"
Kind = Literal["words", "records", "classifier", "synthetic texts", "public texts", "originals"]
KINDS: tuple[Kind, ...] = ("words", "records", "classifier", "synthetic texts", "public texts", "originals")
"""What is released, in the order of the page; the last two are what releases are compared with."""

_PREFERRED_KINDS: dict[Need, tuple[Kind, ...]] = {
    "classifier": ("classifier",),
    "texts": ("synthetic texts", "records", "words", "classifier"),
}
"""What serves each need, the strongest protection first; where no texts can be had, a classifier is offered."""

MarkedText = tuple[tuple[str, bool], ...]
"""The consecutive pieces of a text, each with whether it is a changed word."""

_OMITTED_FIELDS = {"examples", "false_positive_rates", "true_positive_rates"}
"""Fields that `Survey.to_dict` leaves out: private text, and curves of hundreds of points."""


@dataclasses.dataclass(frozen=True)
class Promise:
    """What is guaranteed of a release.

    Attributes:
        statement: the guarantee in words.
        unit: whose difference is hidden: a word, a record or a person.
        adjacency: which two inputs are compared.
        status: what is known of the guarantee.
        method: how that is known; empty where it follows from the theorem.
        proven: upper bound on the true epsilon of a unit; None where none is known for the arithmetic of the draws.
        whole: epsilon of all that one record has, or one person; None where there is no bound.
        whole_unit: what that epsilon is of.
        approximate: the same but for a chance of one in a million, and the theorem that it follows from.
        meaning: what one output can tell, in plain words.
        not_protected: what a release shows of the original in any case.
    """

    statement: str
    unit: str
    adjacency: str
    status: str
    proven: float | None
    whole: float | None
    whole_unit: str
    method: str = ""
    approximate: tuple[float, str] | None = None
    meaning: tuple[str, ...] = ()
    not_protected: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class RowExample:
    """One row before and after, in pieces so that changed words can be marked.

    Attributes:
        row: row number in the table, from 1 on.
        before: the original text.
        after: the private text.
    """

    row: int
    before: MarkedText
    after: MarkedText


@dataclasses.dataclass(frozen=True, kw_only=True)
class Result:
    """One way to release the table, with its figures; None, or nothing, where there is no such figure.

    Attributes:
        kind: what is released.
        name: of the row, such as ``words, epsilon 3.1``.
        epsilon: as commands take it; None where nothing is drawn.
        delta: likewise.
        promise: the guarantee.
        seconds: of one release of the table.
        note: what must be known beside the figures.
        utility: scores of a classifier trained on the release, or of the released one, on held-out originals.
        membership: attacks on that classifier, by an attacker who has the ``original`` records and, of a release row by
            row, by one who has the ``private`` ones.
        recovery: attacks on words: on ``any text`` of public frequencies, on this table's ``single`` words, and on them
            in ``context``.
        reading: what readers with a language model guess of this table's words.
        outcomes: what words become by their frequency, under the public prior, where a law is known.
        expected: expected share of unchanged words, for words that follow the public prior.
        linked: share of released texts whose record is found among all records.
        entities: labelled words that come out.
        authorship: attacks on authorship.
        similarity: of the released texts to their originals.
        perplexity: per word, of the released texts under a language model of originals.
        examples: rows before and after.
    """

    kind: Kind
    name: str
    epsilon: float | None = None
    delta: float | None = None
    promise: Promise | None = None
    seconds: float | None = None
    note: str = ""
    utility: UtilityResult | None = None
    membership: dict[str, MembershipResult] = dataclasses.field(default_factory=dict)
    recovery: dict[str, RecoveryResult] = dataclasses.field(default_factory=dict)
    reading: Reading | None = None
    outcomes: Outcomes | None = None
    expected: Estimate | None = None
    linked: Estimate | None = None
    entities: EntitySurvival | None = None
    authorship: AuthorshipResult | None = None
    similarity: TextSimilarity | None = None
    perplexity: Estimate | None = None
    examples: tuple[RowExample, ...] = ()

    def find(self, path: str) -> Estimate | None:
        """Return a figure by its path, such as ``similarity.unchanged``; None where there is none."""
        value: Any = self
        for name in path.split("."):
            value = value.get(name) if isinstance(value, dict) else getattr(value, name, None)
        return as_exact_estimate(value) if isinstance(value, float) else value

    @property
    def guessed(self) -> Estimate | None:
        """Share of this table's words that the best of its attackers guesses who see only the release, as is certain.

        The attackers may have tried different numbers of words: the share that counts is the one that may be highest.
        """
        shares = [self.recovery[name].share for name in ("single", "context") if name in self.recovery]
        if self.reading is not None and "release" in self.reading.groups:
            shares.append(self.reading.groups["release"][0].guessed)
        return max(shares, key=lambda share: share.high, default=None)

    @property
    def score(self) -> ScoreComparison | None:
        """Balanced accuracy, by which use is judged."""
        return None if self.utility is None else self.utility.balanced_accuracy

    @property
    def area(self) -> Estimate | None:
        """Area under the curve of an attacker on membership who has the original records."""
        return self.membership["original"].auc if self.membership else None


class Answer(enum.StrEnum):
    """What to do with a table."""

    RELEASE = "release"
    PUBLIC_TEXTS = "use public texts alone"
    NOTHING = "release nothing"
    NOT_MEASURED = "use was not measured"
    NOT_JUDGEABLE = "use cannot be judged"


@dataclasses.dataclass(frozen=True)
class Advice:
    """What to do with a table, by the names of releases.

    Attributes:
        answer: in a few words.
        choices: what is recommended, the first one first; where use was not measured or cannot be judged, all that are
            protected.
        protected: from which attackers learn no more than the limits allow.
        useful: which keep as much as the limits demand.
        blind: from which a classifier learns nothing, as far as can be told.
        unmeasured: ends of a range of epsilons of words that were not measured and may give both; the upper one is None
            where there is none.
        limits: what counts as protected and as useful.
        need: what is needed of the table.
    """

    answer: Answer
    choices: tuple[str, ...]
    protected: tuple[str, ...]
    useful: tuple[str, ...]
    blind: tuple[str, ...]
    unmeasured: tuple[float, float | None] | None
    limits: Limits
    need: Need


@dataclasses.dataclass(frozen=True)
class TableSummary:
    """The table that was surveyed.

    Attributes:
        rows: number of surveyed rows.
        whole: number of rows of the whole table; where it is larger, the surveyed ones are a sample.
        empty: number of rows without text, which are kept.
        words: number of words in all rows.
        unknown: number of words that the vocabulary lacks.
        median: number of words of the row of median length.
        longest: number of words of the longest row.
        classes: names of the classes; none without labels.
        learned: number of rows that classifiers are trained on.
        unlabelled: number of rows without a label.
        lone: number of rows whose class no other row has.
        unit: what ways that hide a unit of the collection hide: record or person.
        units: number of units.
    """

    rows: int
    whole: int
    empty: int
    words: int
    unknown: int
    median: int
    longest: int
    classes: tuple[str, ...]
    learned: int
    unlabelled: int
    lone: int
    unit: str
    units: int


@dataclasses.dataclass(frozen=True)
class Survey:
    """All figures of one table.

    Attributes:
        table: the surveyed table.
        space: source, words, metric and fingerprint of the vocabulary.
        prior: name of the public prior, such as "Zipf's law by the space's ranks".
        blind: share of words that a guess without any output is right about, under that prior.
        results: of the ways to release it, in the order of `KINDS`, and by ascending epsilon.
        originals: of the originals themselves, to compare with.
        advice: what to do.
        failures: name -> reason, of ways that could not be taken on this table.
        about: versions, sizes and seconds of the survey.
    """

    table: TableSummary
    space: dict[str, Any]
    prior: str
    blind: float
    results: tuple[Result, ...]
    originals: Result
    advice: Advice
    failures: dict[str, str]
    about: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """Return all figures as JSON values, without examples, so that no text of the table is among them."""
        return {"schema": SCHEMA, **_encode_value(dataclasses.asdict(self))}


def _encode_value(value: Any) -> Any:  # noqa: ANN401 - any JSON value
    if isinstance(value, dict):
        return {
            f"{name:g}" if isinstance(name, float) else str(name): _encode_value(item)
            for name, item in value.items()
            if name not in _OMITTED_FIELDS
        }
    if isinstance(value, list | tuple):
        return [_encode_value(item) for item in value]
    return encode_nonfinite_numbers(value.item() if isinstance(value, np.generic) else value)


def advise(results: Sequence[Result], limits: Limits, need: Need) -> Advice:
    """Return what to release: the strongest protection that is of use, at the least epsilon, and there the most useful.

    A release is of use if a classifier that learns from it is better than a blind guess and keeps the least share of
    what one trained on the originals gains. Words are protected where the attackers that were tried guess no more than
    the largest share, interval included; a record or a person as a whole up to epsilon 10. Nothing is that is refuted,
    and what gives no more than labelled public texts is not worth a budget.

    Args:
        results: of all ways, those of words by ascending epsilon.
        limits: what counts as protected and as useful.
        need: what is needed of the table.
    """
    releases = [one for one in results if one.promise is not None]
    protected = [one for one in releases if _is_protected(one, limits)]
    useful = [one for one in releases if _is_useful(one, limits)]
    judgeable = [one for one in releases if one.score is not None and one.score.is_judgeable]
    choices = protected
    if not protected:
        answer = Answer.NOTHING
    elif not judgeable:
        answer = Answer.NOT_MEASURED if releases[0].score is None else Answer.NOT_JUDGEABLE
    else:
        answer, choices = _choose(results, [one for one in protected if one in useful], need)
    words = [one for one in releases if one.kind == "words"]
    return Advice(
        answer,
        _list_names(choices),
        _list_names(protected),
        _list_names(useful),
        _list_names([one for one in judgeable if one.score is not None and not one.score.is_better_than_blind]),
        _find_unmeasured_range(words, protected, useful) if words and answer is Answer.NOTHING else None,
        limits,
        need,
    )


def _choose(results: Sequence[Result], serving: Sequence[Result], need: Need) -> tuple[Answer, list[Result]]:
    """Return the answer where use was judged, and what it recommends of the releases that are protected and useful."""
    public = [one.score.private.value for one in results if one.kind == "public texts" and one.score is not None]
    for kind in _PREFERRED_KINDS[need]:
        candidates = [one for one in serving if one.kind == kind]
        better = [one for one in candidates if one.score is not None and one.score.private.value > max([0.0, *public])]
        better.sort(key=_rank)
        if candidates:
            return (Answer.RELEASE if better else Answer.PUBLIC_TEXTS), better
    return Answer.NOTHING, []


def _rank(result: Result) -> tuple[float, float]:
    """Return what releases of one kind are recommended by: the least epsilon, then the use that is certain."""
    return result.epsilon or 0.0, 0.0 if result.score is None else -result.score.private.low


def _is_protected(result: Result, limits: Limits) -> bool:
    if result.promise is None or result.promise.status == "refuted":
        return False
    if result.kind == "words":
        return result.guessed is not None and result.guessed.high <= limits.max_recovery
    is_small = result.promise.whole is not None and result.promise.whole <= MAX_WHOLE_EPSILON
    return is_small and (result.delta or 0.0) <= MAX_WHOLE_DELTA


def _is_useful(result: Result, limits: Limits) -> bool:
    score = result.score
    if score is None or score.retained is None:
        return False
    return score.is_better_than_blind and score.retained.value >= limits.min_retained


def _find_unmeasured_range(
    words: Sequence[Result], protected: Sequence[Result], useful: Sequence[Result]
) -> tuple[float, float | None] | None:
    """Return the range that may hold an epsilon that gives both: attackers and classifiers gain as epsilon grows."""
    low = max((one.epsilon or 0.0 for one in words if one in protected), default=0.0)
    above = [one for one in words if (one.epsilon or 0.0) > low]
    if not above:
        return low, None
    first = above[0]
    may_serve = first in useful or first.score is None or not first.score.is_judgeable
    is_far = (first.epsilon or 0.0) > _MAX_UNEXPLORED_RATIO * low
    return (low, first.epsilon) if may_serve and is_far else None


def _list_names(results: Sequence[Result]) -> tuple[str, ...]:
    return tuple(one.name for one in results)
