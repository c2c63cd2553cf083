"""The parts of a survey, each a measure of all or of one privatized version of the table."""

from collections.abc import Sequence

import numpy as np

from deniable.measure.attackers.language import Words
from deniable.measure.authorship import Authorship, authorships
from deniable.measure.context import contextual, crossfitted, learn
from deniable.measure.estimate import Estimate, exact, share
from deniable.measure.membership import membership
from deniable.measure.recovery import Recovered, recovery_of, simulated_recovery
from deniable.measure.report.examples import part
from deniable.measure.report.findings import Promise
from deniable.measure.report.inputs import Inputs, Plan, Rows
from deniable.measure.roc import Membership
from deniable.measure.utility import Utility, utilities
from deniable.text.certificate import Certificate
from deniable.text.release import Drawn, Release, Tally
from deniable.text.tables.layout import Copied
from deniable.words import WordMechanism
from deniable.words.prior import Prior


def promised(
    mechanism: WordMechanism, tally: Tally, columns: Sequence[str], prior: Prior, seed: int
) -> tuple[Certificate, Promise, Estimate, Recovered]:
    """Return the certificate that a release would have, and what is known without the texts."""
    certificate = Certificate.of(Release(mechanism), tally, prior=prior, copied=Copied(tuple(columns)))
    kept = mechanism.expected_kept(prior)
    expected = share(round(kept.value * kept.draws), kept.draws) if kept.draws else exact(kept.value)
    return certificate, Promise.of(certificate), expected, simulated_recovery(mechanism, prior=prior, seed=seed)


def unattacked(cut: Sequence[Words], rows: Rows) -> list[Words] | None:
    """Return the texts that an attacker may learn from, none of them equal to one that he attacks.

    None where there are fewer of them than texts attacked: then two halves of those serve better.

    Args:
        cut: all texts as word numbers.
        rows: (k,) those that are attacked.
    """
    targets = {cut[row].tobytes() for row in rows.tolist()}
    others = [words for words in cut if len(words) and words.tobytes() not in targets]
    return others if len(others) >= len(rows) else None


def word_attacks(
    mechanism: WordMechanism, drawn: Drawn, rows: Rows, known: Sequence[Words] | None, prior: Prior, seed: int
) -> tuple[Recovered, Recovered | None]:
    """Return the attack on single words, and that on words in their context where there is something to learn from."""
    target = part(drawn, rows)
    alone = recovery_of(mechanism, target, prior=prior, seed=seed)
    if known is not None:
        model, weight = learn(mechanism, known, seed=seed)
        return alone, contextual(mechanism, target, model, weight=weight, seed=seed)
    different = {words.tobytes() for words in np.split(target.words, target.offsets[1:-1])}
    return alone, crossfitted(mechanism, target, seed=seed) if len(different) > 1 else None


def trained(given: Inputs, drawn: Sequence[Drawn], plan: Plan) -> list[Utility | None]:
    """Return what classifiers lose by each version; None for each without labels."""
    if not given.classes:
        return [None] * len(drawn)
    texts, *privates = ([column[row] for row in given.learned] for column in (given.texts, *(d.texts for d in drawn)))
    named = {str(place): private for place, private in enumerate(privates)}
    return [
        *utilities(texts, named, given.codes, classifier=plan.classifier, folds=plan.folds, seed=plan.seed).values()
    ]


def member_attacks(given: Inputs, drawn: Drawn | None, plan: Plan) -> dict[str, Membership]:
    """Return attacks on classifiers trained on the original records, or on those drawn; none without labels."""
    if not given.classes:
        return {}
    places = given.sample(np.arange(len(given.learned)), plan.members)
    texts, private = (
        [column[row] for row in given.learned[places]]
        for column in (given.texts, given.texts if drawn is None else drawn.texts)
    )
    return membership(
        texts,
        given.codes[places],
        given.classes,
        private=None if drawn is None else private,
        classifier=plan.classifier,
        shadows=plan.shadows,
        seed=plan.seed,
    )


def author_attacks(given: Inputs, drawn: Sequence[Drawn], plan: Plan) -> list[Authorship | None]:
    """Return how often the authors of each version are named; None for each without authors."""
    if given.authors is None:
        return [None] * len(drawn)
    named = {str(place): found.texts for place, found in enumerate(drawn)}
    return [*authorships(given.texts, named, given.authors, folds=plan.folds, seed=plan.seed).values()]
