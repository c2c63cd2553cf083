"""Texts privatized in order to measure: aligned word by word with the originals, and never released."""

from collections.abc import Sequence

from deniable.randomness import fresh_key, key_from_seed, stream_start
from deniable.text.release import Drawn, privatize_texts
from deniable.text.tokens import Lexer
from deniable.words import WordMechanism


def draws(
    mechanism: WordMechanism, texts: Sequence[str], *, seed: int | None = None, workers: int | None = None
) -> Drawn:
    """Return the texts privatized as `TextPrivatizer` would, unknown words read as the public one.

    Args:
        mechanism: draws the words.
        texts: R private texts.
        seed: public, for results that can be repeated; None for fresh noise.
        workers: threads; the result does not depend on them.
    """
    key = fresh_key() if seed is None else key_from_seed(seed)
    starts = [stream_start(key, "measure", mechanism.fingerprint, str(row)) for row in range(len(texts))]
    return privatize_texts(mechanism, Lexer(mechanism.space, "draw", "lower", ()), texts, key, starts, workers)
