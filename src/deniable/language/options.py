"""How texts are drawn from a language model; needs neither torch nor numpy."""

import dataclasses
import math

from deniable.core.errors import check_count, make_parameter_error

_OWNER = "the language model"


@dataclasses.dataclass(frozen=True)
class WritingOptions:
    """How texts are drawn.

    Attributes:
        max_tokens: number of tokens of a text, at most.
        min_tokens: number of tokens before which a text does not end.
        temperature: above 0; below 1 likely tokens become likelier.
        top_p: probability of the most likely tokens that are drawn from, in (0, 1].
        top_k: maximum number of these tokens.
        batch: number of texts that are written together.
        rounds: number of rounds of texts that are not released, to fit the tilt of tokens by.
        round_texts: number of texts of a round.

    Raises:
        InputError: a value out of range.
    """

    max_tokens: int = 64
    min_tokens: int = 3
    temperature: float = 0.9
    top_p: float = 0.95
    top_k: int = 256
    batch: int = 128
    rounds: int = 4
    round_texts: int = 384

    def __post_init__(self) -> None:
        """Refuse values out of range."""
        for name in ("max_tokens", "top_k", "batch", "rounds", "round_texts"):
            check_count(_OWNER, name, getattr(self, name))
        check_count(_OWNER, "min_tokens", self.min_tokens, minimum=0)
        if not 0 < self.temperature < math.inf:
            raise make_parameter_error(_OWNER, "temperature", "a float in (0, inf)", self.temperature)
        if not 0 < self.top_p <= 1:
            raise make_parameter_error(_OWNER, "top_p", "a float in (0, 1]", self.top_p)
