"""A text rewritten one token at a time, each drawn from a law over the vocabulary (DP-Prompt, Utpala et al. 2023)."""

import dataclasses
import functools
import time
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch
from randomgen import AESCounter

from deniable.errors import InputError, bad_parameter, positive
from deniable.guarantees import PureDP
from deniable.rewrite.methods.law import Array, Exponential, Mixed, TokenLaw, drawn, loss_of
from deniable.rewrite.model import Rewriter
from deniable.rewrite.tokens import END, START, UNKNOWN
from deniable.vectors.grid import downward, upward
from deniable.vectors.noise import generator_of
from deniable.verdict import Verdict

Law = Literal["exponential", "mixed"]
_LAWS: dict[Law, type[Exponential | Mixed]] = {"exponential": Exponential, "mixed": Mixed}
_SOURCES = {
    "exponential": "McSherry and Talwar 2007, Theorem 6, on clipped logits (DP-Prompt, Utpala et al. 2023)",
    "mixed": "the decoder's law mixed with the uniform one (Majmudar et al. 2022)",
}
_TOGETHER = 256


@dataclasses.dataclass(frozen=True, eq=False)
class Tokens:
    """Draws every token of the new text, its end among them, given the private text and the tokens drawn before.

    Whatever logits the decoder gives, one draw is epsilon_token-DP (see `deniable.rewrite.methods.law`). The tokens
    before it are released, and so public. At most ``most`` draws are made, whatever the text: the length is drawn
    with the END token, and after ``most`` words without one the text ends there. The probability of a text is a
    product of one factor for each of its draws, so with epsilon_token = epsilon / most the whole is epsilon-DP for
    any two private texts, however long the new one is (adaptive composition).

    Neither the encoder nor the decoder need to be trusted for that, nor bounded, nor right to the last bit.

    Attributes:
        model: encoder and decoder.
        epsilon: of one text, > 0.
        kind: of the law, ``exponential`` as published or ``mixed``.
        most: draws for one text, at most: a public number; by default the model's limit.
        seed: for tests only: makes the draws repeatable, and the guarantee void.

    Raises:
        InputError: a parameter is outside its domain.
    """

    model: Rewriter
    epsilon: float
    kind: Law = "exponential"
    most: int | None = None
    seed: int | None = None

    def __post_init__(self) -> None:
        positive(self.name, "epsilon", self.epsilon)
        if self.kind not in _LAWS:
            raise bad_parameter("tokens", "kind", " or ".join(map(repr, _LAWS)), self.kind)
        limit = self.model.limit
        if self.most is not None and (
            isinstance(self.most, bool) or not isinstance(self.most, int) or not 1 <= self.most <= limit
        ):
            raise bad_parameter(self.name, "most", f"an int from 1 to {limit}, the model's limit", self.most)
        if self.seed is not None:
            generator_of(self.seed)  # raises
        _ = self.law  # raises

    @property
    def name(self) -> str:
        """Name in the registry and in reports."""
        return "tokens" if self.kind == "exponential" else f"tokens-{self.kind}"

    @property
    def draws(self) -> int:
        """Draws for one text, at most."""
        return self.model.limit if self.most is None else self.most

    @functools.cached_property
    def law(self) -> TokenLaw:
        """Of one token, over END and the words of the vocabulary; the other special tokens are never drawn."""
        share = downward(Fraction(self.epsilon) / self.draws)
        if not share:
            raise InputError(
                f"An epsilon of {self.epsilon:g} cannot be shared by {self.draws} draws: choose a larger one."
            )
        return _LAWS[self.kind](len(self.model.vocabulary) - UNKNOWN, share)

    @property
    def parameters(self) -> dict[str, Any]:
        """The law of one token, in figures."""
        law = self.law
        held: dict[str, Any] = {
            "epsilon": self.epsilon,
            "draws": self.draws,
            "epsilon of a draw": law.epsilon,
            "tokens to draw from": law.count,
        }
        if isinstance(law, Exponential):
            return {**held, "reach": law.reach, "temperature": law.temperature}
        return {**held, "share of the uniform law": law.uniform} if isinstance(law, Mixed) else held

    @property
    def arithmetic(self) -> str:
        """Integer weights, whatever the logits."""
        return (
            "draws from integer weights with 62 bits each, all rounding charged; AES-128-CTR keystreams, so that the "
            "guarantee is computational in that step"
        )

    @property
    def guarantee(self) -> PureDP:
        """Epsilon for any two texts; refuted where the noise comes from a public seed."""
        if self.seed is not None:
            return PureDP(self.epsilon, "not private: public seed", "refuted")
        return PureDP(self.epsilon, f"{_SOURCES[self.kind]}, composed over {self.draws} draws, the end among them")

    def verify(self) -> Verdict:
        """Return the exact loss of a draw over all logits, times the number of draws; none under a public seed.

        It bounds the loss of this decoder, which may lose less: what it does with a text is not looked at.
        """
        start = time.perf_counter()
        # The law holds its own claim in integers; the logarithm is rounded up, and might pass it by a last bit.
        one = min(loss_of(self.law.ratio), self.law.epsilon)
        whole = upward(Fraction(one) * self.draws)
        private = self.seed is None
        return Verdict(
            status="proved" if private else "refuted",
            claim=self.epsilon,
            epsilon=whole if private else float("inf"),
            lower_bound=0.0 if private else float("inf"),
            confidence=1.0,
            samples=0,
            witness=None,
            method=f"one draw loses at most {one:.6g} over all logits, exact in integers; {self.draws} draws at most"
            if private
            else "anyone who knows the seed can repeat the draws",
            seconds=time.perf_counter() - start,
        )

    def rewrite(self, texts: Sequence[str]) -> list[str]:
        """Return one new text for each text.

        Raises:
            InputError: a text is longer than the model takes, or the model gives logits that are not finite.
        """
        if not len(texts):
            return []
        source = generator_of() if self.seed is None else self._seeded
        vectors = np.asarray(self.model.encode(texts), dtype=np.float32)
        found: list[str] = []
        for first in range(0, len(texts), _TOGETHER):
            found.extend(self._written(vectors[first : first + _TOGETHER], first, source))
        return found

    @functools.cached_property
    def _seeded(self) -> AESCounter:
        return generator_of(self.seed)

    @torch.inference_mode()
    def _written(self, vectors: npt.NDArray[np.float32], first: int, source: AESCounter) -> list[str]:
        """Return the texts drawn for some vectors (b, n), the first of which is number ``first``."""
        network, given = self.model.network, torch.from_numpy(vectors)
        # All words at once: how many are used up does not depend on when texts end.
        words = source.random_raw((self.draws, len(vectors)))
        state, previous = network.begin(given), torch.full((len(vectors),), START, dtype=torch.int64)
        ended, rows = np.zeros(len(vectors), dtype=np.bool_), []
        for word in words:
            logits, state = network.step(previous, given, state)
            row = np.where(ended, END, self._chosen(logits.numpy().astype(np.float64), word, first))
            rows.append(row)
            ended |= row == END
            if ended.all():
                break
            previous = torch.from_numpy(row)
        return [self.model.vocabulary.text(row) for row in np.stack(rows, axis=1).tolist()]

    def _chosen(self, logits: Array, words: npt.NDArray[np.uint64], first: int) -> npt.NDArray[np.int64]:
        """Return the numbers (b,) of the tokens drawn for logits (b, V)."""
        allowed = np.concatenate([logits[:, END : END + 1], logits[:, UNKNOWN + 1 :]], axis=1)
        wrong = np.flatnonzero(~np.isfinite(allowed).all(axis=1))
        if len(wrong):
            raise InputError(
                f"The model gives text {first + wrong[0] + 1} logits that are not finite: nothing is released. "
                "Train it again."
            )
        places = drawn(self.law.weights(allowed), words)
        return np.where(places == 0, END, places + UNKNOWN)
