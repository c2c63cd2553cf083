"""Release word by word, at epsilons at which an attacker's success is what was asked for."""

import dataclasses
import time
from collections import Counter
from collections.abc import Sequence

import numpy as np

from deniable.comparison.findings import AttackFigures, Promise, ReleaseResult, UseFigures
from deniable.comparison.fluency import FluencyJudge
from deniable.comparison.inputs import ComparisonInputs, ComparisonPlan
from deniable.core.numbers import as_percent, format_exact
from deniable.measure.attackers.language_model import WordNumbers, number_texts
from deniable.measure.batches import privatize_texts
from deniable.measure.entities.labelling import LabelledTexts
from deniable.measure.entities.survival import measure_entities
from deniable.measure.intervals import Estimate
from deniable.measure.labels import BooleanMask
from deniable.measure.linkage import measure_linkage
from deniable.measure.membership import measure_membership
from deniable.measure.report.findings import GuaranteeSummary
from deniable.measure.report.steps import attack_words, select_unattacked_texts, summarize_guarantee
from deniable.measure.similarity import measure_similarity
from deniable.measure.tuning import MechanismChoice, tune_recovery
from deniable.measure.utility import compare_balanced_accuracies
from deniable.space import Space
from deniable.text.batches import PrivatizedBatch, Tally
from deniable.words import WordMechanism
from deniable.words.prior import Prior


@dataclasses.dataclass(frozen=True, eq=False)
class WordDraft:
    """The table released word by word once, with a public seed, in order to be measured.

    Attributes:
        mechanism: with the epsilon that was found.
        recovery: share of words that the attacker may guess, for which it was found.
        batch: the private texts.
        seconds: of the release.
    """

    mechanism: WordMechanism
    recovery: float
    batch: PrivatizedBatch
    seconds: float

    @property
    def name(self) -> str:
        """Name of the row."""
        return f"words, epsilon {format_exact(self.mechanism.guarantee.epsilon)}"


def draft_word_releases(
    space: Space, inputs: ComparisonInputs, plan: ComparisonPlan, prior: Prior, mechanism: MechanismChoice
) -> list[WordDraft]:
    """Return a draft for each share of words that an attacker may guess, without those that no epsilon reaches.

    Raises:
        InputError: no epsilon of the mechanism reaches a share.
    """
    drafts: list[WordDraft] = []
    for recovery in plan.recoveries:
        if recovery <= prior.blind_success:
            continue
        chosen = tune_recovery(space, recovery, words="average", mechanism=mechanism, prior=prior).mechanism
        if any(draft.mechanism.epsilon == chosen.epsilon for draft in drafts):
            continue
        start = time.perf_counter()
        batch = privatize_texts(chosen, inputs.texts, seed=plan.seed)
        drafts.append(WordDraft(chosen, recovery, batch, time.perf_counter() - start))
    return drafts


def measure_word_release(
    draft: WordDraft,
    inputs: ComparisonInputs,
    hits: tuple[BooleanMask, BooleanMask],
    judge: FluencyJudge,
    plan: ComparisonPlan,
    prior: Prior,
    entities: LabelledTexts | None,
) -> ReleaseResult:
    """Return the figures of a release word by word.

    Args:
        draft: the release.
        inputs: its table.
        hits: whether classifiers trained on originals, and on private texts, were right, split after split.
        judge: of the fluency.
        plan: sizes and seed.
        prior: public word frequencies.
        entities: labelled spans of the rows; None without.
    """
    space, batch = draft.mechanism.space, draft.batch
    numbered_texts = number_texts(space, inputs.texts)
    lengths = np.array([len(words) for words in numbered_texts])
    median = int(np.sort(lengths)[(len(lengths) - 1) // 2])
    tally = Tally(len(lengths), int(lengths.sum()), Counter({median: len(lengths)}))
    _, summary, outcomes, *_ = summarize_guarantee(draft.mechanism, tally, (), prior, plan.seed)
    similarity = measure_similarity(space, inputs.texts, batch)
    rows = inputs.sample(plan.linked, plan.seed)
    members = inputs.sample(plan.members, plan.seed)
    membership = measure_membership(
        [inputs.texts[row] for row in members],
        inputs.codes[members],
        len(inputs.classes),
        private=[batch.texts[row] for row in members],
        classifier=plan.classifier,
        shadows=plan.shadows,
        seed=plan.seed,
    )
    attacks = AttackFigures(
        _attack_strongest(draft, numbered_texts, inputs, plan, prior),
        outcomes,
        measure_linkage(space, inputs.texts, [batch.texts[row] for row in rows], rows, is_aligned=True),
        membership["original"],
        None if entities is None else measure_entities(space, inputs.texts, batch, entities),
    )
    use = UseFigures(
        compare_balanced_accuracies(*hits, inputs.tested_codes),
        similarity.cosine,
        similarity.unrelated,
        judge.measure_rows(batch.texts),
    )
    return ReleaseResult(
        "words",
        draft.name,
        summary.asked,
        None,
        _describe_promise(summary, median),
        attacks,
        use,
        draft.seconds,
        f"found so that an attacker who reads one word at a time guesses {format_exact(as_percent(draft.recovery))} "
        "% of words that follow "
        f"{prior.name}",
    )


def _attack_strongest(
    draft: WordDraft,
    numbered_texts: Sequence[WordNumbers],
    inputs: ComparisonInputs,
    plan: ComparisonPlan,
    prior: Prior,
) -> Estimate:
    """Return the share of words that the better of two attackers guesses, as far as is certain."""
    rows = inputs.sample(plan.attacked, plan.seed)
    known_texts = select_unattacked_texts(numbered_texts, rows)
    results = attack_words(draft.mechanism, draft.batch, rows, known_texts, prior, plan.seed)
    return max((result.share for result in results if result is not None), key=lambda share: share.high)


def _describe_promise(summary: GuaranteeSummary, median: int) -> Promise:
    """Return the guarantee of a word, and of all words of the record of median length."""
    record = summary.record
    words = f"epsilon {format_exact(summary.asked)} per unit of distance between two words, for each word by itself"
    return Promise(
        words,
        "word",
        "any two words at one place of a text",
        summary.status,
        None if record is None else float(record["pure"]["epsilon"]),
        f"a record of {median:,} words",
    )
