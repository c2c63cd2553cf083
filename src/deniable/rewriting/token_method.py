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

from deniable.core.errors import InputError, check_count, check_positive, make_parameter_error
from deniable.core.guarantees import ANY_TWO_TEXTS, Guarantee, Verdict
from deniable.core.numbers import format_exact, format_upper
from deniable.rewriting.model import Rewriter
from deniable.rewriting.token_law import (
    ExponentialTokenLaw,
    Logits,
    MixedTokenLaw,
    TokenLaw,
    compute_log_ratio,
    draw_tokens,
)
from deniable.rewriting.tokens import END, START, UNKNOWN
from deniable.vectors.discrete_noise import make_noise_generator, round_down_to_float, round_up_to_float

TokenLawKind = Literal["exponential", "mixed"]
_TOKEN_LAWS: dict[TokenLawKind, type[ExponentialTokenLaw | MixedTokenLaw]] = {
    "exponential": ExponentialTokenLaw,
    "mixed": MixedTokenLaw,
}
_LAW_SOURCES = {
    "exponential": "McSherry and Talwar 2007, Theorem 6, on clipped logits (DP-Prompt, Utpala et al. 2023)",
    "mixed": "the decoder's law mixed with the uniform one (Majmudar et al. 2022)",
}
_TEXTS_PER_BATCH = 256


@dataclasses.dataclass(frozen=True, eq=False)
class TokenMethod:
    """Draws every token of the new text, also its end, given the private text and the tokens drawn before.

    Whatever the decoder's logits, one draw is epsilon_token-DP (see `deniable.rewriting.token_law`). The tokens
    before it are released, and so public. At most ``max_draws`` draws are made for any text: the length is drawn with
    the END token, and after ``max_draws`` words without one the text ends. The probability of a text is a product of
    one factor for each of its draws, so with epsilon_token = epsilon / max_draws the whole is epsilon-DP for
    any two private texts, however long the new one is (adaptive composition).

    The guarantee does not depend on the encoder or the decoder, on bounds of their outputs, or on their rounding.

    Attributes:
        model: encoder and decoder.
        epsilon: of one text, > 0.
        kind: of the law, ``exponential`` as published or ``mixed``.
        max_draws: maximum number of draws for one text, a public number; by default the model's limit.
        seed: for tests only: makes the draws repeatable, and the guarantee void.

    Raises:
        InputError: a parameter is outside its domain.
    """

    model: Rewriter
    epsilon: float
    kind: TokenLawKind = "exponential"
    max_draws: int | None = None
    seed: int | None = None

    def __init_subclass__(cls) -> None:
        """Refuse every subclass: what it rewrites and promises is not what `verify` looks at."""
        raise TypeError(f"{cls.__name__} must not derive from TokenMethod: what it draws is what was verified.")

    def __post_init__(self) -> None:
        check_positive(self.name, "epsilon", self.epsilon)
        if self.kind not in _TOKEN_LAWS:
            raise make_parameter_error("tokens", "kind", " or ".join(map(repr, _TOKEN_LAWS)), self.kind)
        limit = self.model.limit
        if self.max_draws is not None:
            check_count(self.name, "max_draws", self.max_draws, maximum=limit)
        if self.seed is not None:
            make_noise_generator(self.seed)  # raises
        _ = self.law  # raises

    @property
    def name(self) -> str:
        """Name in the registry and in reports."""
        return "tokens" if self.kind == "exponential" else f"tokens-{self.kind}"

    @property
    def draw_limit(self) -> int:
        """Maximum number of draws for one text."""
        return self.model.limit if self.max_draws is None else self.max_draws

    @functools.cached_property
    def law(self) -> TokenLaw:
        """The law of one token, over END and the words of the vocabulary; other special tokens are never drawn."""
        share = round_down_to_float(Fraction(self.epsilon) / self.draw_limit)
        if not share:
            raise InputError(
                f"An epsilon of {format_exact(self.epsilon)} cannot be shared by {self.draw_limit} draws: choose "
                "a larger one."
            )
        return _TOKEN_LAWS[self.kind](len(self.model.vocabulary) - UNKNOWN, share)

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters of the law of one token."""
        law = self.law
        common: dict[str, Any] = {
            "epsilon": self.epsilon,
            "draws": self.draw_limit,
            "epsilon of a draw": law.epsilon,
            "tokens to draw from": law.count,
        }
        if isinstance(law, ExponentialTokenLaw):
            return {**common, "reach": law.reach, "temperature": law.temperature}
        return {**common, "share of the uniform law": law.uniform_share} if isinstance(law, MixedTokenLaw) else common

    @property
    def arithmetic(self) -> str:
        """Integer weights and AES keystreams."""
        return (
            "draws from integer weights with 62 bits each, all rounding charged; AES-128-CTR keystreams, so that the "
            "guarantee is computational in that step"
        )

    @property
    def guarantee(self) -> Guarantee:
        """Epsilon for any two texts; refuted where the noise comes from a public seed."""
        if self.seed is not None:
            return Guarantee(self.epsilon, "not private: public seed", "refuted", adjacency=ANY_TWO_TEXTS)
        source = f"{_LAW_SOURCES[self.kind]}, composed over {self.draw_limit} draws, the end among them"
        return Guarantee(self.epsilon, source, adjacency=ANY_TWO_TEXTS)

    def verify(self) -> Verdict:
        """Return the exact loss of a draw over all logits, times the number of draws; infinite under a public seed.

        It is a bound for any decoder; the loss of this one may be smaller.
        """
        start = time.perf_counter()
        # The law keeps its claim in integers; the logarithm is rounded up, and might exceed the claim by a last bit.
        draw_loss = min(compute_log_ratio(self.law.ratio), self.law.epsilon)
        text_loss = round_up_to_float(Fraction(draw_loss) * self.draw_limit)
        is_private = self.seed is None
        return Verdict(
            guarantee=self.guarantee,
            status="proved" if is_private else "refuted",
            epsilon=text_loss if is_private else float("inf"),
            lower_bound=0.0 if is_private else float("inf"),
            method=(
                f"one draw loses at most {format_upper(draw_loss, 6)} over all logits, exact in integers; "
                f"{self.draw_limit} draws at most"
            )
            if is_private
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
        bit_source = make_noise_generator() if self.seed is None else self._seeded_bits
        vectors = np.asarray(self.model.encode(texts), dtype=np.float32)
        rewritten: list[str] = []
        for first in range(0, len(texts), _TEXTS_PER_BATCH):
            rewritten.extend(self._draw_texts(vectors[first : first + _TEXTS_PER_BATCH], first, bit_source))
        return rewritten

    @functools.cached_property
    def _seeded_bits(self) -> AESCounter:
        return make_noise_generator(self.seed)

    @torch.inference_mode()
    def _draw_texts(self, vectors: npt.NDArray[np.float32], first: int, bit_source: AESCounter) -> list[str]:
        """Return the texts drawn for some vectors (b, n), the first of which has index ``first``."""
        network, latents = self.model.network, torch.from_numpy(vectors)
        # All words at once: how many bits are consumed does not depend on where texts end.
        words = bit_source.random_raw((self.draw_limit, len(vectors)))
        state, previous = network.make_initial_state(latents), torch.full((len(vectors),), START, dtype=torch.int64)
        ended, rows = np.zeros(len(vectors), dtype=np.bool_), []
        for word in words:
            logits, state = network.step(previous, latents, state)
            row = np.where(ended, END, self._draw_token_ids(logits.numpy().astype(np.float64), word, first))
            rows.append(row)
            ended |= row == END
            if ended.all():
                break
            previous = torch.from_numpy(row)
        return [self.model.vocabulary.to_text(row) for row in np.stack(rows, axis=1).tolist()]

    def _draw_token_ids(self, logits: Logits, words: npt.NDArray[np.uint64], first: int) -> npt.NDArray[np.int64]:
        """Return the token ids (b,) drawn for logits (b, V)."""
        allowed = np.concatenate([logits[:, END : END + 1], logits[:, UNKNOWN + 1 :]], axis=1)
        bad_rows = np.flatnonzero(~np.isfinite(allowed).all(axis=1))
        if len(bad_rows):
            raise InputError(
                f"The model gives text {first + bad_rows[0] + 1} logits that are not finite: nothing is released. "
                "Train it again."
            )
        law_indices = draw_tokens(self.law.compute_weights(allowed), words)
        return np.where(law_indices == 0, END, law_indices + UNKNOWN)


make_mixed_token_method = functools.partial(TokenMethod, kind="mixed")
"""Returns a `TokenMethod` of the mixed law."""
