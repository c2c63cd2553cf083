"""Advice on a survey: whether a measured epsilon both protects the words and leaves texts that serve a purpose."""

import dataclasses
import enum
import itertools
from collections.abc import Iterator, Sequence

from deniable.core.errors import InputError
from deniable.core.numbers import as_percent, format_exact, format_upper, round_down
from deniable.measure.intervals import Estimate
from deniable.measure.utility import UtilityResult

_MAX_UNEXPLORED_RATIO = 1.25
"""Between measured epsilons of a larger ratio, one that was not measured may give what neither of them gives."""

ALTERNATIVES = (
    "rewrite the texts with deniable rewrite, which hides each text as a whole, and look at what is left of them",
    "publish aggregate statistics in place of the texts, such as counts by group",
    "share fewer columns: leave out the texts, and whatever the task does not need",
    "keep the originals where they are, and give named persons access to them under control",
)
"""What to do with texts that cannot be shared word by word."""


UnmeasuredRange = tuple[float, float | None]
"""Lower and upper end of epsilons that were not measured; the latter is None where there is none."""


class Answer(enum.StrEnum):
    """Whether to share the texts word by word, as far as was measured."""

    SHARE = "share"
    DO_NOT_SHARE = "do not share word by word"
    UTILITY_NOT_MEASURED = "utility not measured"
    UTILITY_NOT_JUDGEABLE = "utility cannot be judged"


@dataclasses.dataclass(frozen=True)
class AdviceLimits:
    """What counts as protected and as useful: conventions, which the owner of the texts may set.

    Attributes:
        max_recovery: maximum share of this table's words that the better attacker may guess; compared with the upper
            end of its interval.
        min_retained: minimum share of a classifier's gain over a blind guess, in balanced accuracy, that training on
            private texts must retain; compared with the measured share.
    """

    max_recovery: float = 0.2
    min_retained: float = 0.5


DEFAULT_LIMITS = AdviceLimits()


@dataclasses.dataclass(frozen=True)
class EpsilonFigures:
    """The figures of one epsilon that decide.

    Attributes:
        epsilon: privacy parameter per unit of distance.
        recovery: share of this table's words that the better attacker guesses.
        is_refuted: whether the guarantee is refuted.
        utility: scores of classifiers; None without labels.
        whole_record: words of the record of median length, and epsilon of all of them together; None without a bound.
    """

    epsilon: float
    recovery: Estimate
    is_refuted: bool
    utility: UtilityResult | None
    whole_record: tuple[int, float] | None = None


@dataclasses.dataclass(frozen=True)
class EpsilonJudgement:
    """One epsilon against the limits.

    Attributes:
        epsilon: privacy parameter per unit of distance.
        is_protected: whether the better attacker guesses at most the maximum share, and the guarantee is not refuted.
        is_better_than_blind: whether a classifier trained on private texts is better than a blind guess in balanced
            accuracy, as its interval says; None without labels.
        is_useful: whether it is, and retains at least the minimum share; None where utility cannot be judged.
    """

    epsilon: float
    is_protected: bool
    is_better_than_blind: bool | None
    is_useful: bool | None


@dataclasses.dataclass(frozen=True)
class Advice:
    """What to do with the texts, and why.

    Attributes:
        answer: whether to share them word by word.
        blind: at which epsilons a classifier learns nothing, in a sentence, which is to be said first; None where it
            always learns something, or where utility cannot be judged.
        headline: the answer in a sentence.
        reasons: further sentences.
        alternatives: what to do instead; none unless the answer is not to share.
        epsilons: those that are protected and useful; where utility cannot be judged, those that are protected.
        unmeasured: ends of ranges that were not measured and may hold an epsilon that gives both; no upper end: None.
        judgements: one for each epsilon, ascending.
        limits: what counts as protected and as useful.
    """

    answer: Answer
    blind: str | None
    headline: str
    reasons: tuple[str, ...]
    alternatives: tuple[str, ...]
    epsilons: tuple[float, ...]
    unmeasured: tuple[UnmeasuredRange, ...]
    judgements: tuple[EpsilonJudgement, ...]
    limits: AdviceLimits


def check_limits(limits: AdviceLimits) -> None:
    """Raise `InputError` for a limit that is not between 0 and 1."""
    for option, value in (("--max-recovery", limits.max_recovery), ("--min-retained", limits.min_retained)):
        if not 0 < value < 1:
            raise InputError(f"{option} is a share and must be above 0 and below 1. Got {value:g}: give 0.5, say.")


def advise(figures: Sequence[EpsilonFigures], limits: AdviceLimits = DEFAULT_LIMITS) -> Advice:
    """Return whether a measured epsilon gives both protection and use.

    Args:
        figures: those of each epsilon, ascending; at least one.
        limits: what counts as protected and as useful.

    Raises:
        InputError: a limit that is not between 0 and 1.
    """
    check_limits(limits)
    judgements = tuple(_judge(one, limits) for one in figures)
    protected = tuple(judgement.epsilon for judgement in judgements if judgement.is_protected)
    answer, epsilons = _choose_answer(judgements, protected)
    unmeasured = tuple(_find_unmeasured_ranges(judgements)) if answer is Answer.DO_NOT_SHARE else ()
    headline, *reasons = {
        Answer.SHARE: _explain_sharing,
        Answer.DO_NOT_SHARE: _explain_refusal,
        Answer.UTILITY_NOT_MEASURED: _explain_protection,
        Answer.UTILITY_NOT_JUDGEABLE: _explain_label,
    }[answer](figures, judgements, limits)
    return Advice(
        answer,
        _describe_blind_epsilons(figures),
        headline,
        (*reasons, *map(_describe_unmeasured_range, unmeasured)),
        ALTERNATIVES if answer is Answer.DO_NOT_SHARE else (),
        epsilons,
        unmeasured,
        judgements,
        limits,
    )


def _judge(figures: EpsilonFigures, limits: AdviceLimits) -> EpsilonJudgement:
    is_protected = not figures.is_refuted and figures.recovery.high <= limits.max_recovery
    if figures.utility is None:
        return EpsilonJudgement(figures.epsilon, is_protected, None, None)
    score = figures.utility.balanced_accuracy
    is_useful = None
    if score.retained is not None:
        is_useful = score.is_better_than_blind and score.retained.value >= limits.min_retained
    return EpsilonJudgement(figures.epsilon, is_protected, score.is_better_than_blind, is_useful)


def _choose_answer(
    judgements: Sequence[EpsilonJudgement], protected: tuple[float, ...]
) -> tuple[Answer, tuple[float, ...]]:
    """Return the answer and the epsilons that it is about."""
    if not protected:
        return Answer.DO_NOT_SHARE, ()
    if judgements[0].is_better_than_blind is None:
        return Answer.UTILITY_NOT_MEASURED, protected
    if judgements[0].is_useful is None:
        return Answer.UTILITY_NOT_JUDGEABLE, protected
    both = tuple(judgement.epsilon for judgement in judgements if judgement.is_protected and judgement.is_useful)
    return (Answer.SHARE if both else Answer.DO_NOT_SHARE), both


def _find_unmeasured_ranges(judgements: Sequence[EpsilonJudgement]) -> Iterator[UnmeasuredRange]:
    """Yield the ranges that may hold an epsilon that gives both: attackers and classifiers gain as epsilon grows."""
    lowest, highest = judgements[0], judgements[-1]
    if not lowest.is_protected and lowest.is_useful is not False:
        yield 0.0, lowest.epsilon
    for one, other in itertools.pairwise(judgements):
        is_crossing = one.is_protected and not one.is_useful and other.is_useful and not other.is_protected
        if is_crossing and other.epsilon > _MAX_UNEXPLORED_RATIO * one.epsilon:
            yield one.epsilon, other.epsilon
    if highest.is_protected:
        yield highest.epsilon, None


def _describe_unmeasured_range(ends: UnmeasuredRange) -> str:
    low, high = ends
    if high is None:
        place, epsilons = f"above {format_exact(low)}", (1.5 * low, 2 * low)
    elif not low:
        place, epsilons = f"below {format_exact(high)}", (high / 4, high / 2)
    else:
        place, epsilons = (
            f"between {format_exact(low)} and {format_exact(high)}",
            ((low**2 * high) ** (1 / 3), (low * high**2) ** (1 / 3)),
        )
    suggested = ",".join(format_exact(round_down(epsilon, 3)) for epsilon in epsilons)
    return f"No epsilon {place} was measured, and one may give both: measure there too, with --epsilons {suggested}."


def _describe_blind_epsilons(figures: Sequence[EpsilonFigures]) -> str | None:
    """Return at which epsilons nothing is learned; None where that says nothing, or is true of none."""
    blind = [
        (one.epsilon, one.utility)
        for one in figures
        if one.utility is not None
        and one.utility.balanced_accuracy.is_judgeable
        and not one.utility.balanced_accuracy.is_better_than_blind
    ]
    if not blind:
        return None
    best = max((utility for _, utility in blind), key=lambda utility: utility.balanced_accuracy.private.value)
    balanced, accuracy = best.balanced_accuracy, best.accuracy
    epsilons = _list_numbers([epsilon for epsilon, _ in blind])
    return (
        f"No better than a blind guess at epsilon {epsilons}: there a classifier trained on private texts has a "
        f"balanced accuracy of {balanced.private.format_percent()} at best, where a blind guess has "
        f"{100 * balanced.blind:.1f} %, and an accuracy of {accuracy.private.format_percent()}, where always naming "
        f"the most frequent class has {100 * accuracy.blind:.1f} %."
    )


def _explain_sharing(
    figures: Sequence[EpsilonFigures], judgements: Sequence[EpsilonJudgement], limits: AdviceLimits
) -> list[str]:
    both = [pair[0] for pair in zip(figures, judgements, strict=True) if pair[1].is_protected and pair[1].is_useful]
    epsilons, verb = _list_numbers([one.epsilon for one in both]), "gives" if len(both) == 1 else "give"
    headline = (
        f"Epsilon {epsilons} {verb} both: the attackers that were tried guess at most "
        f"{format_exact(as_percent(limits.max_recovery))} % "
        "of the words, and training on private texts retains at least "
        f"{format_exact(as_percent(limits.min_retained))} % of what "
        "training on the originals gains over a blind guess."
    )
    figures_text = (
        f"At epsilon {format_exact(both[0].epsilon)} attackers guess {both[0].recovery.format_percent()} of the "
        "words, and "
        f"{_describe_retained(both[0])} of the gain is retained."
    )
    return [headline, figures_text, *_describe_uncertainty(both[:1], limits), _describe_whole_record(both[0])]


def _describe_whole_record(figures: EpsilonFigures) -> str:
    """Return what the guarantee says of all words of a record together, which is far less than of one word."""
    bound = "The guarantee bounds nothing for a record as a whole"
    if figures.whole_record is not None:
        words, epsilon = figures.whole_record
        bound = (
            f"For the whole of a median record, {words:,} words, epsilon {format_exact(figures.epsilon)} makes epsilon "
            f"{format_upper(epsilon)}"
        )
    return f"{bound}: whoever knows a text, or how its author writes, may still recognize it in the private one."


def _explain_refusal(
    figures: Sequence[EpsilonFigures], judgements: Sequence[EpsilonJudgement], limits: AdviceLimits
) -> list[str]:
    pairs = list(zip(figures, judgements, strict=True))
    protected = [one for one, judgement in pairs if judgement.is_protected]
    refuted = [one.epsilon for one in figures if one.is_refuted]
    sentences = ["No measured epsilon gives both; do not share these texts word by word."]
    if refuted:
        sentences.append(f"The guarantee is refuted at epsilon {_list_numbers(refuted)}: take another mechanism.")
    sentences.append(_describe_lack(figures, protected, limits))
    useful = [one for one, judgement in pairs if judgement.is_useful]
    if useful:
        sentences.append(
            f"At least {format_exact(as_percent(limits.min_retained))} % of the gain is retained only at epsilon "
            f"{_list_numbers([one.epsilon for one in useful])}, and attackers guess "
            f"{useful[0].recovery.format_percent()} of the words at epsilon {format_exact(useful[0].epsilon)}."
        )
    elif judgements[0].is_useful is not None:
        sentences.append(
            f"At no measured epsilon is {format_exact(as_percent(limits.min_retained))} % of the gain retained."
        )
    return [*sentences, *_describe_unjudgeable_label(figures), *_describe_uncertainty(protected, limits)]


def _describe_lack(figures: Sequence[EpsilonFigures], protected: Sequence[EpsilonFigures], limits: AdviceLimits) -> str:
    """Return what is lacking where attackers are held off, or that they are not."""
    max_share = f"{format_exact(as_percent(limits.max_recovery))} %"
    if not protected:
        least = min(figures, key=lambda one: one.recovery.value)
        return (
            f"At no measured epsilon is it certain that the attackers that were tried guess at most {max_share} of the "
            f"words; at epsilon {format_exact(least.epsilon)} they guess {least.recovery.format_percent()}."
        )
    return (
        f"The attackers that were tried guess at most {max_share} of the words at epsilon "
        f"{_list_numbers([one.epsilon for one in protected])}, but there at best "
        f"{_describe_retained(max(protected, key=_get_retained_share))} of what training on the originals gains over a "
        f"blind guess is retained, where {format_exact(as_percent(limits.min_retained))} % counts as useful."
    )


def _explain_protection(
    figures: Sequence[EpsilonFigures], judgements: Sequence[EpsilonJudgement], limits: AdviceLimits
) -> list[str]:
    del figures  # utility was not measured
    return [
        "Whether the private texts are good for anything was not measured: name a column of labels with --label.",
        _describe_protection(judgements, limits),
    ]


def _explain_label(
    figures: Sequence[EpsilonFigures], judgements: Sequence[EpsilonJudgement], limits: AdviceLimits
) -> list[str]:
    return [*_describe_unjudgeable_label(figures), _describe_protection(judgements, limits)]


def _describe_unjudgeable_label(figures: Sequence[EpsilonFigures]) -> list[str]:
    """Return that the originals teach nothing of the label, and what to do; nothing if they do, or without labels."""
    utility = figures[0].utility
    if utility is None or utility.balanced_accuracy.is_judgeable:
        return []
    balanced, accuracy = utility.balanced_accuracy, utility.accuracy
    statement = (
        "Utility cannot be judged with this label: a classifier trained on the original texts themselves is no better "
        f"than a blind guess (balanced accuracy {balanced.original.format_percent()}, a blind guess "
        f"{100 * balanced.blind:.1f} %; accuracy {accuracy.original.format_percent()}, always naming the most frequent "
        f"class {100 * accuracy.blind:.1f} %)."
    )
    return [statement, "Name another column with --label, label more rows, or try another --classifier."]


def _describe_protection(judgements: Sequence[EpsilonJudgement], limits: AdviceLimits) -> str:
    protected = _list_numbers([judgement.epsilon for judgement in judgements if judgement.is_protected])
    max_share = f"{format_exact(as_percent(limits.max_recovery))} %"
    return f"The attackers that were tried guess at most {max_share} of the words at epsilon {protected}."


def _describe_uncertainty(figures: Sequence[EpsilonFigures], limits: AdviceLimits) -> list[str]:
    """Return a sentence where the rows are too few to say on which side of the limit a retained share lies."""
    uncertain = [
        one
        for one in figures
        if one.utility is not None
        and (share := one.utility.balanced_accuracy.retained) is not None
        and share.low < limits.min_retained < share.high
    ]
    if not uncertain or uncertain[0].utility is None:
        return []
    epsilons = _list_numbers([one.epsilon for one in uncertain])
    rows, min_share = uncertain[0].utility.rows, f"{format_exact(as_percent(limits.min_retained))} %"
    return [
        f"At epsilon {epsilons} the {rows:,} rows leave open whether {min_share} is retained: more rows would tell."
    ]


def _describe_retained(figures: EpsilonFigures) -> str:
    utility = figures.utility
    share = None if utility is None else utility.balanced_accuracy.retained
    return "an unknown share" if share is None else share.format_percent()


def _get_retained_share(figures: EpsilonFigures) -> float:
    utility = figures.utility
    share = None if utility is None else utility.balanced_accuracy.retained
    return -1.0 if share is None else share.value


def _list_numbers(numbers: Sequence[float]) -> str:
    """Return numbers as a list in words: "1", "1 and 2", "1, 2 and 4"."""
    *first_numbers, last_number = [format_exact(number) for number in numbers]
    return f"{', '.join(first_numbers)} and {last_number}" if first_numbers else last_number
