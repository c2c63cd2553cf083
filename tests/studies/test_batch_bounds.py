"""Certified training by the worse end of a whole batch, and accuracy by the number of queries."""

import numpy as np
import pytest

import deniable as dn

torch = pytest.importorskip("torch")

from deniable.models.text.attack_search import TextAttackResult  # noqa: E402 - needs torch
from deniable.models.text.networks import build_text_network  # noqa: E402 - needs torch
from deniable.models.text.networks.base import make_text_batch  # noqa: E402
from deniable.models.text.training import compute_ibp_loss  # noqa: E402
from studies import robust_causes  # noqa: E402
from studies.batch_bounds import compute_batch_loss  # noqa: E402


@pytest.fixture(scope="module")
def bounded():
    """A network of random weights, substitutions, and texts with their classes by text."""
    rng = np.random.default_rng(5)
    words = [f"w{number}" for number in range(20)]
    space = dn.Space(words, rng.normal(size=(20, 6)), metric="euclidean")
    sets = dn.texts.Substitutions("pairs", np.stack([np.arange(20), np.arange(20) ^ 1], axis=1).astype(np.int32))
    network = build_text_network("cnn", space, 2, pairs=False).eval()
    texts = [" ".join(rng.choice(words, 7)) for _ in range(8)]

    def batch(labels):
        found = dn.texts.tokenize_texts(space, texts)
        codes = np.array(labels, dtype=np.int64)
        return make_text_batch(dn.texts.Documents(found.texts, codes, ("no", "yes")), torch.device("cpu"))

    return network, sets, batch


def test_the_worse_end_of_a_batch(bounded):
    """It is the worst case of all texts where they have one class, less where they have two; usual without boxes."""
    network, sets, batch = bounded

    def losses(labels, scale):
        made, weights = batch(labels), {"kappa": 1.0, "scale": scale}
        return [one(network, made, sets, **weights).item() for one in (compute_batch_loss, compute_ibp_loss)]

    for labels in ([0] * 8, [1] * 8):
        ours, worst = losses(labels, 1.0)
        assert ours == pytest.approx(worst, rel=1e-3)
    ours, worst = losses([0, 1] * 4, 1.0)
    assert ours < worst - 1e-3
    usual = torch.nn.functional.cross_entropy(network(batch([0, 1] * 4)), torch.tensor([0, 1] * 4))
    assert losses([0, 1] * 4, 0.0)[0] == pytest.approx(usual.item(), rel=1e-3)


def test_accuracy_by_queries():
    """A text stands until the end of the round that flipped it, and one that was wrong before never does."""
    found = TextAttackResult(
        texts=(None,) * 4,
        margins=np.zeros(4),
        correct_before=np.array([True, True, True, False]),
        flipped=np.array([True, True, False, False]),
        queries=np.array([61, 120, 2421, 1]),
        changed_words=np.zeros(4),
    )
    counted = robust_causes.count_standing(found, "curve", (1, 61, 120))
    assert {row.x: row.value for row in counted if row.metric == "left"} == {1.0: 0.75, 61.0: 0.5, 120.0: 0.25}
