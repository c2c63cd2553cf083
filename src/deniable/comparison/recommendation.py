"""What to do with a table: one recommendation, from the figures of all ways to release it."""

import dataclasses
import enum
from collections.abc import Sequence
from typing import Literal

from deniable.comparison.findings import Comparison, ReleaseResult, Way
from deniable.core.numbers import as_percent, format_exact, format_upper
from deniable.measure.report.advice import ALTERNATIVES, DEFAULT_LIMITS, AdviceLimits, check_limits

Need = Literal["texts", "classifier"]
_MAX_WHOLE_EPSILON = 10.0
"""The largest epsilon of a whole record or person that is recommended: a larger one promises little."""


class Answer(enum.StrEnum):
    """What to do with a table."""

    TRAIN = "train a classifier privately"
    SYNTHESIZE = "synthesize texts"
    REWRITE = "rewrite every record"
    PRIVATIZE = "share word by word"
    USE_PUBLIC_TEXTS = "use public texts alone"
    RELEASE_NOTHING = "release nothing"
    NOT_JUDGEABLE = "use cannot be judged"


_ANSWERS: dict[Way, Answer] = {
    "classifier": Answer.TRAIN,
    "synthetic texts": Answer.SYNTHESIZE,
    "records": Answer.REWRITE,
    "words": Answer.PRIVATIZE,
}
_PREFERRED_WAYS: dict[Need, tuple[Way, ...]] = {
    "classifier": ("classifier",),
    "texts": ("synthetic texts", "records", "words", "classifier"),
}
"""What serves each need, the strongest protection first; where no texts can be had, a classifier is offered."""


@dataclasses.dataclass(frozen=True)
class Recommendation:
    """What to do, and why.

    Attributes:
        answer: in a few words.
        release: the recommended row; None where nothing is to be released.
        headline: the answer in a sentence.
        reasons: further sentences.
        alternatives: what to do instead where nothing is to be released.
        limits: what counts as protected and as useful.
        need: what the owner needs.
    """

    answer: Answer
    release: ReleaseResult | None
    headline: str
    reasons: tuple[str, ...]
    alternatives: tuple[str, ...]
    limits: AdviceLimits
    need: Need


def recommend_release(
    comparison: Comparison, need: Need = "texts", limits: AdviceLimits = DEFAULT_LIMITS
) -> Recommendation:
    """Return the recommendation: the strongest protection that is useful, at the least epsilon.

    A release is useful if a classifier that is trained on it is better than a blind guess and keeps the least share of
    what one trained on the originals gains. Ways that hide a record or a person as a whole are recommended up to
    epsilon 10; words where the attackers that were tried guess no more than the largest share, interval included.

    Args:
        comparison: the figures.
        need: what the owner needs, texts or only a classifier.
        limits: what counts as protected and as useful.

    Raises:
        InputError: a limit that is not between 0 and 1.
    """
    check_limits(limits)
    if not _is_judgeable(comparison):
        return Recommendation(Answer.NOT_JUDGEABLE, None, *_explain_label(comparison), (), limits, need)
    for way in _PREFERRED_WAYS[need]:
        candidates = [one for one in comparison.releases if one.way == way and _is_useful(one, limits)]
        candidates = [one for one in candidates if _is_protected(one, limits)]
        if candidates:
            better = [one for one in candidates if _is_better_than_public(one, comparison)]
            if not better:
                facts = (*_describe_public(candidates, comparison), *_describe_better_classifier(comparison, limits))
                headline = "Use the labelled public texts alone: the private records add nothing that shows."
                return Recommendation(Answer.USE_PUBLIC_TEXTS, None, headline, facts, (), limits, need)
            release = min(better, key=lambda one: one.epsilon)
            reasons = [_describe_gain(release), *_explain_choice(release, comparison, need, limits)]
            return Recommendation(
                _ANSWERS[way], release, _describe_choice(release, need), tuple(reasons), (), limits, need
            )
    headline = (
        f"Release nothing yet: no way that was measured protects these records and keeps {_format_limit(limits)}."
    )
    reasons = [*_describe_words(comparison, limits), *_describe_best_collection(comparison)]
    return Recommendation(Answer.RELEASE_NOTHING, None, headline, tuple(reasons), ALTERNATIVES[1:], limits, need)


def _is_judgeable(comparison: Comparison) -> bool:
    scores = [release.use.score for release in comparison.releases]
    return not scores or scores[0].is_judgeable


def _is_useful(release: ReleaseResult, limits: AdviceLimits) -> bool:
    score = release.use.score
    return score.retained is not None and score.is_better_than_blind and score.retained.value >= limits.min_retained


def _is_protected(release: ReleaseResult, limits: AdviceLimits) -> bool:
    if release.promise.status == "refuted":
        return False
    if release.way == "words":
        guessed = release.attacks.guessed
        return guessed is not None and guessed.high <= limits.max_recovery
    return release.promise.whole is not None and release.promise.whole <= _MAX_WHOLE_EPSILON


def _is_better_than_public(release: ReleaseResult, comparison: Comparison) -> bool:
    """Return whether a release is measured to be better than labelled public texts alone, if there are any."""
    public = comparison.baselines.public
    return public is None or release.use.score.private.value > public.private.value


def _describe_public(releases: Sequence[ReleaseResult], comparison: Comparison) -> list[str]:
    public = comparison.baselines.public
    if public is None:
        return []
    best = max(releases, key=lambda one: one.use.score.private.value)
    own = best.use.score.private.format_percent()
    sentence = (
        f"A classifier of the public labels has a balanced accuracy of {public.private.format_percent()} on these "
        f"originals, without any budget; the best of what could be released, {best.name}, gives {own}."
    )
    return [sentence, f"More private {comparison.unit}s, or a larger epsilon, may change that."]


def _describe_better_classifier(comparison: Comparison, limits: AdviceLimits) -> list[str]:
    """Return that a private classifier is better than public texts, where it is."""
    classifiers = [one for one in comparison.releases if one.way == "classifier" and _is_protected(one, limits)]
    better = [one for one in classifiers if _is_better_than_public(one, comparison)]
    if not better:
        return []
    best = min(better, key=lambda one: one.epsilon)
    accuracy = best.use.score.private.format_percent()
    epsilon = format_exact(best.epsilon)
    return [f"If only a classifier is needed (--need classifier), a private one has {accuracy} at epsilon {epsilon}."]


def _describe_choice(release: ReleaseResult, need: Need) -> str:
    epsilon, unit = format_exact(release.epsilon), release.promise.unit
    if release.way == "classifier":
        if need == "classifier":
            return f"Only a classifier is needed: train it privately, at epsilon {epsilon} for a whole {unit}."
        return (
            "No texts can be released that are of use. If a classifier is enough, train it privately, at epsilon "
            f"{epsilon} for a whole {unit}."
        )
    if release.way == "synthetic texts":
        return f"Texts are needed: synthesize them, at epsilon {epsilon} for a whole {unit}."
    if release.way == "records":
        return f"Texts are needed: rewrite every record, at epsilon {epsilon} for each text as a whole."
    return f"Texts are needed, and can be shared word by word at epsilon {epsilon} for each word."


def _describe_gain(release: ReleaseResult) -> str:
    score = release.use.score
    subject = "The classifier itself" if release.way == "classifier" else "A classifier that learns from them"
    retained = "" if score.retained is None else f", and keeps {score.retained.format_percent()} of the gain"
    return (
        f"{subject} has a balanced accuracy of {score.private.format_percent()} on originals that it has not seen, "
        f"where one trained on the originals has {score.original.format_percent()} and a blind guess "
        f"{100 * score.blind:.1f} %{retained}."
    )


def _explain_choice(release: ReleaseResult, comparison: Comparison, need: Need, limits: AdviceLimits) -> list[str]:
    """Return why this way and not another, and what to know of it."""
    if release.way == "words":
        return [_describe_word_risk(release)]
    reasons = _describe_words(comparison, limits)
    if release.way == "synthetic texts":
        reasons += _describe_classifier(release, comparison)
    if release.promise.unit == "record" and release.way != "records":
        reasons.append(
            "Each record is hidden by itself. Where one person has several, name the column of persons with --person."
        )
    if need == "classifier" and release.way == "classifier":
        reasons.append("No text leaves your hands.")
    return reasons


def _describe_words(comparison: Comparison, limits: AdviceLimits) -> list[str]:
    """Return a sentence on sharing word by word, where that was measured and is not to be done."""
    words = [release for release in comparison.releases if release.way == "words"]
    if not words or any(_is_useful(one, limits) and _is_protected(one, limits) for one in words):
        return []
    protected = [one for one in words if _is_protected(one, limits)]
    strongest = max(protected or words[:1], key=lambda one: one.epsilon)
    useful = [one for one in words if _is_useful(one, limits)]
    sentence = (
        f"Do not share word by word: at epsilon {format_exact(strongest.epsilon)} attackers guess "
        f"{_format_guessed(strongest)} of "
        f"the words, and {_format_retained(strongest)} of the gain is kept"
    )
    if useful and useful[0].epsilon > strongest.epsilon:
        sentence += (
            f"; {_format_limit(limits)} is kept only from epsilon {format_exact(useful[0].epsilon)} on, where "
            "attackers guess "
            f"{_format_guessed(useful[0])}"
        )
    return [f"{sentence}."]


def _describe_word_risk(release: ReleaseResult) -> str:
    whole, linked = release.promise.whole, release.attacks.linked
    bound = (
        "nothing is guaranteed for a whole record"
        if whole is None
        else f"for {release.promise.whole_unit} together epsilon is {format_upper(whole)}"
    )
    if linked is not None:
        bound += f", and {linked.format_percent()} of the private texts were linked to their records"
    outcomes = release.attacks.outcomes
    rare = "" if outcomes is None else f"By frequency: {outcomes.describe_bands()}; {outcomes.describe_exposed()}. "
    return (
        f"Attackers guess {_format_guessed(release)} of the words. {rare}Records are not hidden as a whole: {bound}; "
        "whoever has other texts of a person may recognize them."
    )


def _describe_classifier(release: ReleaseResult, comparison: Comparison) -> list[str]:
    """Return what training without texts gives at the same budget."""
    return [
        f"If only a classifier is needed, train it privately: at the same epsilon it has "
        f"{other.use.score.private.format_percent()}."
        for other in comparison.releases
        if other.way == "classifier" and other.epsilon == release.epsilon
    ]


def _describe_best_collection(comparison: Comparison) -> list[str]:
    """Return the best of what hides units of the collection as a whole, and what would help."""
    releases = [one for one in comparison.releases if one.way in {"classifier", "synthetic texts"}]
    if not releases:
        return []
    best = max(releases, key=lambda one: one.use.score.private.value)
    advice = "More rows help, and so do public texts of the kind with labels (--public, --public-label)."
    if comparison.about.get("public labels"):
        advice = f"More {comparison.unit}s help."
    sentence = (
        f"The best of the collection as a whole, {best.name}, has a balanced accuracy of "
        f"{best.use.score.private.format_percent()}; a blind guess has {100 * best.use.score.blind:.1f} %. {advice}"
    )
    return [sentence]


def _explain_label(comparison: Comparison) -> tuple[str, tuple[str, ...]]:
    originals, blind = comparison.baselines.originals, comparison.baselines.blind
    reason = (
        f"A classifier trained on the originals themselves has a balanced accuracy of {originals.format_percent()}, no "
        f"better than a blind guess with {100 * blind:.1f} %."
    )
    return "Use cannot be judged with this label.", (reason, "Name another column with --label, or give more rows.")


def _format_guessed(release: ReleaseResult) -> str:
    guessed = release.attacks.guessed
    return "an unknown share" if guessed is None else guessed.format_percent()


def _format_retained(release: ReleaseResult) -> str:
    retained = release.use.score.retained
    return "an unknown share" if retained is None else retained.format_percent()


def _format_limit(limits: AdviceLimits) -> str:
    return (
        f"{format_exact(as_percent(limits.min_retained))} % of what training on the originals gains over a blind guess"
    )
