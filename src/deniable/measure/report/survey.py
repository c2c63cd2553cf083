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
from deniable.errors import InputError
from deniable.measure.attackers.language import Words, read
from deniable.measure.draws import draws
from deniable.measure.labels import Labels
from deniable.measure.report.examples import excerpts
from deniable.measure.report.findings import Reading, Survey, Table
from deniable.measure.report.inputs import Inputs, Plan, prepared
from deniable.measure.report.steps import author_attacks, member_attacks, promised, trained, unattacked, word_attacks
from deniable.measure.similarity import similarity
from deniable.parallel import cores
from deniable.text.release import Tally
from deniable.words import WordMechanism
from deniable.words.prior import Frequencies, build_prior

Stage = Callable[[str], AbstractContextManager[None]]
"""Entered with the name of each part of the work, such as `deniable.cli.progress.passes`."""

DEFAULT = Plan()


def survey(
    texts: Sequence[str | None],
    mechanisms: Sequence[WordMechanism],
    *,
    labels: Sequence[str | None] | Labels | None = None,
    authors: Sequence[str | None] | None = None,
    public: Sequence[str | None] | None = None,
    prior: Frequencies = None,
    columns: Sequence[str] = (),
    plan: Plan = DEFAULT,
    stage: Stage = lambda _: nullcontext(),
) -> Survey:
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
        stage: told what is being done.

    Raises:
        InputError: the columns do not fit, hold no word that the vocabulary knows, or are too few or too uniform to
            learn from; or the mechanisms have different spaces or equal epsilons.
    """
    given, ordered = prepared(texts, labels, authors, plan), _ordered(mechanisms)
    space = ordered[0].space
    frequencies = build_prior(space, prior)
    seconds: dict[str, float] = {}
    timed = _timed(stage, seconds)
    cut = read(space, given.texts)
    table = _table(given, cut, len(space))
    filled = np.flatnonzero([len(words) for words in cut])
    with timed("attacking membership of the originals"):
        originals = member_attacks(given, None, plan)
    with timed("proving"):
        tally = Tally(table.rows, table.words, Counter({table.median: table.rows}))
        promises = [promised(mechanism, tally, columns, frequencies, plan.seed) for mechanism in ordered]
    with timed("privatizing"):
        drawn = [draws(mechanism, given.texts, seed=plan.seed) for mechanism in ordered]
    with timed("attacking words"):
        attacked = given.sample(filled, plan.attacked)
        known = unattacked(cut, attacked) if public is None else read(space, [text or "" for text in public])
        attacks = [
            word_attacks(*pair, attacked, known, frequencies, plan.seed) for pair in zip(ordered, drawn, strict=True)
        ]
    with timed("comparing texts"):
        alike = [similarity(space, given.texts, found) for found in drawn]
    with timed("training classifiers"):
        useful = trained(given, drawn, plan)
    with timed("attacking membership"):
        members = [member_attacks(given, found, plan) for found in drawn]
    with timed("attacking authorship"):
        named = author_attacks(given, drawn, plan)
    rows = given.sample(filled, plan.examples)
    readings = tuple(
        Reading(
            mechanism.epsilon,
            mechanism.name,
            *promises[place][1:],
            *attacks[place],
            alike[place],
            useful[place],
            members[place],
            named[place],
            excerpts(space, given.texts, drawn[place], rows, given.rows),
        )
        for place, mechanism in enumerate(ordered)
    )
    certificate = promises[0][0]
    return Survey(
        table=table,
        space=certificate.space,
        readings=readings,
        prior=frequencies.name,
        blind=frequencies.blind,
        originals=originals.get("original"),
        not_protected=tuple(certificate.not_protected),
        about=_about(
            given, plan, {"attacked": len(attacked), "public": len(public or ()), "read": len(known or ())}, seconds
        ),
    )


def _ordered(mechanisms: Sequence[WordMechanism]) -> list[WordMechanism]:
    """Return the mechanisms by epsilon, or say why they do not go together."""
    ordered = sorted(mechanisms, key=lambda mechanism: mechanism.epsilon)
    if not ordered:
        raise InputError("A survey needs at least one mechanism. Got none: give one for each epsilon.")
    for one, other in itertools.pairwise(ordered):
        if one.epsilon == other.epsilon:
            raise InputError(f"The epsilons of a survey must differ. Got {one.epsilon:g} twice: give each once.")
        if one.space.fingerprint != other.space.fingerprint:
            raise InputError("The mechanisms of a survey must have one space. Got two: survey each on its own.")
    return ordered


def _timed(stage: Stage, seconds: dict[str, float]) -> Stage:
    """Return a stage that also notes how long each part took."""

    @contextmanager
    def timing(name: str) -> Iterator[None]:
        start = time.perf_counter()
        with stage(name):
            yield
        seconds[name] = round(time.perf_counter() - start, 2)

    return timing


def _table(given: Inputs, cut: Sequence[Words], size: int) -> Table:
    lengths = np.array([len(words) for words in cut])
    unknown = int(sum((words == size).sum() for words in cut))
    if unknown == lengths.sum():
        raise InputError(f"None of the {unknown} words of the texts is in the vocabulary: use other vectors.")
    return Table(
        rows=len(given.texts),
        whole=given.whole,
        empty=int(sum(not text.strip() for text in given.texts)),
        words=int(lengths.sum()),
        unknown=unknown,
        median=int(np.sort(lengths)[(len(lengths) - 1) // 2]),
        longest=int(lengths.max()),
        learned=len(given.learned),
        alone=len(given.texts) - len(given.learned) if given.classes else 0,
        classes=given.classes,
    )


def _about(given: Inputs, plan: Plan, sizes: dict[str, int], seconds: dict[str, float]) -> dict[str, Any]:
    return {
        "deniable": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scikit-learn": sklearn.__version__,
        "cores": cores(),
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        **dataclasses.asdict(plan),
        **sizes,
        "members": min(plan.members, len(given.learned)),
        "seconds": seconds,
    }
