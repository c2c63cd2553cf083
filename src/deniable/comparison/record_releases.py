"""Release record by record: every text rewritten as a whole by a public model, where there is one."""

import dataclasses
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from deniable.comparison.findings import AttackFigures, Promise, ReleaseResult, UseFigures
from deniable.comparison.fluency import FluencyJudge
from deniable.comparison.inputs import ComparisonInputs, ComparisonPlan
from deniable.core.guarantees import is_proved, limit_status
from deniable.core.numbers import format_exact
from deniable.measure.labels import BooleanMask
from deniable.measure.linkage import measure_linkage
from deniable.measure.membership import measure_membership
from deniable.measure.utility import compare_balanced_accuracies
from deniable.rewriting.tokens import truncate_text

if TYPE_CHECKING:
    from deniable.rewriting.methods.base import RewritingMethod

RewritingMaker = Callable[[float, int | None], "RewritingMethod"]
"""Returns the rewriting method of an epsilon, with a public seed or, for None, with fresh noise."""


@dataclasses.dataclass(frozen=True, eq=False)
class RecordDraft:
    """The table rewritten once, in order to be measured.

    Attributes:
        method: as it would be released, with fresh noise; the draft itself was drawn with a public seed.
        texts: n new texts.
        seconds: of the release.
    """

    method: "RewritingMethod"
    texts: list[str]
    seconds: float

    @property
    def name(self) -> str:
        """Name of the row."""
        return f"records, epsilon {format_exact(self.method.guarantee.epsilon)}"


def draft_record_releases(
    make_method: RewritingMaker, inputs: ComparisonInputs, plan: ComparisonPlan
) -> list[RecordDraft]:
    """Return a draft for each epsilon of a text.

    Raises:
        InputError: the method cannot serve an epsilon, or the model fails on a text.
    """
    drafts = []
    for epsilon in plan.record_epsilons:
        seeded = make_method(epsilon, plan.seed)
        start = time.perf_counter()
        texts = seeded.rewrite([truncate_text(text, seeded.model.limit) for text in inputs.texts])
        seconds = time.perf_counter() - start
        drafts.append(RecordDraft(make_method(epsilon, None), texts, seconds))
    return drafts


def measure_record_release(
    draft: RecordDraft,
    inputs: ComparisonInputs,
    hits: tuple[BooleanMask, BooleanMask],
    judge: FluencyJudge,
    plan: ComparisonPlan,
) -> ReleaseResult:
    """Return the figures of a release record by record.

    Args:
        draft: the release.
        inputs: its table.
        hits: whether classifiers trained on originals, and on rewritten texts, were right, split after split.
        judge: of the fluency.
        plan: sizes and seed.
    """
    guarantee = limit_status(draft.method.guarantee, draft.method.verify())
    rows = inputs.sample(plan.linked, plan.seed)
    members = inputs.sample(plan.members, plan.seed)
    membership = measure_membership(
        [inputs.texts[row] for row in members],
        inputs.codes[members],
        len(inputs.classes),
        private=[draft.texts[row] for row in members],
        classifier=plan.classifier,
        shadows=plan.shadows,
        seed=plan.seed,
    )
    linked = measure_linkage(judge.space, inputs.texts, [draft.texts[row] for row in rows], rows, is_aligned=False)
    delta = guarantee.delta or None
    return ReleaseResult(
        "records",
        draft.name,
        guarantee.epsilon,
        delta,
        Promise(
            f"epsilon {format_exact(guarantee.epsilon)} for each text as a whole, hidden before it leaves",
            guarantee.unit,
            guarantee.adjacency,
            guarantee.status,
            guarantee.epsilon if is_proved(guarantee.status) else None,
            "a record",
        ),
        AttackFigures(linked=linked, membership=membership["original"]),
        UseFigures(
            compare_balanced_accuracies(*hits, inputs.tested_codes),
            perplexity=judge.measure_rows(draft.texts),
        ),
        draft.seconds,
        f"method {draft.method.name}",
    )
