"""One training of DPText, and everything that is measured of what it releases. Needs torch."""

import numpy as np

from deniable.auditing import audit, verify
from deniable.core.arrays import FloatArray
from deniable.core.intervals import DEFAULT_CONFIDENCE, Estimate, estimate_share
from deniable.published.dptext.attack import (
    SAME_WIDTH,
    AttributeAttacker,
    fit_attribute_attacker,
    get_noise_law,
    rank_true_texts,
)
from deniable.published.dptext.network import BOX_LOWER, BOX_UPPER
from deniable.published.dptext.representation import fit_representation
from deniable.published.dptext.training import AttributeRecords, RepresentationOptions
from deniable.rewriting.attacks.success import evaluate_success
from deniable.rewriting.tokens import Vocabulary
from deniable.studies.representation.bench import Bench
from deniable.studies.representation.plan import FIXED, NOISY, ZEROED, Cell
from deniable.studies.representation.readers import Released, learned
from deniable.studies.study import Data, derived

_BOTH = (1 + DEFAULT_CONFIDENCE) / 2
"""Confidence of each of two attackers' intervals, so that that of the better one holds too."""
_LEAST_COUNT = 2
_FAR = 300
"""Encodings among which the pair of an audit is looked for."""


def measured(bench: Bench, cell: Cell) -> Data:
    """Train one model, release the vectors of the other texts once, and return what is read from them."""
    held = _released(bench, cell)
    seed = derived(bench.seed, "classifier", cell.name) % 2**32
    trees = bench.sizes.trees
    task = learned(held, bench.known.task, bench.test.task, trees, seed)
    city = learned(held, bench.known.city, bench.test.city, trees, seed, _BOTH)
    return {
        "way": cell.way,
        "epsilon": cell.epsilon,
        "adversary": cell.adversary,
        "spent": held.model.epsilon if cell.way in NOISY else None,
        "scale": held.law.scale,
        "task": _told(task),
        "city": _told(city),
        "city, law known": _told(_by_law(bench, cell, held)),
        **_noise(held),
        **_identified(bench, cell, held),
        **(_claims(bench, cell, held) if cell.way in NOISY else {}),
    }


def _told(found: Estimate) -> Data:
    return {"value": found.value, "low": found.low, "high": found.high, "count": found.count}


def _options(bench: Bench, cell: Cell) -> RepresentationOptions:
    sizes = bench.sizes
    return RepresentationOptions(
        variant="none" if cell.way not in NOISY else "fixed" if cell.way == FIXED else "published",
        epsilon=cell.epsilon or 1.0,
        invalid="zero" if cell.way == ZEROED else "redraw",
        dimensions=sizes.dimensions,
        hidden=sizes.hidden,
        adversary=sizes.adversary if cell.adversary else 0.0,
        reconstruction=sizes.reconstruction,
        epochs=sizes.epochs,
    )


def _released(bench: Bench, cell: Cell) -> Released:
    """Return a trained model, and what it makes of the other texts."""
    train = bench.train
    vocabulary = Vocabulary.build(train.texts, min_count=_LEAST_COUNT)
    records = AttributeRecords(train.texts, train.task, train.city[:, None])
    model = fit_representation(
        records, vocabulary, _options(bench, cell), seed=derived(bench.seed, "training", cell.name)
    )
    clear, hidden = model.encode(bench.known.texts), model.encode(bench.test.texts)
    mechanism = model.make_mechanism(derived(bench.seed, "noise", cell.name))
    return Released(model, get_noise_law(model), mechanism.sample(clear), mechanism.sample(hidden), clear, hidden)


def _by_law(bench: Bench, cell: Cell, held: Released) -> Estimate:
    """Return how often the city is named by the likelihood of other texts' encodings, the law of the noise known."""
    rows = np.random.default_rng(derived(bench.seed, "width", cell.name)).permutation(len(held.clear))
    own = rows[: bench.sizes.chosen]
    attacker: AttributeAttacker = fit_attribute_attacker(
        held.clear, bench.known.city, held.law, held.known[own], own.tolist()
    )
    return estimate_share(int((attacker.predict(held.test) == bench.test.city).sum()), len(bench.test.city), _BOTH)


def _noise(held: Released) -> Data:
    """Return what there is of negative noise, and of none at all."""
    noise = held.test - np.clip(held.hidden, BOX_LOWER, BOX_UPPER)
    return {"below": float((noise < 0).mean()), "unchanged": float((noise == 0).mean())}


def _identified(bench: Bench, cell: Cell, held: Released) -> Data:
    """Return how often the text behind a fresh release is found among all tested ones, and what that refutes.

    And how often its city is named by who has a list of all tested texts, and nothing else of the one released.
    """
    candidates, first = np.unique(held.hidden, axis=0, return_index=True)
    coins = np.random.default_rng(derived(bench.seed, "who", cell.name))
    truths = coins.integers(len(first), size=bench.sizes.identified)
    released = held.model.make_mechanism(derived(bench.seed, "noise of who", cell.name)).sample(candidates[truths])
    found = rank_true_texts(released, truths, candidates, held.law)
    result = evaluate_success(int((found == 1).sum()), len(found), len(candidates), epsilon=held.model.epsilon)
    cities = bench.test.city[first]
    named = AttributeAttacker(candidates, cities, held.law, SAME_WIDTH).predict(released)
    return {
        "found": {**_told(result.success_rate), "permitted": result.max_success_rate if cell.way in NOISY else None},
        "found, least": result.epsilon_lower_bound,
        "city, texts listed": _told(estimate_share(int((named == cities[truths]).sum()), len(truths))),
        "candidates": len(candidates),
    }


def _claims(bench: Bench, cell: Cell, held: Released) -> Data:
    """Return what is known of the claim: the law's own loss, and what samples say at two texts far apart."""
    model = held.model
    exact = verify(model.make_mechanism(), dimension=model.dimensions)
    x, other = _farthest(held.hidden)
    mechanism = model.make_mechanism(derived(bench.seed, "noise of audit", cell.name))
    found = audit(
        mechanism.sample,
        x,
        other,
        claim=model.epsilon,
        samples=bench.sizes.audit_samples,
        batched=True,
        seed=derived(bench.seed, "audit", cell.name),
    )
    return {
        "exact": {"status": exact.status, "epsilon": exact.epsilon},
        "audit": {
            "status": found.status,
            "least": found.lower_bound,
            "detectable": found.detectable_epsilon,
            "method": found.method,
            "apart": float(np.abs(x - other).sum()),
        },
    }


def _farthest(encodings: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return two encodings that are farthest apart in l1, of those farthest from the middle."""
    far = np.abs(encodings - encodings.mean(axis=0)).sum(axis=1).argsort()[-_FAR:]
    apart = np.abs(encodings[far, None] - encodings[far]).sum(axis=2)
    one, other = np.unravel_index(int(apart.argmax()), apart.shape)
    return encodings[far[one]], encodings[far[other]]
