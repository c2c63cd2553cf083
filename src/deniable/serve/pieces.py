"""A text and its private version side by side, in pieces, for people who want to see what changed."""

from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.serve.offers import PrivateTexts, WordOffer
from deniable.space import Space
from deniable.text.release import Release


def has_pieces(release: Release) -> bool:
    """Return whether every word of a text stands for one word of its private version."""
    return release.unknown == "draw" and not release.keep and release.unescape is None


def split_pieces(offer: WordOffer, text: str, released: PrivateTexts, row: int) -> list[dict[str, Any]]:
    """Return the pieces of a text: originals joined are the text, private ones joined its private version.

    Args:
        offer: how it was privatized; one that `has_pieces`.
        text: the private text.
        released: its batch.
        row: its number there.
    """
    space = offer.release.mechanism.space
    parts = space.split_words(text)
    private_text = released.texts[row] or ""
    pieces: list[dict[str, Any]] = []
    position = 0
    outputs = released.outputs[row].tolist()
    kinds = _list_kinds(space, released.words[row], released.outputs[row], released.unknown_masks[row])
    for gap, spelling, output, kind in zip(parts[0::2], parts[1::2], outputs, kinds, strict=False):
        private_word = space.words[output]
        # The gap stays, but for the space that is written between two words which touched.
        end = position + len(gap)
        if private_text[end : end + len(private_word)].lower() != private_word:
            end += 1
        _add_gap(pieces, gap, private_text[position:end])
        position = end + len(private_word)
        pieces.append({"original": spelling, "private": private_text[end:position], **kind})
    _add_gap(pieces, parts[-1], private_text[position:])
    return pieces


def _add_gap(pieces: list[dict[str, Any]], original: str, private: str) -> None:
    if original or private:
        pieces.append({"original": original, "private": private, "kind": "between"})


def _list_kinds(
    space: Space, words: npt.NDArray[np.int32], outputs: npt.NDArray[np.int32], unknown_mask: npt.NDArray[np.bool_]
) -> list[dict[str, str]]:
    """Return what became of each word (N,): hidden (and of which class), unknown, kept or changed."""
    kinds = []
    for word, output, is_unknown in zip(words.tolist(), outputs.tolist(), unknown_mask.tolist(), strict=True):
        hidden = space.find_class(word)
        if hidden is not None:
            kinds.append({"kind": "hidden", "class": hidden.name})
        else:
            kinds.append({"kind": "unknown" if is_unknown else "kept" if word == output else "changed"})
    return kinds
