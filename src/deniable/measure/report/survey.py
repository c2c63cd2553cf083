"""A survey: all measures of one table at several epsilons, as `deniable measure` reports them."""

import dataclasses
import itertools
import platform
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import numpy as np

from deniable import __version__
from deniable.core.errors import InputError, import_extra
from deniable.core.numbers import format_exact
from deniable.core.parallel import count_cores
from deniable.measure.attackers.language_model import WordNumbers, number_texts
from deniable.measure.batches import privatize_texts
from deniable.measure.entities.labelling import LabelledTexts
from deniable.measure.labels import ClassLabels
from deniable.measure.report.advice import DEFAULT_LIMITS, AdviceLimits, advise, check_limits
from deniable.measure.report.examples import build_examples
from deniable.measure.report.findings import EpsilonResult, SurveyResult, TableSummary
from deniable.measure.report.inputs import SurveyInputs, SurveyPlan, build_survey_inputs
from deniable.measure.report.steps import (
    attack_authorship,
    attack_membership,
    attack_words,
    compare_utilities,
    count_entities,
    select_unattacked_texts,
    summarize_guarantee,
)
from deniable.measure.similarity import measure_similarity
from deniable.text.batches import Tally
from deniable.text.tables.layout import CopiedContent
from deniable.words import WordMechanism
from deniable.words.prior import PriorLike, build_prior

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
    entities: LabelledTexts | None = None,
    prior: PriorLike = None,
    columns: CopiedContent | Sequence[str] = (),
    plan: SurveyPlan = DEFAULT_PLAN,
    limits: AdviceLimits = DEFAULT_LIMITS,
    progress: ProgressStage = lambda _: nullcontext(),
) -> SurveyResult:
    """Return every measure of a table, under mechanisms of one space with different epsilons.

    Args:
        texts: (n,) the private texts; None counts as the empty text.
        mechanisms: the mechanisms to measure.
        labels: (n,) classes, for the accuracy of classifiers and for membership attacks.
        authors: (n,) authors, for attacks on authorship.
        public: texts that the attacker trains a language model on; without them it is trained on the rows that are
            not attacked, or, where those are few, on either half of the attacked rows, to attack the other.
        entities: (n,) the labelled spans of each text, from `deniable.measure.label_entities`, to count those that come
            out.
        prior: word frequencies known to an attacker who reads one word at a time, see `deniable.recovery`; None for
            Zipf's law by the space's ranks.
        columns: names of the columns that a release would copy unchanged, or all that it would copy.
        plan: sizes, classifier and seed.
        limits: what counts as protected and as useful.
        progress: function from the name of each part of the work to a context that is entered for it.

    Raises:
        InputError: the columns do not match, hold no word of the vocabulary, or have too few or too uniform rows to
            train on; or the mechanisms have different spaces or equal epsilons.
    """
    check_limits(limits)
    inputs = build_survey_inputs(texts, labels, authors, plan)
    sorted_mechanisms = _sort_mechanisms(mechanisms)
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
        entity_results = count_entities(space, inputs, batches, entities)
    with timed_stage("training classifiers"):
        utility_results = compare_utilities(inputs, batches, plan)
    with timed_stage("attacking membership"):
        membership_results = [attack_membership(inputs, batch, plan) for batch in batches]
    with timed_stage("attacking authorship"):
        authorship_results = attack_authorship(inputs, batches, plan)
    example_rows = inputs.sample(nonempty_rows, plan.examples)
    readings = tuple(
        EpsilonResult(
            guarantee_summaries[place][1].asked,
            mechanism.name,
            *guarantee_summaries[place][1:],
            *attack_results[place],
            similarities[place],
            utility_results[place],
            membership_results[place],
            authorship_results[place],
            entity_results[place],
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
        advice=advise([reading.deciding_figures for reading in readings], limits),
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
    """Return the mechanisms by the epsilon that they claim; raise `InputError` where they cannot be compared."""
    sorted_mechanisms = sorted(mechanisms, key=lambda mechanism: mechanism.guarantee.epsilon)
    if not sorted_mechanisms:
        raise InputError("A survey needs at least one mechanism. Got none: give one for each epsilon.")
    for one, other in itertools.pairwise(sorted_mechanisms):
        epsilon = one.guarantee.epsilon
        if epsilon == other.guarantee.epsilon:
            raise InputError(
                f"The epsilons of a survey must differ. Got {format_exact(epsilon)} twice: give each once."
            )
        if one.space.fingerprint != other.space.fingerprint:
            raise InputError("The mechanisms of a survey must have one space. Got two: survey each on its own.")
    return sorted_mechanisms


def _time_stages(progress: ProgressStage, seconds: dict[str, float]) -> ProgressStage:
    """Return a stage that also writes the seconds of each part."""

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
        unlabelled=inputs.unlabelled_count,
        alone=len(inputs.texts) - len(inputs.learned_rows) - inputs.unlabelled_count if inputs.class_count else 0,
        classes=inputs.class_count,
    )


def _describe_run(
    inputs: SurveyInputs, plan: SurveyPlan, sizes: dict[str, int], seconds: dict[str, float]
) -> dict[str, Any]:
    return {
        "deniable": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scikit-learn": import_extra("sklearn", "A survey", "measure").__version__,
        "cores": count_cores(),
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        **dataclasses.asdict(plan),
        **sizes,
        "members": min(plan.members, len(inputs.learned_rows)),
        "seconds": seconds,
    }
