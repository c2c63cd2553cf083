"""Audits of next-token samplers: laws of the next token under neighbouring records, compared over the whole vocabulary.

The sampler under audit is ``law(records, prefix)``. It takes private records, as they are given, and the tokens so far,
a tuple of ints, and returns the probabilities (V,) of the next token; integers are weights in proportion to them. So a
verdict is exact for the pairs of records and the prefixes that were looked at, and says nothing of others. A law that
cannot be computed may be sampled instead: then ``law(records, prefix)`` returns a token.
"""

import dataclasses
import time
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from deniable.auditing.black_box import audit
from deniable.auditing.games import make_coins
from deniable.auditing.outputs import abbreviate
from deniable.auditing.samplers.calls import (
    NeighbourRecords,
    Sampler,
    SamplerCalls,
    are_equal,
    describe_difference,
    describe_prefix,
    find_changes,
)
from deniable.auditing.samplers.claims import (
    SOFTMAX_UNITS,
    TokenClaim,
    compute_delta,
    find_largest_loss,
    grant_rounding,
)
from deniable.auditing.samplers.findings import LanguageAudit, SamplerFacts
from deniable.core.arrays import FloatArray
from deniable.core.errors import InputError, check_count, check_positive, make_parameter_error
from deniable.core.guarantees import Verdict, Witness
from deniable.core.parallel import get_progress_reporter

_OWNER = "audit_language_model"
_LAW, _PUBLIC = "the law", "the public part"


@dataclasses.dataclass(frozen=True)
class LanguageAuditOptions:
    """How a sampler is audited.

    Attributes:
        steps: number of prefixes for each pair: the given one, and those that grow from it by tokens drawn from the law
            of its records, as long as both laws can give them.
        public: function like the law: what the claim calls public, such as logits (V,). It is compared for neighbours,
            and for records in another order, number or length.
        samples: where ``law`` draws tokens: number of draws for a black-box audit. None where it returns laws.
        confidence: of the lower bound of a black-box audit, in (0, 1).
        seed: of the tokens drawn here; None for fresh ones.
    """

    steps: int = 1
    public: Sampler | None = None
    samples: int | None = None
    confidence: float = 0.95
    seed: int | None = None

    def __post_init__(self) -> None:
        """Refuse values out of range; what belongs to a black-box audit is checked by it."""
        check_count(_OWNER, "steps", self.steps)
        check_positive(_OWNER, "confidence", self.confidence, upper=1.0)
        if self.public is not None and not callable(self.public):
            raise make_parameter_error(_OWNER, "public", "a function of records and a prefix", self.public)
        if self.samples is not None and (self.steps > 1 or self.public is not None):
            name = "steps" if self.steps > 1 else "public"
            raise InputError(f"An audit of tokens that are drawn has no {name!r}: leave out {name!r} or 'samples'.")


def audit_language_model(
    law: Sampler,
    pairs: Sequence[tuple[Any, ...]],
    *,
    claim: str,
    epsilon: float,
    delta: float = 0.0,
    tokens: int = 1,
    **options: Any,  # noqa: ANN401 - the fields of `LanguageAuditOptions`
) -> LanguageAudit:
    """Audit a next-token sampler on neighbouring records: exactly, over its whole vocabulary.

    For each pair and prefix the two laws of the next token are compared, both ways, with what the claim allows one
    token (`deniable.auditing.samplers.claims`). The status is ``refuted`` or ``not refuted``, the latter of these pairs
    and prefixes only. The two laws of the witness are computed twice more, in both orders, and must be the same.

    Where only the rounding of floats refutes, ``rounded_verdict`` says so: the verdict on the same laws when softmaxes
    in their arithmetic are granted 128 units in the last place.

    Args:
        law: function of records and prefix that returns probabilities (V,), or integer weights; a token where
            ``samples`` are given.
        pairs: neighbours, each records and other records, and the prefix if there is one.
        claim: ``pure``, ``zcdp`` or ``approx``.
        epsilon: of a text, > 0.
        delta: of a text; 0 for a pure claim.
        tokens: T, number of tokens of a text.
        **options: the fields of `LanguageAuditOptions`.

    Raises:
        InputError: a parameter out of its domain; or a law that raises, prints, is not a law, or differs between two
            calls: the message names the call.
        TypeError: an unknown option.
    """
    how, claimed = LanguageAuditOptions(**options), TokenClaim(claim, epsilon, delta, tokens)  # type: ignore[arg-type]
    if not callable(law):
        raise make_parameter_error(_OWNER, "law", "a function of records and a prefix", law)
    neighbours = _read_pairs(pairs)
    if how.samples is not None:
        return LanguageAudit(claimed, _audit_draws(law, neighbours, claimed, how))
    return _Comparison(claimed, SamplerCalls(law, _LAW), how).run(neighbours)


def _read_pairs(pairs: Sequence[tuple[Any, ...]]) -> list[NeighbourRecords]:
    """The pairs, checked."""
    try:
        given = list(pairs)
        # Two letters of a text, or two keys of a dict, are no records.
        is_pair = all(isinstance(pair, (list, tuple)) for pair in given)
        neighbours = [NeighbourRecords(*pair) for pair in given] if is_pair else []
        neighbours = [pair._replace(prefix=tuple(pair.prefix)) for pair in neighbours]
    except TypeError:
        neighbours = []
    is_prefix = [all(type(token) is int and token >= 0 for token in pair.prefix) for pair in neighbours]
    if not neighbours or not all(is_prefix):
        expected = "at least one pair of records and other records, with a tuple of tokens or without"
        shown = pairs if not neighbours else neighbours[is_prefix.index(False)]
        raise make_parameter_error(_OWNER, "pairs", expected, shown)
    for number, pair in enumerate(neighbours, 1):
        if are_equal(pair.records, pair.other):
            raise InputError(f"Pair {number:,} must be two different neighbours. Got {abbreviate(pair.records)} twice.")
    return neighbours


def _audit_draws(
    law: Sampler, neighbours: list[NeighbourRecords], claim: TokenClaim, how: LanguageAuditOptions
) -> Verdict:
    """The verdict of a black-box audit on what the claim allows one token."""
    caller, guarantee = SamplerCalls(law, _LAW), claim.token_guarantee
    allowed, delta = guarantee.epsilon, guarantee.delta
    if claim.kind == "zcdp":  # of the guarantee of one token, the part that an audit of draws can test
        allowed, delta = dataclasses.replace(claim, tokens=1).compose(allowed)
    pairs = [((pair.records, pair.prefix), (pair.other, pair.prefix)) for pair in neighbours]

    def draw(given: tuple[Any, tuple[int, ...]]) -> int:
        token = caller.call(*given)
        if isinstance(token, bool) or not isinstance(token, (int, np.integer)):
            raise InputError(
                f"{caller.describe(*given)} must return a token, an int, since 'samples' are given. Got "
                f"{abbreviate(token)}."
            )
        return int(token)

    settings: dict[str, Any] = {"samples": how.samples, "confidence": how.confidence, "seed": how.seed}
    return audit(draw, pairs=pairs, claim=allowed, delta=delta, **settings)


class _Worst(NamedTuple):
    """The comparison of two laws that spends most."""

    epsilon: float
    rounded: float
    records: Any
    other: Any
    prefix: tuple[int, ...]
    laws: tuple[FloatArray, FloatArray]


@dataclasses.dataclass
class _Comparison:
    """One audit of laws."""

    claim: TokenClaim
    caller: SamplerCalls
    how: LanguageAuditOptions
    worst: _Worst | None = None
    rounded: float = 0.0
    loss: float = 0.0
    delta: float = 0.0
    one_sided: tuple[float, int] = (0.0, 0)
    compared: int = 0
    start: float = dataclasses.field(default_factory=time.perf_counter)

    def run(self, neighbours: list[NeighbourRecords]) -> LanguageAudit:
        """Compare the laws of all pairs and prefixes, and judge the worst."""
        coins, report = make_coins(_OWNER, self.how.seed), get_progress_reporter()
        for number, pair in enumerate(neighbours):
            report(number, len(neighbours))
            for prefix, p, q in self._walk(pair, coins):
                self._compare(pair.records, pair.other, prefix, (p, q))
                self._compare(pair.other, pair.records, prefix, (q, p))
                self.compared += 1
        report(len(neighbours), len(neighbours))
        if self.worst is None:
            raise RuntimeError("nothing was compared")  # every pair has a first prefix
        self._repeat(self.worst)
        changes = None if self.how.public is None else find_changes(SamplerCalls(self.how.public, _PUBLIC), neighbours)
        mass, count = self.one_sided
        facts = SamplerFacts(
            loss=self.loss,
            delta=self.delta,
            one_sided_mass=mass,
            one_sided_tokens=count,
            composed=self.claim.compose(self.worst.epsilon),
            public_changes=changes,
            vocabulary=self.caller.size or 0,
            compared=self.compared,
            arithmetic=str(self.caller.arithmetic),
        )
        return LanguageAudit(self.claim, self._judge(self.worst), facts)

    def _walk(
        self, pair: NeighbourRecords, coins: np.random.Generator
    ) -> Iterator[tuple[tuple[int, ...], FloatArray, FloatArray]]:
        """Yield prefixes and both laws after each, one token longer every time."""
        prefix = tuple(pair.prefix)
        for _ in range(self.how.steps):
            p, q = (self.caller.read_law(records, prefix) for records in (pair.records, pair.other))
            yield prefix, p, q
            token = int(coins.choice(len(p), p=p))
            if not q[token]:
                return
            prefix = (*prefix, token)

    def _compare(self, records: Any, other: Any, prefix: tuple[int, ...], laws: tuple[FloatArray, FloatArray]) -> None:  # noqa: ANN401 - any records
        """Note what two laws show of each other, one way."""
        p, q = laws
        epsilon = max(self.claim.measure(p, q), 0.0)
        arithmetic, rounded = self.caller.arithmetic, epsilon
        if arithmetic is not None and arithmetic.kind == "f":
            rounded = max(self.claim.measure(*grant_rounding(p, q, arithmetic)), 0.0)
        self.rounded = max(self.rounded, rounded)
        if self.worst is None or (epsilon, rounded) > (self.worst.epsilon, self.worst.rounded):
            self.worst = _Worst(epsilon, rounded, records, other, prefix, laws)
        self.loss = max(self.loss, find_largest_loss(np.where(q > 0, p, 0.0), q)[0])
        if self.claim.delta:
            self.delta = max(self.delta, compute_delta(p, q, self.claim.epsilon))
        is_one_sided = (p > 0) & (q == 0)
        self.one_sided = max(self.one_sided, (float(p[is_one_sided].sum()), int(is_one_sided.sum())))

    def _repeat(self, worst: _Worst) -> None:
        """Compute the laws of the witness twice more, in both orders.

        Raises:
            InputError: they differ from those that were compared: the law has randomness or memory of its own.
        """
        p, q = worst.laws
        ours, theirs = (worst.records, p), (worst.other, q)
        for records, law in (theirs, ours, ours, theirs):
            again = self.caller.read_law(records, worst.prefix)
            if not np.array_equal(again, law):
                raise InputError(
                    f"{self.caller.describe(records, worst.prefix)} returned a different law than before, by up to "
                    f"{np.abs(again - law).max():.3g}: a law may depend only on records and prefix; give 'samples' "
                    "if it draws."
                )

    def _judge(self, worst: _Worst) -> Verdict:
        guarantee = self.claim.token_guarantee
        loss, token = find_largest_loss(*worst.laws)
        verdict = Verdict(
            guarantee=guarantee,
            status="refuted" if worst.epsilon > guarantee.epsilon else "not refuted",
            lower_bound=worst.epsilon,
            method=(
                f"one token, claim {self.claim.kind}: exact over {self.caller.size:,} tokens, {self.compared:,} pairs "
                f"of laws in {self.caller.arithmetic}; the laws of the witness were computed three times"
            ),
            witness=Witness(
                input=describe_difference(worst.records, worst.other),
                other=describe_difference(worst.other, worst.records),
                output=f"token {token} after {describe_prefix(worst.prefix)}",
                distance=1.0,
                loss=loss,
            ),
            seconds=time.perf_counter() - self.start,
        )
        if verdict.status == "refuted" and self.rounded <= guarantee.epsilon:
            method = f"the same, beyond {SOFTMAX_UNITS} units in the last place of {self.caller.arithmetic}"
            rounded = Verdict(guarantee, "not refuted", method, lower_bound=self.rounded)
            return dataclasses.replace(verdict, rounded_verdict=rounded)
        return verdict
