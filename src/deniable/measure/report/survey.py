"""All measures of one table at several epsilons: what `deniable measure` reports.

The questions are which epsilon to take, and what is lost by it.
"""

import dataclasses
import itertools
import platform
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import numpy as np
import sklearn

from deniable import __version__
from deniable.core.errors import InputError
from deniable.core.intervals import Estimate, as_exact_estimate, estimate_share
from deniable.core.parallel import count_cores
from deniable.measure.attackers.language_model import WordNumbers, number_texts
from deniable.measure.authorship import AuthorshipResult, measure_authorships
from deniable.measure.batches import build_examples, privatize_texts, select_texts
from deniable.measure.contextual_recovery import (
    fit_weighted_language_model,
    measure_contextual_recovery,
    measure_crossfitted_recovery,
)
from deniable.measure.labels import ClassLabels
from deniable.measure.membership import measure_membership
from deniable.measure.recovery import RecoveryResult, measure_recovery, simulate_recovery
from deniable.measure.report.findings import EpsilonResult, GuaranteeSummary, SurveyResult, TableSummary
from deniable.measure.report.inputs import RowNumbers, SurveyInputs, SurveyPlan, build_survey_inputs
from deniable.measure.roc import MembershipResult
from deniable.measure.similarity import measure_similarity
from deniable.measure.utility import UtilityResult, measure_utilities
from deniable.text.batches import PrivatizedBatch, Tally
from deniable.text.certificate import Certificate
from deniable.text.release import Release
from deniable.text.tables.layout import CopiedContent
from deniable.words import WordMechanism
from deniable.words.prior import Prior, PriorLike, build_prior


def summarize_guarantee(
    mechanism: WordMechanism, tally: Tally, columns: Sequence[str], prior: Prior, seed: int
) -> tuple[Certificate, GuaranteeSummary, Estimate, RecoveryResult]:
    """Return the certificate that a release would have, and what is known without the texts."""
    certificate = Certificate.of(Release(mechanism), tally, prior=prior, copied=CopiedContent(tuple(columns)))
    kept_words = mechanism.expected_kept_share(prior)
    expected_kept = (
        estimate_share(round(kept_words.value * kept_words.draws), kept_words.draws)
        if kept_words.draws
        else as_exact_estimate(kept_words.value)
    )
    return (
        certificate,
        GuaranteeSummary.from_certificate(certificate),
        expected_kept,
        simulate_recovery(mechanism, prior=prior, seed=seed),
    )


def select_unattacked_texts(numbered_texts: Sequence[WordNumbers], rows: RowNumbers) -> list[WordNumbers] | None:
    """Return the texts that an attacker may learn from, none of them equal to one that he attacks.

    None where there are fewer of them than texts attacked: then two halves of those serve better.

    Args:
        numbered_texts: all texts as word numbers.
        rows: (k,) those that are attacked.
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
    """Return the attack on single words, and that on words in their context where there is something to learn from."""
    attacked_batch = select_texts(batch, rows)
    single_word_result = measure_recovery(mechanism, attacked_batch, prior=prior, seed=seed)
    if attacker_texts is not None:
        model, weight = fit_weighted_language_model(mechanism, attacker_texts, seed=seed)
        return single_word_result, measure_contextual_recovery(
            mechanism, attacked_batch, model, weight=weight, seed=seed
        )
    distinct_texts = {words.tobytes() for words in np.split(attacked_batch.words, attacked_batch.offsets[1:-1])}
    return single_word_result, measure_crossfitted_recovery(mechanism, attacked_batch, seed=seed) if len(
        distinct_texts
    ) > 1 else None


def measure_version_utilities(
    inputs: SurveyInputs, batches: Sequence[PrivatizedBatch], plan: SurveyPlan
) -> list[UtilityResult | None]:
    """Return what classifiers lose by each version; None for each without labels."""
    if not inputs.class_count:
        return [None] * len(batches)
    texts, *private_columns = (
        [column[row] for row in inputs.learned_rows] for column in (inputs.texts, *(batch.texts for batch in batches))
    )
    private_versions = {str(place): private for place, private in enumerate(private_columns)}
    return [
        *measure_utilities(
            texts, private_versions, inputs.codes, classifier=plan.classifier, folds=plan.folds, seed=plan.seed
        ).values()
    ]


def attack_membership(
    inputs: SurveyInputs, batch: PrivatizedBatch | None, plan: SurveyPlan
) -> dict[str, MembershipResult]:
    """Return attacks on classifiers trained on the original records, or on those drawn; none without labels."""
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


def attack_authorship(
    inputs: SurveyInputs, batches: Sequence[PrivatizedBatch], plan: SurveyPlan
) -> list[AuthorshipResult | None]:
    """Return how often the authors of each version are named; None for each without authors."""
    if inputs.authors is None:
        return [None] * len(batches)
    private_versions = {str(place): batch.texts for place, batch in enumerate(batches)}
    return [
        *measure_authorships(inputs.texts, private_versions, inputs.authors, folds=plan.folds, seed=plan.seed).values()
    ]


ProgressStage = Callable[[str], AbstractContextManager[None]]
"""Entered with the name of each part of the work, such as `deniable.cli.progress.show_passes`."""

DEFAULT_PLAN = SurveyPlan()


def survey_table(
    texts: Sequence[str | None],
    mechanisms: Sequence[WordMechanism],
    *,
    labels: Sequence[str | None] | ClassLabels | None = None,
    authors: Sequence[str | None] | None = None,
    public: Sequence[str | None] | None = None,
    prior: PriorLike = None,
    columns: Sequence[str] = (),
    plan: SurveyPlan = DEFAULT_PLAN,
    progress: ProgressStage = lambda _: nullcontext(),
) -> SurveyResult:
    """Return every measure of a table, under mechanisms of one space with different epsilons.

    Args:
        texts: (n,) the private texts; None counts as the empty text.
        mechanisms: what would privatize them.
        labels: (n,) classes, for the accuracy of classifiers and for membership attacks.
        authors: (n,) who wrote each text, for attacks on authorship.
        public: texts that an attacker has, to learn from how people write; without them he learns from the rows
            that are not attacked, or, where those are few, from one half of the rows to attack the other.
        prior: how frequent words are to an attacker who reads one at a time, see `deniable.recovery`; None for Zipf's
            law by the space's ranks.
        columns: names of the columns that a release would copy unchanged.
        plan: sizes, classifier and seed.
        progress: told what is being done.

    Raises:
        InputError: the columns do not fit, hold no word that the vocabulary knows, or are too few or too uniform to
            learn from; or the mechanisms have different spaces or equal epsilons.
    """
    inputs, sorted_mechanisms = build_survey_inputs(texts, labels, authors, plan), _sort_mechanisms(mechanisms)
    space = sorted_mechanisms[0].space
    frequencies = build_prior(space, prior)
    seconds: dict[str, float] = {}
    timed_stage = _time_stages(progress, seconds)
    numbered_texts = number_texts(space, inputs.texts)
    table_summary = _summarize_table(inputs, numbered_texts, len(space))
    nonempty_rows = np.flatnonzero([len(words) for words in numbered_texts])
    with timed_stage("attacking membership of the originals"):
        original_attacks = attack_membership(inputs, None, plan)
    with timed_stage("proving"):
        tally = Tally(table_summary.rows, table_summary.words, Counter({table_summary.median: table_summary.rows}))
        guarantee_summaries = [
            summarize_guarantee(mechanism, tally, columns, frequencies, plan.seed) for mechanism in sorted_mechanisms
        ]
    with timed_stage("privatizing"):
        batches = [privatize_texts(mechanism, inputs.texts, seed=plan.seed) for mechanism in sorted_mechanisms]
    with timed_stage("attacking words"):
        attacked_rows = inputs.sample(nonempty_rows, plan.attacked)
        attacker_texts = (
            select_unattacked_texts(numbered_texts, attacked_rows)
            if public is None
            else number_texts(space, [text or "" for text in public])
        )
        attack_results = [
            attack_words(*pair, attacked_rows, attacker_texts, frequencies, plan.seed)
            for pair in zip(sorted_mechanisms, batches, strict=True)
        ]
    with timed_stage("comparing texts"):
        similarities = [measure_similarity(space, inputs.texts, batch) for batch in batches]
    with timed_stage("training classifiers"):
        utility_results = measure_version_utilities(inputs, batches, plan)
    with timed_stage("attacking membership"):
        membership_results = [attack_membership(inputs, batch, plan) for batch in batches]
    with timed_stage("attacking authorship"):
        authorship_results = attack_authorship(inputs, batches, plan)
    example_rows = inputs.sample(nonempty_rows, plan.examples)
    readings = tuple(
        EpsilonResult(
            mechanism.epsilon,
            mechanism.name,
            *guarantee_summaries[place][1:],
            *attack_results[place],
            similarities[place],
            utility_results[place],
            membership_results[place],
            authorship_results[place],
            build_examples(space, inputs.texts, batches[place], example_rows, inputs.rows),
        )
        for place, mechanism in enumerate(sorted_mechanisms)
    )
    certificate = guarantee_summaries[0][0]
    return SurveyResult(
        table=table_summary,
        space=certificate.space,
        readings=readings,
        prior=frequencies.name,
        blind=frequencies.blind_success,
        originals=original_attacks.get("original"),
        not_protected=tuple(certificate.not_protected),
        about=_describe_run(
            inputs,
            plan,
            {"attacked": len(attacked_rows), "public": len(public or ()), "read": len(attacker_texts or ())},
            seconds,
        ),
    )


def _sort_mechanisms(mechanisms: Sequence[WordMechanism]) -> list[WordMechanism]:
    """Return the mechanisms by epsilon, or say why they do not go together."""
    sorted_mechanisms = sorted(mechanisms, key=lambda mechanism: mechanism.epsilon)
    if not sorted_mechanisms:
        raise InputError("A survey needs at least one mechanism. Got none: give one for each epsilon.")
    for one, other in itertools.pairwise(sorted_mechanisms):
        if one.epsilon == other.epsilon:
            raise InputError(f"The epsilons of a survey must differ. Got {one.epsilon:g} twice: give each once.")
        if one.space.fingerprint != other.space.fingerprint:
            raise InputError("The mechanisms of a survey must have one space. Got two: survey each on its own.")
    return sorted_mechanisms


def _time_stages(progress: ProgressStage, seconds: dict[str, float]) -> ProgressStage:
    """Return a stage that also notes how long each part took."""

    @contextmanager
    def time_stage(name: str) -> Iterator[None]:
        start = time.perf_counter()
        with progress(name):
            yield
        seconds[name] = round(time.perf_counter() - start, 2)

    return time_stage


def _summarize_table(inputs: SurveyInputs, numbered_texts: Sequence[WordNumbers], vocabulary_size: int) -> TableSummary:
    lengths = np.array([len(words) for words in numbered_texts])
    unknown = int(sum((words == vocabulary_size).sum() for words in numbered_texts))
    if unknown == lengths.sum():
        raise InputError(f"None of the {unknown} words of the texts is in the vocabulary: use other vectors.")
    return TableSummary(
        rows=len(inputs.texts),
        whole=inputs.table_rows,
        empty=int(sum(not text.strip() for text in inputs.texts)),
        words=int(lengths.sum()),
        unknown=unknown,
        median=int(np.sort(lengths)[(len(lengths) - 1) // 2]),
        longest=int(lengths.max()),
        learned=len(inputs.learned_rows),
        alone=len(inputs.texts) - len(inputs.learned_rows) if inputs.class_count else 0,
        classes=inputs.class_count,
    )


def _describe_run(
    inputs: SurveyInputs, plan: SurveyPlan, sizes: dict[str, int], seconds: dict[str, float]
) -> dict[str, Any]:
    return {
        "deniable": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scikit-learn": sklearn.__version__,
        "cores": count_cores(),
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        **dataclasses.asdict(plan),
        **sizes,
        "members": min(plan.members, len(inputs.learned_rows)),
        "seconds": seconds,
    }
