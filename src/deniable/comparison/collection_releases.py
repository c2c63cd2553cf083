"""Releases of the collection as a whole: a private classifier, and synthetic texts with labels."""

import time

from deniable.comparison.findings import AttackFigures, Promise, ReleaseResult, UseFigures, Way
from deniable.comparison.fluency import FluencyJudge
from deniable.comparison.inputs import ComparisonInputs, ComparisonPlan
from deniable.comparison.training import CollectionSetting, PrivateLearner
from deniable.core.guarantees import Guarantee, is_proved, limit_status
from deniable.core.numbers import format_exact, format_upper
from deniable.core.parallel import hide_progress
from deniable.measure.labels import BooleanMask
from deniable.measure.membership import measure_membership
from deniable.measure.roc import MembershipResult
from deniable.measure.utility import compare_balanced_accuracies
from deniable.persons.group_privacy import bound_group_epsilon

_GROUP = 10
"""Records of one person that the guarantee of a record is spelled out for."""
_SAME_ATTACK = "membership: attacked is the classifier of the same budget, which tells more than texts written from one"


def attack_private_classifier(
    setting: CollectionSetting, inputs: ComparisonInputs, epsilon: float, plan: ComparisonPlan
) -> MembershipResult:
    """Return the attack on the membership of records in the training set of a private classifier.

    Every attacked record is a unit by itself.
    """
    members = inputs.sample(plan.members, plan.seed)
    results = measure_membership(
        [inputs.texts[row] for row in members],
        inputs.codes[members],
        len(inputs.classes),
        classifier=lambda seed: PrivateLearner(setting, epsilon, seed),
        shadows=plan.shadows,
        seed=plan.seed,
    )
    return results["original"]


def measure_collection_releases(
    setting: CollectionSetting,
    inputs: ComparisonInputs,
    epsilon: float,
    hits: tuple[BooleanMask, BooleanMask, BooleanMask | None],
    judge: FluencyJudge,
    plan: ComparisonPlan,
) -> list[ReleaseResult]:
    """Return the figures of a private classifier, and of synthetic texts with their own budget.

    Args:
        setting: what is public.
        inputs: the table.
        epsilon: of each of the two releases.
        hits: whether classifiers trained on originals, the private ones, and those trained on synthetic texts were
            right, split after split; None for the last where no texts could be written.
        judge: of the fluency.
        plan: sizes and seed.
    """
    original_hits, private_hits, student_hits = hits
    private = setting.group_texts(inputs.texts, inputs.codes, inputs.persons)
    start = time.perf_counter()
    with hide_progress():
        classifier = setting.fit_classifier(private, epsilon, plan.seed)
    seconds = time.perf_counter() - start
    membership = attack_private_classifier(setting, inputs, epsilon, plan)
    promise = _describe_promise(setting, epsilon, classifier.guarantee)
    results = [
        ReleaseResult(
            "classifier",
            _name_release("classifier", epsilon),
            epsilon,
            setting.delta,
            promise,
            AttackFigures(membership=membership),
            UseFigures(compare_balanced_accuracies(original_hits, private_hits, inputs.tested_codes)),
            seconds,
            "only the classifier is released, no text",
        )
    ]
    if student_hits is None:
        return results
    start = time.perf_counter()
    with hide_progress():
        synthetic = setting.synthesize(private, epsilon, plan.synthetic_rows, plan.seed)
    seconds = time.perf_counter() - start
    use = UseFigures(
        compare_balanced_accuracies(original_hits, student_hits, inputs.tested_codes),
        perplexity=judge.measure_texts(synthetic.texts),
    )
    name = _name_release("synthetic texts", epsilon)
    attacks = AttackFigures(membership=membership)
    note = f"{plan.synthetic_rows:,} texts of the generator {setting.generator}; {_SAME_ATTACK}"
    return [
        *results,
        ReleaseResult("synthetic texts", name, epsilon, setting.delta, promise, attacks, use, seconds, note),
    ]


def _name_release(way: Way, epsilon: float) -> str:
    return f"{way}, epsilon {format_exact(epsilon)}"


def _describe_promise(setting: CollectionSetting, epsilon: float, guarantee: Guarantee | None) -> Promise:
    """Return the guarantee of a unit; where that is a record, also that of a person with several."""
    budget = setting.plan_training_budget(epsilon)
    # Drafts are drawn with a public seed; a release is not, and has the status of its theorem.
    proved = limit_status(budget.guarantee, budget.verify())
    words = (
        f"epsilon {format_exact(proved.epsilon)}, delta {format_exact(proved.delta)} for everything that one "
        f"{setting.unit} has in the table"
    )
    if setting.unit == "record":
        group = bound_group_epsilon(budget, _GROUP)
        words += f"; a person with {_GROUP} records: epsilon {format_upper(group)}"
    adjacency = "" if guarantee is None else guarantee.adjacency
    return Promise(
        words,
        setting.unit,
        adjacency,
        proved.status,
        proved.epsilon if is_proved(proved.status) else None,
        f"a {setting.unit}",
    )
