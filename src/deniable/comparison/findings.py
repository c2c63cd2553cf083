"""What a comparison finds: one record for each way to release the table, and what they are compared with."""

import dataclasses
from typing import Any, Literal

from deniable.measure.entities.survival import EntitySurvival
from deniable.measure.intervals import Estimate
from deniable.measure.retention import ScoreComparison
from deniable.measure.roc import MembershipResult
from deniable.words.outcomes import Outcomes

Way = Literal["words", "records", "classifier", "synthetic texts"]
WAYS: tuple[Way, ...] = ("words", "records", "classifier", "synthetic texts")


@dataclasses.dataclass(frozen=True)
class Promise:
    """What is guaranteed of a release.

    Attributes:
        words: the guarantee in words.
        unit: whose difference is hidden: a word, a record or a person.
        adjacency: which two inputs are compared.
        status: what is known of the guarantee.
        whole: epsilon of all that one record has, or one person; None where there is no bound.
        whole_unit: what that epsilon is of.
    """

    words: str
    unit: str
    adjacency: str
    status: str
    whole: float | None
    whole_unit: str


@dataclasses.dataclass(frozen=True)
class AttackFigures:
    """How far the best attacker of each kind gets; None where there is nothing to attack.

    Attributes:
        guessed: share of the words of the table that are guessed.
        outcomes: what words become by their frequency, under the public prior; None for other ways, or without a law.
        linked: share of released texts whose record is found among all records.
        membership: attack on a classifier trained on the release, or on the released classifier.
        names: labelled words that come out.
    """

    guessed: Estimate | None = None
    outcomes: Outcomes | None = None
    linked: Estimate | None = None
    membership: MembershipResult | None = None
    names: EntitySurvival | None = None


@dataclasses.dataclass(frozen=True)
class UseFigures:
    """What a release is good for; None where it has no texts.

    Attributes:
        score: balanced accuracy of a classifier trained on the release, or of the released one, on held-out originals.
        likeness: mean cosine between the word vectors of a text before and after.
        unrelated: the same between a text and the release of another one, with which likeness is to be compared.
        perplexity: per word, of the released texts under a language model of originals.
    """

    score: ScoreComparison
    likeness: Estimate | None = None
    unrelated: Estimate | None = None
    perplexity: Estimate | None = None


@dataclasses.dataclass(frozen=True)
class ReleaseResult:
    """One way to release the table, with its figures.

    Attributes:
        way: what is released, and how.
        name: of the row, such as ``words, epsilon 3.1``.
        epsilon: as the command takes it.
        delta: likewise; None for none.
        promise: the guarantee.
        attacks: what attackers achieve.
        use: what it is good for.
        seconds: of one release of the table.
        note: what must be known beside the figures; empty for nothing.
    """

    way: Way
    name: str
    epsilon: float
    delta: float | None
    promise: Promise
    attacks: AttackFigures
    use: UseFigures
    seconds: float
    note: str = ""


@dataclasses.dataclass(frozen=True)
class FailedRelease:
    """A way that could not be taken on this table.

    Attributes:
        name: of the row.
        reason: in a sentence.
    """

    name: str
    reason: str


@dataclasses.dataclass(frozen=True)
class Baselines:
    """What every release is compared with.

    Attributes:
        originals: balanced accuracy of a classifier trained on the originals.
        blind: that of a blind guess.
        membership: attack on a classifier trained on the originals.
        perplexity: of originals under a language model of other originals; None where no word is known.
        public: balanced accuracy of a classifier that has seen public texts alone; None without public labels.
    """

    originals: Estimate
    blind: float
    membership: MembershipResult
    perplexity: Estimate | None
    public: ScoreComparison | None


@dataclasses.dataclass(frozen=True)
class Comparison:
    """All releases of one table.

    Attributes:
        rows: number of rows that were used.
        table_rows: usable rows of the table.
        classes: names of the classes.
        unit: what the collection-wide ways hide: record or person.
        units: number of units.
        baselines: what the releases are compared with.
        releases: in the order of the page.
        failures: ways that could not be taken.
        about: sizes, versions and seconds.
    """

    rows: int
    table_rows: int
    classes: tuple[str, ...]
    unit: str
    units: int
    baselines: Baselines
    releases: tuple[ReleaseResult, ...]
    failures: tuple[FailedRelease, ...]
    about: dict[str, Any]
