"""What a service can do with texts: privatize their words, or rewrite each as a whole. Noise is always fresh."""

import abc
import dataclasses
import functools
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from deniable.auditing import verify
from deniable.core.cache import NotCached, require_cache
from deniable.core.errors import InputError
from deniable.core.guarantees import Guarantee, Verdict, limit_status
from deniable.ledger import Cost
from deniable.serve.budgets import ANYBODY
from deniable.text.batches import CellBatch, Tally
from deniable.text.certificate import Certificate, describe_figures
from deniable.text.compiled import MIN_COMPILED_BYTES
from deniable.text.release import Release
from deniable.text.release_certificate import ReleaseCertificate
from deniable.words.composition import compute_worst_loss
from deniable.words.laws.law import WordShares
from deniable.words.outcomes import Outcomes

if TYPE_CHECKING:
    from deniable.rewriting.methods import RewritingMethod

Unit = Literal["word", "record"]
_QUICK_SECONDS = 0.005
_TRIALS, _TRIAL_WORDS = 5, 20


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class PrivateText:
    """A text as it may leave.

    Attributes:
        text: the new text, None where there was none.
        length: number of its words.
        units: of the guarantee, which a ledger counts: its words, or one where it is rewritten as a whole.
        words: numbers of the words that were read; none where words are not drawn one by one.
        outputs: numbers of the words that were drawn for them.
        unknown_mask: True where a word stands for one that the space lacks.
    """

    text: str | None
    length: int = 0
    units: int = 0
    words: npt.NDArray[np.int32] | None = None
    outputs: npt.NDArray[np.int32] | None = None
    unknown_mask: npt.NDArray[np.bool_] | None = None


class Offer(abc.ABC):
    """One way to release texts, ready to be used, with counts of what it has released to each caller.

    Attributes:
        unit: what the guarantee hides as a whole.
        is_quick: whether a short text takes so little time that the event loop may do it.
    """

    unit: Unit

    def __init__(self) -> None:
        self.is_quick = False
        self.verdict: Verdict | None = None
        self._lengths = defaultdict[str, Counter[int]](Counter)
        self._nulls = Counter[str]()
        self._lock = threading.Lock()

    @abc.abstractmethod
    def prepare(self) -> None:
        """Compute whatever a request needs, so that none waits for it."""

    @abc.abstractmethod
    def privatize(self, texts: Sequence[str | None]) -> list[PrivateText]:
        """Return each text privatized with fresh noise of its own; None stays None.

        Raises:
            InputError: the texts cannot be privatized.
        """

    @abc.abstractmethod
    def prove(self) -> Verdict:
        """Return the verdict on the guarantee, computed where nothing is known of it yet."""

    @abc.abstractmethod
    def certify(self, caller: str = ANYBODY) -> ReleaseCertificate:
        """Return the certificate of all that left to a caller since the start; it proves what is not proved."""

    @abc.abstractmethod
    def describe_source(self) -> tuple[str, Guarantee, str | None]:
        """Return the mechanism's name and guarantee, and what names the law and the options, or the model."""

    @functools.cached_property
    def description(self) -> dict[str, Any]:
        """How texts are released, as every answer says it."""
        name, guarantee, fingerprint = self.describe_source()
        if self.verdict is not None:
            guarantee = limit_status(guarantee, self.verdict)
        return {
            "unit": self.unit,
            "mechanism": name,
            "epsilon": guarantee.epsilon,
            "guarantee": guarantee.to_dict(),
            "fingerprint": fingerprint,
            "noise": "fresh",
        }

    @abc.abstractmethod
    def compute_cost(self) -> Cost:
        """Return what one unit costs, as a ledger counts it.

        Raises:
            InputError: the guarantee is not proved.
        """

    def find_verdict(self) -> Verdict | None:
        """Return the verdict if it is known in this process or in the cache, else None; nothing is proved."""
        if self.verdict is None:
            try:
                with require_cache():
                    return self.prove()
            except NotCached:
                return None
        return self.verdict

    def count(self, released: Sequence[PrivateText], caller: str = ANYBODY) -> None:
        """Add what left to a caller to the counts; they hold only what the new texts show."""
        with self._lock:
            self._lengths[caller].update(one.length for one in released)
            self._nulls[caller] += sum(one.text is None for one in released)

    def _keep_verdict(self, verdict: Verdict) -> Verdict:
        """Note a verdict, above which no later description stands, and return it."""
        self.verdict = verdict
        vars(self).pop("description", None)
        return verdict

    def _make_tally(self, caller: str) -> Tally:
        with self._lock:
            lengths = Counter(self._lengths[caller])
            nulls = self._nulls[caller]
        words = sum(length * count for length, count in lengths.items())
        return Tally(records=lengths.total(), words=words, lengths=lengths, missing=nulls)


class WordOffer(Offer):
    """Privatizes texts word by word.

    Args:
        release: how; its noise must be fresh.

    Raises:
        InputError: the release has a key or a public seed.
    """

    unit: Unit = "word"

    def __init__(self, release: Release) -> None:
        super().__init__()
        if release.noise != "random":
            raise InputError(
                "A service draws fresh noise for every request: under a key, anyone could confirm a guess by sending "
                f"it. Got a release with noise from a {release.noise} source: leave out its key."
            )
        self.release = release
        self.attacker = ""
        self.shares: WordShares | None = None
        self.outcomes: Outcomes | None = None
        self.kept: float | None = None
        self.word_loss: float | None = None

    def prepare(self) -> None:
        """Compute the law, what an attacker guesses, and load the compiled loops."""
        mechanism = self.release.mechanism
        self.attacker = describe_figures(mechanism)["attacker"]
        self.kept = mechanism.expected_kept_share().value
        self.word_loss = compute_worst_loss(mechanism.law, mechanism.guarantee)
        if mechanism.law.is_tabulated:
            self.shares, self.outcomes = mechanism.word_shares(), mechanism.outcomes()
        word = mechanism.space.unknown_word
        self.privatize([word])
        # Enough text for the compiled loops of the lexer, which from then on read shorter texts too.
        self.privatize([f"{word} " * (MIN_COMPILED_BYTES // (len(word) + 1) + 1)])
        words, durations = mechanism.space.words, []
        for trial in range(_TRIALS):  # a text whose words come from all over the space: the least of several takes
            text = " ".join(words[trial :: len(words) // _TRIAL_WORDS + 1])
            start = time.process_time()
            self.privatize([text])
            durations.append(time.process_time() - start)
        self.is_quick = min(durations) < _QUICK_SECONDS

    def privatize(self, texts: Sequence[str | None]) -> list[PrivateText]:
        """Return each text privatized; an empty one stays empty."""
        rows = [row for row, text in enumerate(texts) if text]
        cells = CellBatch.of_texts([texts[row] or "" for row in rows], list(map(str, rows)))
        batch = self.release.privatize_cells(cells, workers=1)
        private = [PrivateText(text) for text in texts]
        parts = map(slice, batch.offsets[:-1].tolist(), batch.offsets[1:].tolist())
        for row, text, length, part in zip(rows, batch.texts, batch.lengths, parts, strict=True):
            drawn = batch.words[part], batch.outputs[part], batch.unknown_mask[part]
            private[row] = PrivateText(text, length, length, *drawn)
        return private

    def compute_cost(self) -> Cost:
        """Return what one word costs."""
        return self.release.cost

    def prove(self) -> Verdict:
        """Return the verdict on the mechanism's law."""
        return self.verdict or self._keep_verdict(verify(self.release.mechanism))

    def certify(self, caller: str = ANYBODY) -> Certificate:
        """Return the certificate of all words that left to a caller."""
        return Certificate.of(self.release, self._make_tally(caller))

    def describe_source(self) -> tuple[str, Guarantee, str | None]:
        """Return the mechanism's name and guarantee, and what names the law and the options."""
        mechanism = self.release.mechanism
        return mechanism.name, mechanism.guarantee, self.release.fingerprint


class RecordOffer(Offer):
    """Rewrites each text as a whole, an empty one too.

    Args:
        method: how; its noise must be fresh.

    Raises:
        InputError: the method has a public seed.
    """

    unit: Unit = "record"

    def __init__(self, method: "RewritingMethod") -> None:
        super().__init__()
        if method.seed is not None:
            raise InputError(
                "A service draws fresh noise for every request. Got a method with a public seed: leave the seed out."
            )
        self.method = method

    def prepare(self) -> None:
        """Run the model once."""
        self.privatize([""])

    def privatize(self, texts: Sequence[str | None]) -> list[PrivateText]:
        """Return a new text for each; of one longer than the model takes, only the beginning is used."""
        from deniable.rewriting.table import rewrite_texts

        rewritten = iter(rewrite_texts(self.method, [text for text in texts if text is not None]))
        new_texts = [None if text is None else next(rewritten) for text in texts]
        return [PrivateText(text, len((text or "").split()), int(text is not None)) for text in new_texts]

    def compute_cost(self) -> Cost:
        """Return what one text costs."""
        from deniable.rewriting.table import make_method_cost

        return make_method_cost(self.method)

    def prove(self) -> Verdict:
        """Return the verdict on the method."""
        return self.verdict or self._keep_verdict(self.method.verify())

    def certify(self, caller: str = ANYBODY) -> ReleaseCertificate:
        """Return the certificate of all texts that were rewritten for a caller."""
        from deniable.rewriting.certificate import RewrittenTable, certify_rewriting

        tally = self._make_tally(caller)
        table = RewrittenTable(tally.records, tally.records - tally.missing, has_nulls=True)
        return certify_rewriting(self.method, table)

    def describe_source(self) -> tuple[str, Guarantee, str | None]:
        """Return the method's name and guarantee, and what names the model."""
        from deniable.rewriting.certificate import fingerprint_rewriter

        return self.method.name, self.method.guarantee, fingerprint_rewriter(self.method.model)
