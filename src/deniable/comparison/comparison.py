"""The comparison: every way to release one table, with the same classifiers, folds and attackers."""

import dataclasses
import platform
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import numpy as np

from deniable import __version__
from deniable.comparison.collection_releases import measure_collection_releases
from deniable.comparison.findings import Baselines, Comparison, FailedRelease, ReleaseResult
from deniable.comparison.fluency import FluencyJudge, fit_fluency_judge
from deniable.comparison.inputs import ComparisonInputs, ComparisonPlan
from deniable.comparison.record_releases import (
    RecordDraft,
    RewritingMaker,
    draft_record_releases,
    measure_record_release,
)
from deniable.comparison.training import CollectionSetting, build_collection_runner
from deniable.comparison.word_releases import WordDraft, draft_word_releases, measure_word_release
from deniable.core.errors import InputError
from deniable.core.numbers import format_exact
from deniable.core.parallel import count_cores
from deniable.measure.choice import AUTO
from deniable.measure.classifiers import build_classifier
from deniable.measure.entities.labelling import LabelledTexts
from deniable.measure.labels import BooleanMask, run_folds
from deniable.measure.membership import measure_membership
from deniable.measure.retention import ScoreComparison
from deniable.measure.tuning import MechanismChoice
from deniable.measure.utility import build_fold_runner, compare_balanced_accuracies
from deniable.persons.classifier_training import fit_public_classifier
from deniable.space import Space
from deniable.words.prior import PriorLike, build_prior

ProgressStage = Callable[[str], AbstractContextManager[None]]
"""Entered with the name of each part of the work, such as `deniable.cli.progress.show_passes`."""


@dataclasses.dataclass(frozen=True, eq=False)
class ComparisonSetting:
    """What is public or chosen of a comparison.

    Attributes:
        space: of the words.
        collection: of the releases of the collection as a whole.
        mechanism: of the words, see `deniable.measure.tuning.tune_recovery`.
        prior: public word frequencies, see `deniable.recovery`.
        make_method: of rewriting; None where no model is given.
        entities: labelled spans of the compared rows; None without.
    """

    space: Space
    collection: CollectionSetting
    mechanism: MechanismChoice = AUTO
    prior: PriorLike = None
    make_method: RewritingMaker | None = None
    entities: LabelledTexts | None = None


def compare_releases(
    inputs: ComparisonInputs,
    setting: ComparisonSetting,
    plan: ComparisonPlan,
    progress: ProgressStage = lambda _: nullcontext(),
) -> Comparison:
    """Return every way to release a table with its guarantee, its attackers and its use.

    All draws have a public seed: they serve to measure, and are never released.

    Args:
        inputs: the table.
        setting: what is public or chosen.
        plan: sizes, budgets and seed.
        progress: function from the name of each part of the work to a context that is entered for it.

    Raises:
        InputError: the table has no word of the vocabulary, or nothing can be measured on it.
    """
    seconds: dict[str, float] = {}
    stage = _time_stages(progress, seconds)
    failures: list[FailedRelease] = []
    with stage("choosing epsilons of words"):
        word_drafts = _draft_words(inputs, setting, plan, failures)
    with stage("rewriting records"):
        record_drafts = _draft_records(inputs, setting, plan, failures)
    with stage("training classifiers"):
        versions = [inputs.texts, *(draft.batch.texts for draft in word_drafts), *(one.texts for one in record_drafts)]
        original_hits, *release_hits = _test_versions(inputs, versions, plan)
    word_hits, record_hits = release_hits[: len(word_drafts)], release_hits[len(word_drafts) :]
    judge = fit_fluency_judge(setting.space, inputs.texts, plan.seed)
    with stage("measuring the originals"):
        baselines = _measure_baselines(inputs, setting, plan, judge, original_hits)
    releases: list[ReleaseResult] = []
    prior = build_prior(setting.space, setting.prior)
    for draft, hits in zip(word_drafts, word_hits, strict=True):
        with stage(f"attacking {draft.name}"):
            pair = original_hits, hits
            releases.append(measure_word_release(draft, inputs, pair, judge, plan, prior, setting.entities))
    for record_draft, hits in zip(record_drafts, record_hits, strict=True):
        with stage(f"attacking {record_draft.name}"):
            releases.append(measure_record_release(record_draft, inputs, (original_hits, hits), judge, plan))
    collection_releases: list[ReleaseResult] = []
    for epsilon in plan.budgets:
        with stage(f"the collection at epsilon {format_exact(epsilon)}"):
            collection_releases += _measure_budget(epsilon, inputs, setting, plan, judge, original_hits, failures)
    collection_releases.sort(key=lambda release: release.way)
    return Comparison(
        len(inputs.texts),
        inputs.table_rows,
        inputs.classes,
        setting.collection.unit,
        inputs.unit_count,
        baselines,
        (*releases, *collection_releases),
        tuple(failures),
        _describe_run(plan, setting, seconds),
    )


def _draft_words(
    inputs: ComparisonInputs, setting: ComparisonSetting, plan: ComparisonPlan, failures: list[FailedRelease]
) -> list[WordDraft]:
    try:
        prior = build_prior(setting.space, setting.prior)
        return draft_word_releases(setting.space, inputs, plan, prior, setting.mechanism)
    except InputError as error:
        failures.append(FailedRelease("words", str(error)))
        return []


def _draft_records(
    inputs: ComparisonInputs, setting: ComparisonSetting, plan: ComparisonPlan, failures: list[FailedRelease]
) -> list[RecordDraft]:
    if setting.make_method is None:
        return []
    try:
        return draft_record_releases(setting.make_method, inputs, plan)
    except InputError as error:
        failures.append(FailedRelease("records", str(error)))
        return []


def _test_versions(inputs: ComparisonInputs, versions: list[list[str]], plan: ComparisonPlan) -> list[BooleanMask]:
    """Return, for each version of the table, whether classifiers trained on it were right, split after split."""
    runners = [
        build_fold_runner(lambda: build_classifier(plan.classifier, plan.seed), version, inputs.texts, inputs.codes)
        for version in versions
    ]
    return [hits for (hits,) in run_folds(runners, inputs.splits)]


def _measure_baselines(
    inputs: ComparisonInputs,
    setting: ComparisonSetting,
    plan: ComparisonPlan,
    judge: FluencyJudge,
    original_hits: BooleanMask,
) -> Baselines:
    score = compare_balanced_accuracies(original_hits, original_hits, inputs.tested_codes)
    members = inputs.sample(plan.members, plan.seed)
    membership = measure_membership(
        [inputs.texts[row] for row in members],
        inputs.codes[members],
        len(inputs.classes),
        classifier=plan.classifier,
        shadows=plan.shadows,
        seed=plan.seed,
    )
    return Baselines(
        score.original,
        score.blind,
        membership["original"],
        judge.measure_rows(inputs.texts),
        _test_public_classifier(inputs, setting.collection, original_hits),
    )


def _test_public_classifier(
    inputs: ComparisonInputs, collection: CollectionSetting, original_hits: BooleanMask
) -> ScoreComparison | None:
    """Return what a classifier of public labels alone achieves on the table; None without such labels."""
    if collection.public is None or not collection.public.has_labels:
        return None
    classifier = fit_public_classifier(collection.feature_map, collection.classes, collection.public)
    rows = np.concatenate([split.test for split in inputs.splits])
    predicted = classifier.predict_probabilities([inputs.texts[row] for row in rows.tolist()]).argmax(axis=1)
    return compare_balanced_accuracies(original_hits, predicted == inputs.tested_codes, inputs.tested_codes)


def _measure_budget(
    epsilon: float,
    inputs: ComparisonInputs,
    setting: ComparisonSetting,
    plan: ComparisonPlan,
    judge: FluencyJudge,
    original_hits: BooleanMask,
    failures: list[FailedRelease],
) -> list[ReleaseResult]:
    """Return the releases of the collection at one budget; without texts where none can be written."""
    collection = setting.collection
    columns = inputs.texts, inputs.codes, inputs.persons
    for has_texts in (True, False):
        runner = build_collection_runner(collection, columns, epsilon, plan, has_texts=has_texts)
        try:
            private_hits, *student_hits = run_folds([runner], inputs.splits)[0]
            hits = original_hits, private_hits, student_hits[0] if student_hits else None
            return measure_collection_releases(collection, inputs, epsilon, hits, judge, plan)
        except InputError as error:
            name = "synthetic texts" if has_texts else "classifier"
            failures.append(FailedRelease(f"{name}, epsilon {format_exact(epsilon)}", str(error)))
    return []


def _time_stages(progress: ProgressStage, seconds: dict[str, float]) -> ProgressStage:
    """Return a stage that also writes the seconds of each part."""

    @contextmanager
    def time_stage(name: str) -> Iterator[None]:
        start = time.perf_counter()
        with progress(name):
            yield
        seconds[name] = round(time.perf_counter() - start, 2)

    return time_stage


def _describe_run(plan: ComparisonPlan, setting: ComparisonSetting, seconds: dict[str, float]) -> dict[str, Any]:
    public = setting.collection.public
    return {
        "deniable": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "cores": count_cores(),
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        **{
            name: list(value) if isinstance(value, tuple) else value for name, value in dataclasses.asdict(plan).items()
        },
        "delta": setting.collection.delta,
        "vocabulary of words": setting.space.source,
        "features": setting.collection.feature_map.source,
        "public texts": 0 if public is None else len(public.texts),
        "public labels": public is not None and public.has_labels,
        "seconds": seconds,
    }
