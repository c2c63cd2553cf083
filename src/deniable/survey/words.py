"""Release word by word: at an epsilon, or where an attacker's success is what was asked for."""

import dataclasses
import itertools
import time
from collections import Counter
from collections.abc import Sequence

import numpy as np

from deniable.core.errors import InputError
from deniable.core.numbers import as_percent, format_exact
from deniable.measure.batches import privatize_texts, select_texts
from deniable.measure.choice import AUTO
from deniable.measure.entities.survival import measure_entities
from deniable.measure.reading import Reading, ReadingPlan, measure_reading
from deniable.measure.recovery import (
    RecoveryResult,
    estimate_kept,
    fit_weighted_language_model,
    measure_contextual_recovery,
    measure_crossfitted_recovery,
    measure_recovery,
    simulate_recovery,
)
from deniable.measure.similarity import measure_similarity
from deniable.measure.tuning import MechanismChoice, tune_recovery
from deniable.space import Space
from deniable.survey.results import MarkedText, Promise, Result, RowExample
from deniable.survey.survey import Bench
from deniable.survey.table import sample_rows
from deniable.text.batches import PrivatizedBatch, Tally
from deniable.text.certificate import Certificate
from deniable.text.release import Release
from deniable.text.tables.layout import CopiedContent
from deniable.words import WordMechanism
from deniable.words.prior import PriorLike

MAX_SHOWN_WORDS = 60
"""Maximum number of words shown of a text."""


@dataclasses.dataclass(frozen=True, eq=False)
class Words:
    """Every word replaced by itself, see `deniable.survey.survey.Way`.

    Attributes:
        mechanism: replaces the words.
        copied: names of the columns that a release would copy unchanged, or all that it would copy.
        note: how its epsilon was found.
    """

    mechanism: WordMechanism
    copied: CopiedContent | Sequence[str] = ()
    note: str = ""

    @property
    def name(self) -> str:
        """Name of the row, by the epsilon that is claimed."""
        return f"words, epsilon {format_exact(self.mechanism.guarantee.epsilon)}"

    def measure(self, bench: Bench) -> Result:
        """Return the figures; the promise depends on the private texts by their number and lengths alone.

        Raises:
            InputError: the mechanism draws from other words than those of the bench.
        """
        mechanism, table, seed = self.mechanism, bench.table, bench.plan.seed
        if mechanism.space.fingerprint != bench.space.fingerprint:
            raise InputError(f"All ways of a survey must have one space. Got another for {self.name!r}.")
        start = time.perf_counter()
        batch = privatize_texts(mechanism, table.texts, seed=seed)
        seconds = time.perf_counter() - start
        return Result(
            kind="words",
            name=self.name,
            epsilon=mechanism.guarantee.epsilon,
            promise=self._describe_promise(bench),
            seconds=seconds,
            note=f"{mechanism.name}{self.note}",
            utility=bench.test_classifier(bench.make_runner(batch.texts)) if table.classes else None,
            membership=bench.attack_membership(batch.texts),
            recovery=self._attack_words(bench, batch),
            reading=self._read_words(bench, batch),
            outcomes=mechanism.outcomes(bench.prior) if mechanism.law.is_tabulated else None,
            expected=estimate_kept(mechanism, bench.prior),
            linked=bench.link(batch.texts, is_aligned=True),
            entities=None
            if table.entities is None
            else measure_entities(bench.space, table.texts, batch, table.entities),
            authorship=bench.attack_authorship(batch.texts),
            similarity=measure_similarity(bench.space, table.texts, batch),
            perplexity=bench.measure_perplexity(batch.texts),
            examples=_build_examples(bench, batch),
        )

    def _describe_promise(self, bench: Bench) -> Promise:
        """Return the guarantee of a word, and of all words of the record of median length."""
        summary = bench.summarize()
        tally = Tally(summary.rows, summary.words, Counter({summary.median: summary.rows}))
        certificate = Certificate.of(Release(self.mechanism), tally, prior=bench.prior, copied=self.copied)
        verification, record = certificate.verification, next(iter(certificate.documents), None)
        is_bounded = verification["status"] in {"proved", "undecided"} and not isinstance(verification["epsilon"], str)
        epsilon = format_exact(certificate.guarantee["epsilon"])
        return Promise(
            statement=f"epsilon {epsilon} per unit of distance between two words, for each word by itself",
            unit="word",
            adjacency="any two words at one place of a text",
            status=certificate.guarantee["status"],
            method=verification["method"],
            proven=verification["epsilon"] if is_bounded else None,
            whole=None if record is None else float(record["pure"]["epsilon"]),
            whole_unit=f"a record of {summary.median:,} words",
            approximate=None
            if record is None
            else (float(record["approximate"]["epsilon"]), record["approximate"]["source"]),
            meaning=tuple(certificate.meaning),
            not_protected=tuple(certificate.not_protected),
        )

    def _attack_words(self, bench: Bench, batch: PrivatizedBatch) -> dict[str, RecoveryResult]:
        """Return the recovery on any text, and on this table; none in context where there are no texts to train on."""
        mechanism, seed = self.mechanism, bench.plan.seed
        attacked = select_texts(batch, bench.attacked_rows)
        recovery = {
            "any text": simulate_recovery(mechanism, prior=bench.prior, seed=seed),
            "single": measure_recovery(mechanism, attacked, prior=bench.prior, seed=seed),
        }
        distinct_texts = {words.tobytes() for words in np.split(attacked.words, attacked.offsets[1:-1])}
        if bench.attacker_texts is not None:
            model, weight = fit_weighted_language_model(mechanism, bench.attacker_texts, seed=seed)
            recovery["context"] = measure_contextual_recovery(mechanism, attacked, model, weight=weight, seed=seed)
        elif len(distinct_texts) > 1:  # one for each half
            recovery["context"] = measure_crossfitted_recovery(mechanism, attacked, seed=seed)
        return recovery

    def _read_words(self, bench: Bench, batch: PrivatizedBatch) -> Reading | None:
        """Return what readers with a language model guess of the attacked texts; None without a model."""
        if bench.reader is None:
            return None
        rows = bench.attacked_rows
        texts = [bench.table.texts[row] for row in rows.tolist()]
        plan = ReadingPlan(seed=bench.plan.seed)
        return measure_reading(
            self.mechanism, texts, select_texts(batch, rows), bench.reader, watch=bench.watch, plan=plan
        )


@dataclasses.dataclass(frozen=True, eq=False)
class TunedWords:
    """Every word replaced by itself, at the epsilon at which an attacker guesses a share of them.

    Attributes:
        recovery: that share, of running words, one at a time.
        space: the words that are drawn.
        prior: public word frequencies, see `deniable.recovery`.
        mechanism: that replaces the words, see `deniable.measure.tuning.tune_recovery`.
    """

    recovery: float
    space: Space
    prior: PriorLike = None
    mechanism: MechanismChoice = AUTO

    @property
    def name(self) -> str:
        """Name of the way; the row is named after the epsilon that was found."""
        return f"words, {format_exact(as_percent(self.recovery))}% guessed"

    def measure(self, bench: Bench) -> Result:
        """Return the figures at that epsilon.

        Raises:
            InputError: no epsilon of the mechanism reaches the share.
        """
        tuned = tune_recovery(
            self.space, self.recovery, words="average", mechanism=self.mechanism, prior=self.prior
        ).mechanism
        share = format_exact(as_percent(self.recovery))
        note = f", where an attacker who reads one word at a time guesses {share}% of words that follow "
        return Words(tuned, note=f"{note}{bench.prior.name}").measure(bench)


def _build_examples(bench: Bench, batch: PrivatizedBatch) -> tuple[RowExample, ...]:
    """Return rows before and after, up to `MAX_SHOWN_WORDS` words of each."""
    examples = []
    for row in sample_rows(bench.rows_with_words, bench.plan.examples, bench.plan.seed).tolist():
        word_range = slice(batch.offsets[row], batch.offsets[row + 1])
        outputs = [bench.space.words[word] for word in batch.outputs[word_range].tolist()]
        changed = batch.changed_mask[word_range].tolist()
        text = bench.table.texts[row]
        pieces = bench.space.split_words(text)
        before, after = (
            _mark_changes(version, words, pieces[0::2], changed)
            for version, words in ((text, pieces[1::2]), (batch.texts[row], outputs))
        )
        examples.append(RowExample(int(bench.table.rows[row]) + 1, before, after))
    return tuple(examples)


def _mark_changes(text: str, words: Sequence[str], gaps: Sequence[str], changed: Sequence[bool]) -> MarkedText:
    """Return a text in pieces; the space that a release may add after a gap belongs to the gap."""
    marked: list[tuple[str, bool]] = []
    position = 0
    for word, gap, differs in itertools.islice(zip(words, gaps, changed, strict=False), MAX_SHOWN_WORDS):
        start = text.index(word, position + len(gap))
        marked += [(text[position:start], False), (word, differs)]
        position = start + len(word)
    marked.append((text[position:] if len(words) <= MAX_SHOWN_WORDS else " …", False))
    return tuple((piece, differs) for piece, differs in marked if piece)
