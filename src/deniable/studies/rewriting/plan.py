"""What the study runs: methods, epsilons, and how much of everything."""

import dataclasses
import math

FILES = {split: f"atis_{split}.parquet" for split in ("train", "dev", "test")}
TEXT, INTENT = "text", "intent"
PUBLISHED, L1, TRUE, GAUSSIAN, DPTEXT, TOKENS = (
    "adept",
    "adept-l1",
    "adept-true",
    "adept-gaussian",
    "dptext-fixed",
    "tokens",
)
TITLES = {
    PUBLISHED: "ADePT as published (refuted)",
    L1: "ADePT, l1 clip",
    TRUE: "ADePT, true sensitivity",
    GAUSSIAN: "ADePT, Gaussian noise",
    DPTEXT: "DPText, corrected and fixed",
    TOKENS: "one token at a time",
}
FIRST = (1, 10)
"""How many texts the attacker may name."""


@dataclasses.dataclass(frozen=True)
class Sizes:
    """How much is trained, rewritten, attacked and audited.

    Attributes:
        epsilons: of one text.
        methods: among `TITLES`.
        delta: of Gaussian noise.
        latent: n of the auto-encoder that everything is about.
        hidden: size of its decoder's state.
        embedding: size of its vectors of tokens.
        epochs: of its training, at most.
        spliced: texts made of two of the corpus that it learns from besides, for each text of it.
        latents: further n, of encoders trained without these, on which only distances and losses are looked at.
        short: epochs of their training.
        train: training texts, drawn; None for all.
        test: test texts, likewise.
        most: tokens that are drawn for a text, at most, by the method that draws tokens.
        releases: vectors attacked at an epsilon whose claim leaves the attacker a chance below one half.
        beyond: vectors attacked at larger ones, which no success could refute.
        rewritten: rewritten texts attacked.
        proposals: texts that a language model proposes besides the corpus.
        inverted: epsilons at which a decoder is trained on releases.
        inverting: epochs of it.
        searched: test texts that a search by gradients looks for, from what that decoder reads.
        tuned: among the epsilons, those at which the auto-encoder is trained on with the noise of a method.
        tuning: epochs of it, at most.
        audited: epsilon of the audits.
        samples: of an audit.
        every: steps from one checkpoint to the next.
    """

    epsilons: tuple[float, ...] = (1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0)
    methods: tuple[str, ...] = tuple(TITLES)
    delta: float = 1e-5
    latent: int = 64
    hidden: int = 384
    embedding: int = 128
    epochs: int = 12
    spliced: int = 9
    latents: tuple[int, ...] = (8, 16, 32, 128)
    short: int = 12
    train: int | None = None
    test: int | None = None
    most: int = 24
    releases: int = 60_000
    beyond: int = 5_000
    rewritten: int = 5_000
    proposals: int = 20_000
    inverted: tuple[float, ...] = (10.0, 30.0, 100.0)
    inverting: int = 6
    searched: int = 200
    tuned: tuple[float, ...] = (10.0, 100.0, 1000.0)
    tuning: int = 2
    audited: float = 1.0
    samples: int = 20_000
    every: int = 300

    def attacked(self, epsilon: float, candidates: int) -> int:
        """Return how many vectors are attacked at an epsilon."""
        return self.releases if epsilon < math.log(candidates - 1) else self.beyond
