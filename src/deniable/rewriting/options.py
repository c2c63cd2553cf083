"""What can be chosen of the training of an auto-encoder of texts; it needs no torch."""

import dataclasses
from typing import Any, get_args

from deniable.core.errors import check_count, check_fraction, check_number_within, check_positive, make_parameter_error
from deniable.core.guarantees import NoiseLaw

TrainingNoise = tuple[NoiseLaw, float]
"""Law of the noise, and its scale in units of the vector: sigma of Gaussian, b of Laplace and of a norm."""
MAX_TOKENS = 1_000
"""Most tokens of a text that can be chosen."""
_MAX_COUNT = 100_000
_MAX_VALUE, _MAX_RADIUS = 1e30, 1e6


@dataclasses.dataclass(frozen=True)
class RewriterOptions:
    """What can be chosen of a training run.

    Attributes:
        max_tokens: maximum number of tokens of a text.
        latent: n, coordinates of the vector of a text.
        hidden: size of the decoder's state; each direction of the encoder has half of it.
        embedding: size of the vectors of tokens.
        spliced: new texts per text of the corpus, each made of two of its texts and fresh in every epoch; 0 for none.
        exchanged: share of the tokens of new texts that are exchanged, see
            `deniable.rewriting.training.exchange_tokens`.
        epochs: maximum number of passes over the corpus and its new texts.
        batch_size: texts of a step.
        learning_rate: initial learning rate of the optimizer; it falls to 0 with the cosine of the share of steps done.
        word_dropout: share of the tokens that are hidden from the decoder when it predicts the next one.
        patience: number of epochs without a lower validation loss after which a run ends.
        clip: l2 norm to which a gradient is clipped.
        radius: radius C of the l2 ball to which vectors are clipped.
        noise: see `TrainingNoise`; None for none. With noise the run is the second stage of Krishna et al. 2021, and
            starts from a trained model.
    """

    max_tokens: int = 64
    latent: int = 64
    hidden: int = 384
    embedding: int = 128
    spliced: int = 9
    exchanged: float = 0.2
    epochs: int = 12
    batch_size: int = 64
    learning_rate: float = 3e-3
    word_dropout: float = 0.2
    patience: int = 2
    clip: float = 1.0
    radius: float = 1.0
    noise: TrainingNoise | None = None

    def __post_init__(self) -> None:
        check_count("training", "max_tokens", self.max_tokens, maximum=MAX_TOKENS)
        for name in ("latent", "hidden", "embedding", "epochs", "batch_size", "patience"):
            check_count("training", name, getattr(self, name), maximum=_MAX_COUNT)
        check_count("training", "spliced", self.spliced, minimum=0, maximum=_MAX_COUNT)
        for name, maximum in (("learning_rate", _MAX_VALUE), ("clip", _MAX_VALUE), ("radius", _MAX_RADIUS)):
            check_number_within("training", name, getattr(self, name), 1 / maximum, maximum)
        for name in ("exchanged", "word_dropout"):
            check_fraction("training", name, getattr(self, name))
        if self.noise is not None:
            law, scale = self.noise
            if law not in get_args(NoiseLaw):
                expected = f"one of {', '.join(get_args(NoiseLaw))}, and a scale"
                raise make_parameter_error("training", "noise", expected, law)
            if not check_positive("training", "noise", scale) <= _MAX_VALUE:
                raise make_parameter_error("training", "noise", f"of a scale up to {_MAX_VALUE:g}", scale)

    @classmethod
    def quick(cls, **given: Any) -> "RewriterOptions":  # noqa: ANN401 - of several types
        """Return options for a small network and a short run, for trying out; ``given`` replaces them."""
        small = {"latent": 32, "hidden": 96, "embedding": 48, "spliced": 4, "epochs": 3, "batch_size": 32}
        return cls(**{**small, **given})
