"""A comparison as one report of labelled facts: what the page shows, and what stands in its JSON."""

from deniable.comparison.findings import Baselines, Comparison, FailedRelease, ReleaseResult
from deniable.comparison.recommendation import Recommendation
from deniable.core.numbers import as_percent, format_exact, format_upper
from deniable.core.report import Fact, Report, Section, make_facts
from deniable.measure.intervals import Estimate
from deniable.measure.roc import JUDGED_FALSE_POSITIVE_RATES, MembershipResult
from deniable.words.outcomes import Outcomes

SCHEMA = "deniable-comparison/2"
_JUDGED_RATE = min(JUDGED_FALSE_POSITIVE_RATES)
_ABOUT_LABELS = {
    "budgets": "epsilons of the collection",
    "recoveries": "shares of words to be guessed",
    "record_epsilons": "epsilons of a text",
    "shadows": "models for each attack on membership",
    "attacked": "texts whose words were attacked, at most",
    "members": "records whose membership was attacked, at most",
    "linked": "released texts that were linked, at most",
    "rows": "rows, at most",
}
"""What sizes of a plan are of."""
_NO_FALSE_ALARM = "without any false alarm: too few records for a rate"
NOTHING = "-"
"""Text of a figure that does not exist for a release."""


def build_report(comparison: Comparison, recommendation: Recommendation, command: str, next_command: str) -> Report:
    """Return the report of a comparison.

    Args:
        comparison: the figures.
        recommendation: what to do.
        command: the command line that compared; empty for none.
        next_command: the command that does what is recommended; empty for none.
    """
    return Report(
        "What to do with this table",
        (
            Section("recommendation", _list_recommendation(recommendation, next_command)),
            Section("table", _list_table(comparison)),
            *(Section(release.name, list_release_facts(release)) for release in comparison.releases),
            *_list_failures(comparison.failures),
            Section("baselines", _list_baselines(comparison.baselines)),
            Section("how it was measured", (Fact("command", command), *_list_about(comparison))),
        ),
        SCHEMA,
    )


def list_release_facts(release: ReleaseResult) -> tuple[Fact, ...]:
    """Return the facts of one release, the same labels for every way."""
    promise, attacks, use = release.promise, release.attacks, release.use
    whole = NOTHING if promise.whole is None else f"epsilon {format_upper(promise.whole)} for {promise.whole_unit}"
    names = None if attacks.names is None else attacks.names.total
    return (
        Fact("way", release.way),
        Fact("epsilon", release.epsilon, text=format_exact(release.epsilon)),
        Fact("delta", release.delta, text=NOTHING if release.delta is None else format_exact(release.delta)),
        Fact("guarantee", promise.words),
        Fact("unit", promise.unit),
        Fact("adjacency", promise.adjacency),
        Fact("status", promise.status),
        Fact("all of a record or person", {"epsilon": promise.whole, "of": promise.whole_unit}, text=whole),
        _make_share("words guessed", attacks.guessed),
        *_list_outcomes(attacks.outcomes),
        _make_share("records linked", attacks.linked),
        *_list_membership(attacks.membership),
        _make_share("names in their text", None if names is None else names.in_text),
        _make_share("the same by chance", None if names is None else names.chance_in_text),
        _make_share("balanced accuracy", use.score.private),
        _make_share("gain kept", use.score.retained),
        _make_number("likeness", use.likeness, 2),
        _make_number("likeness of others", use.unrelated, 2),
        _make_number("perplexity", use.perplexity, 0),
        Fact("seconds", round(release.seconds, 2), text=f"{release.seconds:.1f}"),
        Fact("note", release.note),
    )


def _list_outcomes(outcomes: Outcomes | None) -> tuple[Fact, ...]:
    """Return how often frequent and rare words are guessed, and which word comes out unchanged most often."""
    bands, exposed = (NOTHING,) * 2 if outcomes is None else (outcomes.describe_bands(), outcomes.describe_exposed())
    return Fact("guessed by frequency", outcomes, text=bands), Fact("most exposed word", exposed)


def _make_share(label: str, estimate: Estimate | None, note: str = "") -> Fact:
    return Fact(label, estimate, note, NOTHING if estimate is None else estimate.format_percent())


def _make_number(label: str, estimate: Estimate | None, digits: int) -> Fact:
    return Fact(label, estimate, text=NOTHING if estimate is None else estimate.format_decimals(digits))


def _list_membership(membership: MembershipResult | None) -> tuple[Fact, ...]:
    """Return the area under the curve, and the members found at one false alarm in a thousand."""
    area = None if membership is None else membership.auc
    found = None if membership is None else membership.tpr[_JUDGED_RATE]
    return _make_number("membership", area, 3), _make_share(
        "members found", found, _NO_FALSE_ALARM if found is not None and "zero false" in found.method else ""
    )


def _list_recommendation(recommendation: Recommendation, next_command: str) -> tuple[Fact, ...]:
    limits = recommendation.limits
    return (
        Fact("answer", recommendation.answer.value),
        Fact("headline", recommendation.headline),
        Fact("reasons", list(recommendation.reasons)),
        Fact("alternatives", list(recommendation.alternatives)),
        Fact("command", next_command),
        Fact("need", recommendation.need),
        Fact(
            "largest share of words guessed",
            limits.max_recovery,
            text=f"{format_exact(as_percent(limits.max_recovery))} %",
        ),
        Fact("least share of the gain", limits.min_retained, text=f"{format_exact(as_percent(limits.min_retained))} %"),
    )


def _list_table(comparison: Comparison) -> tuple[Fact, ...]:
    return (
        Fact("rows", comparison.rows, text=f"{comparison.rows:,}"),
        Fact("usable rows", comparison.table_rows, text=f"{comparison.table_rows:,}"),
        Fact("classes", list(comparison.classes), text=", ".join(comparison.classes)),
        Fact("unit", comparison.unit),
        Fact("units", comparison.units, text=f"{comparison.units:,}"),
    )


def _list_baselines(baselines: Baselines) -> tuple[Fact, ...]:
    public = None if baselines.public is None else baselines.public.private
    return (
        _make_share("balanced accuracy on originals", baselines.originals),
        Fact("balanced accuracy of a blind guess", baselines.blind, text=f"{100 * baselines.blind:.1f} %"),
        _make_share("balanced accuracy of public labels alone", public),
        *_list_membership(baselines.membership),
        _make_number("perplexity", baselines.perplexity, 0),
    )


def _list_about(comparison: Comparison) -> tuple[Fact, ...]:
    """Return sizes, versions and seconds under names that say what they are of."""
    return make_facts(
        {_ABOUT_LABELS.get(name, name.replace("_", " ")): value for name, value in comparison.about.items()}
    )


def _list_failures(failures: tuple[FailedRelease, ...]) -> tuple[Section, ...]:
    if not failures:
        return ()
    return (Section("not possible on this table", tuple(Fact(one.name, one.reason) for one in failures)),)
