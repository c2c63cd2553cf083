"""What an audit of a next-token sampler found: the claim, the verdict, and what else was seen."""

import dataclasses
import math

from deniable.auditing.samplers.claims import TokenClaim
from deniable.core.guarantees import Verdict
from deniable.core.numbers import format_exact, format_lower, format_upper
from deniable.core.report import Fact, Report, Section


@dataclasses.dataclass(frozen=True)
class SamplerFacts:
    """What was seen of a sampler besides the verdict, each the most over all pairs and prefixes.

    Attributes:
        loss: ln of the ratio of a token's probabilities, of tokens that both sides give.
        delta: at the epsilon claimed of a text; 0 for a pure claim.
        one_sided_mass: probability of tokens that the neighbour never gives.
        one_sided_tokens: number of these tokens, where their probability is largest.
        composed: epsilon and delta of a text of tokens like the worst one.
        public_changes: by how much the public part moves with what of the private input; None where it is not given.
        vocabulary: V.
        compared: number of pairs of laws.
        arithmetic: type of the numbers that the law returns.
    """

    loss: float
    delta: float
    one_sided_mass: float
    one_sided_tokens: int
    composed: tuple[float, float]
    public_changes: dict[str, float] | None
    vocabulary: int
    compared: int
    arithmetic: str


@dataclasses.dataclass(frozen=True)
class LanguageAudit:
    """The result of an audit of a next-token sampler.

    Attributes:
        claim: what was claimed.
        verdict: on what the claim allows one token.
        facts: what else was seen; None where tokens were drawn.
    """

    claim: TokenClaim
    verdict: Verdict
    facts: SamplerFacts | None = None

    def to_report(self) -> Report:
        """Return claim and facts."""
        claim, facts = self.claim, self.facts
        claimed = (
            Fact("kind", claim.kind),
            Fact("epsilon", claim.epsilon, text=format_exact(claim.epsilon)),
            Fact("delta", claim.delta, text=format_exact(claim.delta)),
            Fact("tokens", claim.tokens),
            Fact("epsilon of a token", claim.token_guarantee.epsilon),
        )
        sections = [Section("claim of a text", claimed)]
        if facts is not None:
            sections += [Section("found", _make_facts(claim, facts)), Section("looked at", _make_scope(facts))]
            if facts.public_changes is not None:
                sections.append(Section("public part moves with", _make_changes(facts.public_changes)))
        return Report("Audit of a next-token sampler", tuple(sections))

    def __str__(self) -> str:
        """The report and the verdict, for a person."""
        return f"{self.to_report().to_text()}\n{self.verdict}"


def _make_facts(claim: TokenClaim, facts: SamplerFacts) -> tuple[Fact, ...]:
    share = claim.token_guarantee.epsilon
    times = f"{format_lower(facts.loss / share)} times what a token may lose"
    mass = "" if facts.one_sided_mass else "none"
    epsilon, delta = facts.composed
    one_delta = Fact("delta at the claimed epsilon, of one token", facts.delta, text=format_lower(facts.delta))
    return (
        Fact("largest loss of a token that both sides give", facts.loss, times, format_lower(facts.loss)),
        *([one_delta] if claim.delta else []),
        Fact("probability of tokens that only one side gives", facts.one_sided_mass, text=mass),
        Fact("number of these tokens", facts.one_sided_tokens),
        Fact(
            f"a text of {claim.tokens:,} tokens like the worst",
            {"epsilon": epsilon, "delta": delta},
            text=f"epsilon {format_upper(epsilon, 6)}" + (f" at delta {format_upper(delta, 6)}" if delta else ""),
        ),
    )


def _make_scope(facts: SamplerFacts) -> tuple[Fact, ...]:
    return (
        Fact("vocabulary", facts.vocabulary),
        Fact("pairs of laws", facts.compared),
        Fact("numbers of the law", facts.arithmetic),
    )


def _make_changes(changes: dict[str, float]) -> tuple[Fact, ...]:
    texts = {name: f"by up to {format_lower(change)}" if change else "no" for name, change in changes.items()}
    masked = {name: "a token is masked, or not" for name, change in changes.items() if math.isinf(change)}
    return tuple(Fact(name, change, text=(texts | masked)[name]) for name, change in changes.items())
