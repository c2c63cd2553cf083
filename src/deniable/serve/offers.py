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
from deniable.core.guarantees import Verdict, limit_status
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
    from deniable.rewriting.methods.base import RewritingMethod

Unit = Literal["word", "record"]
_QUICK_SECONDS = 0.005
_TRIALS, _TRIAL_WORDS = 5, 20


@dataclasses.dataclass(frozen=True)
class PrivateTexts:
    """A batch of texts as it may leave.

    Attributes:
        texts: R new texts, None where there was none.
        lengths: R numbers of their words.
        words: R arrays: the numbers of the words that were read; empty where words are not drawn one by one.
        outputs: R arrays: the numbers of the words that were drawn for them.
        unknown_masks: R arrays: True where a word stands for one that the space lacks.
    """

    texts: list[str | None]
    lengths: list[int]
    words: Sequence[npt.NDArray[np.int32]] = ()
    outputs: Sequence[npt.NDArray[np.int32]] = ()
    unknown_masks: Sequence[npt.NDArray[np.bool_]] = ()

    def select(self, first: int, last: int) -> "PrivateTexts":
        """Return the texts first ... last - 1."""
        rows = slice(first, last)
        return PrivateTexts(
            self.texts[rows], self.lengths[rows], self.words[rows], self.outputs[rows], self.unknown_masks[rows]
        )


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
    def privatize(self, texts: Sequence[str | None]) -> PrivateTexts:
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

    @property
    @abc.abstractmethod
    def description(self) -> dict[str, Any]:
        """How texts are released, as every answer says it."""

    @abc.abstractmethod
    def count_units(self, released: PrivateTexts) -> int:
        """Return how many units of the guarantee texts hold, which a ledger counts."""

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

    def count(self, released: PrivateTexts, caller: str = ANYBODY) -> None:
        """Add what left to a caller to the counts; they hold only what the new texts show."""
        with self._lock:
            self._lengths[caller].update(released.lengths)
            self._nulls[caller] += released.texts.count(None)

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
        self.is_quick = self._measure_seconds() < _QUICK_SECONDS

    def _measure_seconds(self) -> float:
        """Return the processor time of a text whose words come from all over the space: the least of several texts."""
        words = self.release.mechanism.space.words
        durations = []
        for trial in range(_TRIALS):
            text = " ".join(words[trial :: len(words) // _TRIAL_WORDS + 1])
            start = time.process_time()
            self.privatize([text])
            durations.append(time.process_time() - start)
        return min(durations)

    def privatize(self, texts: Sequence[str | None]) -> PrivateTexts:
        """Return each text privatized; an empty one stays empty."""
        rows = [row for row, text in enumerate(texts) if text]
        cells = CellBatch.of_texts([texts[row] or "" for row in rows], list(map(str, rows)))
        batch = self.release.privatize_cells(cells, workers=1)
        new_texts, lengths = list(texts), [0] * len(texts)
        bounds = np.zeros((len(texts), 2), dtype=np.int64)
        for row, text, length, first, last in zip(
            rows, batch.texts, batch.lengths, batch.offsets[:-1].tolist(), batch.offsets[1:].tolist(), strict=True
        ):
            new_texts[row], lengths[row], bounds[row] = text, length, (first, last)
        slices = [slice(first, last) for first, last in bounds.tolist()]
        return PrivateTexts(
            new_texts,
            lengths,
            [batch.words[place] for place in slices],
            [batch.outputs[place] for place in slices],
            [batch.unknown_mask[place] for place in slices],
        )

    def count_units(self, released: PrivateTexts) -> int:
        """Return the number of words, kept ones among them."""
        return sum(released.lengths)

    def compute_cost(self) -> Cost:
        """Return what one word costs."""
        return self.release.cost

    def prove(self) -> Verdict:
        """Return the verdict on the mechanism's law."""
        return self.verdict or self._keep_verdict(verify(self.release.mechanism))

    def certify(self, caller: str = ANYBODY) -> Certificate:
        """Return the certificate of all words that left to a caller."""
        return Certificate.of(self.release, self._make_tally(caller))

    @functools.cached_property
    def description(self) -> dict[str, Any]:
        """Mechanism, epsilon, guarantee, what names the law and the options, and where noise comes from."""
        mechanism = self.release.mechanism
        guarantee = mechanism.guarantee if self.verdict is None else limit_status(mechanism.guarantee, self.verdict)
        return {
            "unit": self.unit,
            "mechanism": mechanism.name,
            "epsilon": guarantee.epsilon,
            "guarantee": guarantee.to_dict(),
            "fingerprint": self.release.fingerprint,
            "noise": "fresh",
        }


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

    def privatize(self, texts: Sequence[str | None]) -> PrivateTexts:
        """Return a new text for each; of one longer than the model takes, only the beginning is used."""
        from deniable.rewriting.table import rewrite_texts

        rewritten = iter(rewrite_texts(self.method, [text for text in texts if text is not None]))
        new_texts = [None if text is None else next(rewritten) for text in texts]
        return PrivateTexts(new_texts, [0 if text is None else len(text.split()) for text in new_texts])

    def count_units(self, released: PrivateTexts) -> int:
        """Return the number of texts."""
        return len(released.texts) - released.texts.count(None)

    def compute_cost(self) -> Cost:
        """Return what one text costs."""
        from deniable.rewriting.charging import make_method_cost

        return make_method_cost(self.method)

    def prove(self) -> Verdict:
        """Return the verdict on the method."""
        return self.verdict or self._keep_verdict(self.method.verify())

    def certify(self, caller: str = ANYBODY) -> ReleaseCertificate:
        """Return the certificate of all texts that were rewritten for a caller."""
        from deniable.rewriting.certificate import certify_rewriting

        tally = self._make_tally(caller)
        return certify_rewriting(self.method, tally.records, tally.records - tally.missing, nulls=True)

    @functools.cached_property
    def description(self) -> dict[str, Any]:
        """Method, epsilon, guarantee, what names the model, and where noise comes from."""
        from deniable.rewriting.certificate import fingerprint_rewriter

        guarantee = self.method.guarantee if self.verdict is None else limit_status(self.method.guarantee, self.verdict)
        return {
            "unit": self.unit,
            "mechanism": self.method.name,
            "epsilon": guarantee.epsilon,
            "guarantee": guarantee.to_dict(),
            "fingerprint": fingerprint_rewriter(self.method.model),
            "noise": "fresh",
        }
