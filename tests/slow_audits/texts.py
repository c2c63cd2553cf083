"""The text classifier that DP-SGD trains."""

import numpy as np

from deniable.core.guarantees import EMPTY_PLACE, ApproxDP
from deniable.core.randomness import derive_key_from_seed
from deniable.learning.clipping import EMPTY_LABEL
from deniable.models.text import private_training
from deniable.models.text.documents import Documents, tokenize_texts
from deniable.models.text.private_training import PRIVATE_TEXT_KIND, PrivateTextOptions, fit_private_text_model
from deniable.space import Space
from tests.slow_audits.cases import Tape, TrainerAudit
from tests.slow_audits.gradients import encode_weights, record_gradient_sums

Record = tuple[str, int]
"""A text and its class."""
EMPTY: Record = ("", EMPTY_LABEL)
EPSILON, DELTA, PLACES, STEPS = 8.0, 1e-5, 8, 4
WORDS = ("good", "great", "fine", "bad", "awful", "poor", "film", "movie", "plot", "the", "a", "was")
SPACE = Space(WORDS, np.random.default_rng(0).normal(size=(len(WORDS), 4)), source="twelve words")


def run_dp_fasttext(units: list[Record], seed: int, *, noise_share: float = 1.0, played: Tape | None = None) -> Tape:
    """Train on texts, each step on all places."""
    texts = tokenize_texts(SPACE, [text for text, _ in units]).texts
    documents = Documents(texts, np.array([label for _, label in units], dtype=np.int64), ("bad", "good"))
    options = PrivateTextOptions(EPSILON, DELTA, PLACES, epochs=STEPS, learning_rate=0.01)
    with record_gradient_sums(private_training, noise_share, played) as tape:
        model = fit_private_text_model(SPACE, documents, options, key=derive_key_from_seed(seed))
    tape.released = encode_weights(model.network) + repr((model.guarantee, model.facts)).encode()
    return tape


COLLECTIONS: dict[str, list[Record]] = {
    "ordinary": [("the film was good", 1), ("a bad plot", 0), ("great movie", 1), ("the plot was poor", 0)],
    "empty, unknown and long": [("", 0), ("zork", 1), ("awful " * 300, 1), ("the " * 3_000, 0), EMPTY, ("fine", 1)],
    "more records than places": [("good " * number, number % 2) for number in range(12)],
    "repeated": [("fine", 1)] * 6 + [("fine", 0)],
}
TEXT_AUDITS = (
    TrainerAudit(
        PRIVATE_TEXT_KIND,
        "",
        ApproxDP(EPSILON, DELTA, "the claim under audit", "claimed", adjacency=EMPTY_PLACE),
        run_dp_fasttext,
        units=[("good", 1)] * (PLACES - 1),
        canary=("good", 0),
        other=EMPTY,
        collections=COLLECTIONS,
    ),
)
