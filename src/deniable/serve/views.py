"""What a service says as JSON: each epsilon of a ladder, the law of a word, a text and its new version in pieces."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from deniable.serve.offers import Offer, PrivateText, WordOffer
from deniable.text.release import Release
from deniable.words.explanation import COVERED_SHARE, explain_word

_SIMULATED_DRAWS, _MAX_OUTPUTS = 20_000, 20


def describe_ladder(mechanism: str, rungs: Mapping[float, Offer | str | None]) -> dict[str, Any]:
    """Return what each epsilon of a mechanism means: what an attacker guesses, and what stays.

    Args:
        mechanism: its name.
        rungs: for each epsilon its offer, or why there is none, or None while it is computed.
    """
    return {
        "mechanism": mechanism,
        "is_complete": all(rung is not None for rung in rungs.values()),
        "ladder": [{"epsilon": epsilon, **_describe_rung(rung)} for epsilon, rung in sorted(rungs.items())],
    }


def _describe_rung(rung: Offer | str | None) -> dict[str, Any]:
    """Return one epsilon; its state is ready, computing, or unavailable."""
    if rung is None:
        return {"state": "computing"}
    if not isinstance(rung, WordOffer):
        return {"state": "unavailable", "reason": rung if isinstance(rung, str) else "texts are rewritten as a whole"}
    return {
        "state": "ready",
        "recovery": None if rung.outcomes is None else rung.outcomes.guessed,
        "kept": rung.kept,
        "outcomes": _describe_outcomes(rung),
        "word_loss": rung.word_loss,
        "attacker": rung.attacker,
    }


def _describe_outcomes(offer: WordOffer) -> dict[str, Any] | None:
    """Return what words become by frequency, and which is exposed most; None where no law is known."""
    if offer.outcomes is None:
        return None
    return {
        **dataclasses.asdict(offer.outcomes),
        "by_frequency": offer.outcomes.describe_bands(),
        "most_exposed": offer.outcomes.describe_exposed(),
    }


def describe_word(offer: WordOffer, word: str) -> dict[str, Any]:
    """Return how a word is read, its most likely outputs with their probabilities, and what an attacker guesses."""
    explained = explain_word(
        offer.release.mechanism, word, shares=offer.shares, draws=_SIMULATED_DRAWS, max_outputs=_MAX_OUTPUTS
    )
    return {
        **dataclasses.asdict(explained),
        "covered_share": COVERED_SHARE,
        "attacker": offer.attacker,
        "outcomes": _describe_outcomes(offer),
        "release": offer.description,
    }


def has_pieces(release: Release) -> bool:
    """Return whether every word of a text stands for one word of its private version."""
    return release.unknown == "draw" and not release.keep and release.unescape is None


def split_pieces(offer: WordOffer, text: str | None, private: PrivateText) -> list[dict[str, str]] | None:
    """Return the pieces of a text: originals joined are the text, private ones joined its private version.

    Args:
        offer: how it was privatized; one that `has_pieces`.
        text: the private text; null stays null.
        private: what became of it.
    """
    if not text:
        return None if text is None else []
    space = offer.release.mechanism.space
    parts, new_text = space.split_words(text), private.text or ""
    pieces: list[dict[str, str]] = []
    position = 0
    columns: list[Any] = [private.words, private.outputs, private.unknown_mask]
    drawn = np.stack(columns).T.tolist()
    for gap, spelling, (word, output, is_unknown) in zip(parts[0::2], parts[1::2], drawn, strict=False):
        new_word = space.words[output]
        # The gap stays, but for the space that is written between two words which touched.
        end = position + len(gap)
        if new_text[end : end + len(new_word)].lower() != new_word:
            end += 1
        pieces.append({"original": gap, "private": new_text[position:end], "kind": "between"})
        position = end + len(new_word)
        hidden = space.find_class(word)
        fate = "unknown" if is_unknown else "kept" if word == output else "changed"
        kind = {"kind": fate} if hidden is None else {"kind": "hidden", "class": hidden.name}
        pieces.append({"original": spelling, "private": new_text[end:position], **kind})
    pieces.append({"original": parts[-1], "private": new_text[position:], "kind": "between"})
    return [piece for piece in pieces if piece["original"] or piece["private"]]
