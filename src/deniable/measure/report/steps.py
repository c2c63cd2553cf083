"""The steps of a survey: each measure on checked inputs, or None where the table has no column for it."""

from collections.abc import Sequence

import numpy as np

from deniable.core.errors import InputError
from deniable.measure.attackers.language_model import WordNumbers
from deniable.measure.authorship import AuthorshipResult, measure_authorship
from deniable.measure.batches import select_texts
from deniable.measure.contextual_recovery import (
    fit_weighted_language_model,
    measure_contextual_recovery,
    measure_crossfitted_recovery,
)
from deniable.measure.entities.labelling import LabelledTexts
from deniable.measure.entities.survival import EntitySurvival, measure_entities
from deniable.measure.intervals import Estimate, as_exact_estimate, estimate_share
from deniable.measure.labels import RowNumbers
from deniable.measure.membership import measure_membership
from deniable.measure.recovery import RecoveryResult, measure_recovery, simulate_recovery
from deniable.measure.report.findings import GuaranteeSummary
from deniable.measure.report.inputs import SurveyInputs, SurveyPlan
from deniable.measure.roc import MembershipResult
from deniable.measure.utility import UtilityResult, measure_utility
from deniable.space import Space
from deniable.text.batches import PrivatizedBatch, Tally
from deniable.text.certificate import Certificate
from deniable.text.release import Release
from deniable.text.tables.layout import CopiedContent
from deniable.words import WordMechanism
from deniable.words.outcomes import Outcomes
from deniable.words.prior import Prior


def summarize_guarantee(
    mechanism: WordMechanism, tally: Tally, copied: CopiedContent | Sequence[str], prior: Prior, seed: int
) -> tuple[Certificate, GuaranteeSummary, Outcomes | None, Estimate, RecoveryResult]:
    """Return the certificate of a release, its guarantee, what words become, how many stay, and the recovery.

    None of them depends on the private texts but for their number and lengths.
    """
    certificate = Certificate.of(Release(mechanism), tally, prior=prior, copied=copied)
    kept_words = mechanism.expected_kept_share(prior)
    expected_kept = (
        estimate_share(round(kept_words.value * kept_words.draws), kept_words.draws)
        if kept_words.draws
        else as_exact_estimate(kept_words.value)
    )
    return (
        certificate,
        GuaranteeSummary.from_certificate(certificate),
        mechanism.outcomes(prior) if mechanism.law.is_tabulated else None,
        expected_kept,
        simulate_recovery(mechanism, prior=prior, seed=seed),
    )


def select_unattacked_texts(numbered_texts: Sequence[WordNumbers], rows: RowNumbers) -> list[WordNumbers] | None:
    """Return the texts that are equal to no attacked one, for the attacker to train on.

    None where they are fewer than the attacked texts: then either half of those serves better, for the other.

    Args:
        numbered_texts: all texts as word numbers.
        rows: (k,) the attacked texts.
    """
    targets = {numbered_texts[row].tobytes() for row in rows.tolist()}
    other_texts = [words for words in numbered_texts if len(words) and words.tobytes() not in targets]
    return other_texts if len(other_texts) >= len(rows) else None


def attack_words(
    mechanism: WordMechanism,
    batch: PrivatizedBatch,
    rows: RowNumbers,
    attacker_texts: Sequence[WordNumbers] | None,
    prior: Prior,
    seed: int,
) -> tuple[RecoveryResult, RecoveryResult | None]:
    """Return the recovery of single words, and that of words in context; None where there are no texts to train on."""
    attacked_batch = select_texts(batch, rows)
    single_word_result = measure_recovery(mechanism, attacked_batch, prior=prior, seed=seed)
    if attacker_texts is not None:
        model, weight = fit_weighted_language_model(mechanism, attacker_texts, seed=seed)
        return single_word_result, measure_contextual_recovery(
            mechanism, attacked_batch, model, weight=weight, seed=seed
        )
    distinct_texts = {words.tobytes() for words in np.split(attacked_batch.words, attacked_batch.offsets[1:-1])}
    if len(distinct_texts) < 2:  # noqa: PLR2004 - one for each half
        return single_word_result, None
    return single_word_result, measure_crossfitted_recovery(mechanism, attacked_batch, seed=seed)


def compare_utilities(
    inputs: SurveyInputs, batches: Sequence[PrivatizedBatch], plan: SurveyPlan
) -> list[UtilityResult | None]:
    """Return the utility of each private version; None for each without labels."""
    if not inputs.class_count:
        return [None] * len(batches)
    texts, *private_columns = (
        [column[row] for row in inputs.learned_rows] for column in (inputs.texts, *(batch.texts for batch in batches))
    )
    private_versions = {str(place): private for place, private in enumerate(private_columns)}
    return [
        *measure_utility(
            texts, private_versions, inputs.codes, classifier=plan.classifier, folds=plan.folds, seed=plan.seed
        ).values()
    ]


def attack_membership(
    inputs: SurveyInputs, batch: PrivatizedBatch | None, plan: SurveyPlan
) -> dict[str, MembershipResult]:
    """Return attacks on classifiers trained on the original records, or on private ones; none without labels."""
    if not inputs.class_count:
        return {}
    places = inputs.sample(np.arange(len(inputs.learned_rows)), plan.members)
    texts, private = (
        [column[row] for row in inputs.learned_rows[places]]
        for column in (inputs.texts, inputs.texts if batch is None else batch.texts)
    )
    return measure_membership(
        texts,
        inputs.codes[places],
        inputs.class_count,
        private=None if batch is None else private,
        classifier=plan.classifier,
        shadows=plan.shadows,
        seed=plan.seed,
    )


def count_entities(
    space: Space, inputs: SurveyInputs, batches: Sequence[PrivatizedBatch], entities: LabelledTexts | None
) -> list[EntitySurvival | None]:
    """Return how many labelled words come out of each private version; None for each without labelled spans."""
    if entities is None:
        return [None] * len(batches)
    if len(entities) != inputs.table_rows:
        raise InputError(
            f"{inputs.table_rows} texts need as many lists of spans. Got {len(entities)}: give one for each text."
        )
    spans = [entities[row] for row in inputs.rows.tolist()]
    return [measure_entities(space, inputs.texts, batch, spans) for batch in batches]


def attack_authorship(
    inputs: SurveyInputs, batches: Sequence[PrivatizedBatch], plan: SurveyPlan
) -> list[AuthorshipResult | None]:
    """Return the attack on authorship of each private version; None for each without authors."""
    if inputs.authors is None:
        return [None] * len(batches)
    private_versions = {str(place): batch.texts for place, batch in enumerate(batches)}
    return [
        *measure_authorship(inputs.texts, private_versions, inputs.authors, folds=plan.folds, seed=plan.seed).values()
    ]
