"""An attacker's guesses at the private text behind a release: candidates, and a decoder trained on releases.

Candidates are texts of a corpus, and texts that a language model proposes.
"""

import collections
import copy
import dataclasses
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import torch
from scipy.spatial.distance import cdist
from torch import Tensor
from torch.nn import functional

from deniable.core.arrays import FloatArray, IntArray
from deniable.core.errors import InputError, make_parameter_error
from deniable.core.parallel import parallel_map
from deniable.core.randomness import derive_key_from_seed, generate_key
from deniable.learning.loop import AdamRun, LengthBucketSampler, run_training
from deniable.measure.intervals import Estimate, estimate_clustered_share, estimate_share
from deniable.rewriting.autoencoder import Autoencoder
from deniable.rewriting.methods import VectorMethod
from deniable.rewriting.ranking import NormOrder
from deniable.rewriting.tokens import END, PAD, START, UNKNOWN, Vocabulary, look_up_tokens
from deniable.rewriting.training import pad_token_rows
from deniable.text.tokens import split_tokens

TRIGRAM_WEIGHTS = (0.75, 0.2, 0.05)
"""Probabilities of drawing the next token given the last two tokens, the last one, and none."""
_DRAWS_PER_PROPOSAL = 50
"""Draws per requested proposal after which the corpus counts as too small."""
_TEXTS_PER_BLOCK = 256
_GRADIENT_CLIP = 1.0


def drop_indistinguishable_texts(texts: Iterable[str], vocabulary: Vocabulary) -> list[str]:
    """Return the texts in their order, of those with equal token ids only the first.

    Two texts with the same token ids have the same vector, and no attacker can tell one from the other.
    """
    distinct_texts: dict[tuple[int, ...], str] = {}
    for text in texts:
        distinct_texts.setdefault(tuple(vocabulary.to_ids(text)), text)
    return list(distinct_texts.values())


@dataclasses.dataclass(frozen=True)
class TrigramModel:
    """A language model of trigrams: an interpolation of relative frequencies (Jelinek and Mercer 1980).

    Attributes:
        followers: for contexts of two, one and no tokens, all tokens that followed in the corpus, with repetitions.
    """

    followers: tuple[Mapping[tuple[int, ...], Sequence[int]], ...]

    @classmethod
    def fit(cls, texts: Iterable[Sequence[int]]) -> "TrigramModel":
        """Return the model of texts, given as token ids.

        Raises:
            InputError: no texts.
        """
        followers_by_order: tuple[dict[tuple[int, ...], list[int]], ...] = tuple(
            collections.defaultdict(list) for _ in TRIGRAM_WEIGHTS
        )
        for text in texts:
            tokens = (START, START, *text, END)
            for position in range(2, len(tokens)):
                for order, followers in zip((2, 1, 0), followers_by_order, strict=True):
                    followers[tokens[position - order : position]].append(tokens[position])
        if not followers_by_order[-1]:
            raise InputError("A language model needs at least one text. Got none: give a corpus.")
        return cls(tuple(dict(followers) for followers in followers_by_order))

    def draw_tokens(self, rng: np.random.Generator, max_tokens: int) -> tuple[int, ...]:
        """Return the token ids of one text, truncated to ``max_tokens``."""
        tokens = [START, START]
        while len(tokens) < max_tokens + 2:
            context = (tokens[-2], tokens[-1])
            contexts = zip((context, context[1:], ()), self.followers, strict=True)
            known_followers = [
                followers[tokens_before] for tokens_before, followers in contexts if tokens_before in followers
            ]
            shares = np.cumsum(TRIGRAM_WEIGHTS[-len(known_followers) :])
            chosen_followers = known_followers[int(np.searchsorted(shares, rng.random() * shares[-1], "right"))]
            next_token = chosen_followers[int(rng.integers(len(chosen_followers)))]
            if next_token == END:
                break
            tokens.append(next_token)
        return tuple(tokens[2:])


def propose_texts(texts: Sequence[str], vocabulary: Vocabulary, count: int, *, max_tokens: int, seed: int) -> list[str]:
    """Return distinct texts, none of them among those given, that a language model of these proposes.

    "We can train a LM on ATIS to generate a feasible search space of input utterances" (Habernal 2021, Appendix C).

    Args:
        texts: the attacker's corpus.
        vocabulary: of the model under attack, which is public.
        count: number of texts to propose.
        max_tokens: maximum number of tokens of a text.
        seed: of the draws.

    Raises:
        InputError: a count below 1, or a corpus too small for so many new texts.
    """
    if count < 1:
        raise make_parameter_error("propose_texts", "count", "an int of at least 1", count)
    known = {tuple(vocabulary.to_ids(text)) for text in texts}
    model = TrigramModel.fit(sorted(known))
    rng = np.random.default_rng(seed)
    proposed: dict[tuple[int, ...], None] = {}
    for _ in range(_DRAWS_PER_PROPOSAL * count):
        tokens = model.draw_tokens(rng, max_tokens)
        if tokens and tokens not in known and UNKNOWN not in tokens:
            proposed[tokens] = None
        if len(proposed) == count:
            return [vocabulary.to_text(token_ids) for token_ids in proposed]
    raise InputError(
        f"The corpus of {len(texts)} texts leads to {len(proposed)} new ones only. Got a count of {count}."
    )


def find_nearest_candidates(released: FloatArray, candidates: FloatArray, order: NormOrder) -> IntArray:
    """Return the index (N,) of the likeliest candidate for each release."""
    metric = "cityblock" if order == 1 else "sqeuclidean"
    blocks = parallel_map(
        lambda first: cdist(released[first : first + _TEXTS_PER_BLOCK], candidates, metric).argmin(axis=1),
        range(0, len(released), _TEXTS_PER_BLOCK),
    )
    return np.concatenate(blocks) if blocks else np.empty(0, np.int64)


@dataclasses.dataclass(frozen=True)
class Inverter:
    """The attacker's decoder, and the method whose releases it reads.

    Attributes:
        method: under attack.
        network: whose decoder is the attacker's.
    """

    method: VectorMethod
    network: Autoencoder

    def invert(self, released: FloatArray) -> list[str]:
        """Return the likeliest text of each release (k, n), token after token."""
        model = dataclasses.replace(self.method.model, network=self.network)
        return dataclasses.replace(self.method, model=model).decode(released)


def fit_inverter(
    method: VectorMethod,
    texts: Sequence[str],
    *,
    epochs: int = 5,
    batch_size: int = 64,
    learning_rate: float = 1e-3,
    seed: int | None = None,
) -> Inverter:
    """Train a decoder on fresh releases of public texts, starting from the public decoder.

    Any attacker can do this, because model and method are public. The public decoder was trained on vectors without
    noise, this one learns from noisy ones. Its output is post-processing: no better than a true claim permits.

    Args:
        method: under attack; it releases each text anew in every epoch.
        texts: public ones.
        epochs: passes over them.
        batch_size: texts of a step.
        learning_rate: learning rate of the optimizer.
        seed: of the batches; None for a fresh key.

    Raises:
        InputError: no texts, or one that is too long.
    """
    if not len(texts):
        raise InputError("There are no texts to learn from. Got 0: give at least 1.")
    model = method.model
    token_rows = look_up_tokens(model.vocabulary, texts, model.limit)
    encoded = method.encode(texts)
    network = copy.deepcopy(model.network)
    key = generate_key() if seed is None else derive_key_from_seed(seed)
    sampler = LengthBucketSampler(np.array([len(row) for row in token_rows]), batch_size, key)

    def loss(number: int, rng: torch.Generator) -> Tensor:  # noqa: ARG001 - the method draws its own noise
        batch_rows = sampler(number)
        released = method.mechanism.sample(encoded[batch_rows]) * method.stretch
        tokens, lengths = pad_token_rows([token_rows[row] for row in batch_rows.tolist()])
        targets = functional.pad(tokens, (0, 1), value=PAD).scatter(1, lengths[:, None], END)
        scores = network.compute_logits(torch.from_numpy(released.astype(np.float32)), tokens)
        return functional.cross_entropy(scores.flatten(0, 1), targets.flatten(), ignore_index=PAD)

    run_training(
        AdamRun(network, loss, epochs * sampler.batches_per_epoch, learning_rate, key, clip_norm=_GRADIENT_CLIP), key
    )
    return Inverter(method, network.eval())


def measure_guesses(truths: Sequence[str], guesses: Sequence[str]) -> dict[str, Estimate]:
    """Return how much of some texts is guessed.

    Returns:
        ``exact``: share of the texts whose guess has the same tokens in the same order. ``tokens``: share of their
        tokens that occur in the guess at any position, counted with multiplicity.
    """
    pairs = [(split_tokens(truth), split_tokens(guess)) for truth, guess in zip(truths, guesses, strict=True)]
    shared_counts = [
        (collections.Counter(true_tokens) & collections.Counter(guessed_tokens)).total()
        for true_tokens, guessed_tokens in pairs
    ]
    exact_matches = sum(true_tokens == guessed_tokens for true_tokens, guessed_tokens in pairs)
    return {
        "exact": estimate_share(exact_matches, len(pairs)),
        "tokens": estimate_clustered_share(shared_counts, [len(true_tokens) for true_tokens, _ in pairs]),
    }
