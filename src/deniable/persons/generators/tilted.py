r"""Texts of a public trigram model, tilted towards the words that noisy sums show for each class.

With P the interpolated Kneser-Ney model of the public texts, v_y the log weights of class y (`compute_log_weights`), and h
the two words before::

    P_y(w|h)  is proportional to  P(w|h) exp(strength v_y(w))

Every word of every text is drawn from this law exactly (`deniable.persons.ngrams`). A text is drawn for a class, but its
label is what the released classifier says of it.

**Theorem.** If the noisy sums behind ``knowledge`` are together (epsilon, delta)-DP, so are the texts with their labels: they
are a function of ``knowledge``, public texts and a seed (post-processing, Dwork and Roth 2014, Proposition 2.1).
"""

from collections.abc import Sequence

import numpy as np

from deniable.core.errors import check_count, check_positive
from deniable.persons.generators.knowledge import ReleasedKnowledge, SyntheticTexts, count_drafts, label_texts
from deniable.persons.ngrams import build_text_model

STRENGTH = 1.0
"""At 1 a word is as much more frequent in a class as the noisy sums say."""


def generate_tilted_texts(
    knowledge: ReleasedKnowledge, public_texts: Sequence[str], rows: int, *, strength: float = STRENGTH, seed: int
) -> SyntheticTexts:
    """Return texts of a tilted model of public texts.

    Args:
        knowledge: what was released.
        public_texts: what the model of the language is built from.
        rows: number of texts.
        strength: of the tilt, > 0.
        seed: public; the texts follow from it.

    Raises:
        InputError: no row is asked for, the strength is too large, or public texts have no words.
    """
    check_count("generate_tilted_texts", "rows", rows)
    check_positive("generate_tilted_texts", "strength", strength)
    model = build_text_model(public_texts)
    places = {word: place for place, word in enumerate(knowledge.words)}
    # Words that were not measured have the log weights of the last row: none.
    padded = np.vstack([knowledge.log_weights, np.zeros(len(knowledge.classes))])
    log_weights = strength * padded[[places.get(word, -1) for word in model.words]]
    generator = np.random.default_rng(seed)
    codes = knowledge.draw_codes(count_drafts(rows), generator)
    lengths = knowledge.draw_lengths(len(codes), generator)
    drafts = [""] * len(codes)
    for code in range(len(knowledge.classes)):
        members = np.flatnonzero(codes == code)
        texts = model.write_texts(log_weights[:, code], lengths[members], generator)
        for place, text in zip(members.tolist(), texts, strict=True):
            drafts[place] = text
    return label_texts(knowledge, drafts, rows)
